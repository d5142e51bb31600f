//! In which direction a text is written. What is written in two is drawn in another order than that of
//! its letters: digits and signs between letters from the right change places.

/// The directions of a text's letters and digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Nothing in it is written from the right.
    FromLeft,
    /// All of its letters are written from the right, and it has no digits: it is drawn turned round as
    /// a whole.
    FromRight,
    /// Both: where a part is seen does not say where it stands.
    Both,
}

impl Direction {
    /// That of a text.
    ///
    /// ```
    /// use haft_runtime::preview::Direction;
    ///
    /// assert_eq!(Direction::of("to ann, 5 €"), Direction::FromLeft);
    /// assert_eq!(Direction::of("שלום עולם"), Direction::FromRight);
    /// assert_eq!(Direction::of("bank/א/1000/50"), Direction::Both);
    /// ```
    #[must_use]
    pub fn of(text: &str) -> Self {
        if text.is_ascii() {
            return Self::FromLeft;
        }
        let (mut left, mut right) = (false, false);
        for letter in text.chars().filter(|letter| letter.is_alphanumeric()) {
            // Digits run from the left in every script.
            match is_from_right(letter) && !letter.is_numeric() {
                true => right = true,
                false => left = true,
            }
        }
        match (left, right) {
            (_, false) => Self::FromLeft,
            (false, true) => Self::FromRight,
            (true, true) => Self::Both,
        }
    }
}

/// The blocks that Unicode keeps for scripts from the right.
fn is_from_right(letter: char) -> bool {
    matches!(letter,
        '\u{0590}'..='\u{08FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFF}'
        | '\u{10800}'..='\u{10FFF}' | '\u{1E800}'..='\u{1EFFF}')
}
