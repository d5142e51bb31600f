//! Did you mean …?

/// The candidate that is most like `word`, if any is like it at all.
#[must_use]
pub fn find<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    let word = plain(word);
    let length = word.chars().count();
    candidates
        .into_iter()
        // Words of very different length are not alike; comparing letters is what costs.
        .filter(|candidate| candidate.len().abs_diff(length) <= length / 2 + 2)
        .map(|candidate| (strsim::damerau_levenshtein(&word, &plain(candidate)), candidate))
        // A third of the letters may differ: `requird` is `required`, `foo` is nothing.
        .filter(|(distance, _)| *distance <= (length / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// `did you mean …?`, or the list to choose from.
#[must_use]
pub fn suggest(word: &str, candidates: &[&str]) -> String {
    match find(word, candidates.iter().copied()) {
        Some(candidate) => format!("did you mean `{candidate}`?"),
        None if candidates.is_empty() => "there is none to choose from".to_owned(),
        None => format!("use one of {}", list(candidates)),
    }
}

/// `` `a`, `b`, `c` ``
#[must_use]
pub fn list(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
