//! Tables whose columns line up, and that fit their terminal.

use std::io::{self, IsTerminal as _};

use unicode_width::UnicodeWidthStr as _;

/// How wide a table may be: as wide as the terminal that shows it, and without a bound where none
/// does, since a script or a file has room.
pub(super) fn room() -> usize {
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || {
        let size = terminal_size::terminal_size().filter(|_| io::stdout().is_terminal());
        size.map(|(terminal_size::Width(columns), _)| usize::from(columns))
    };
    told.or_else(terminal).filter(|columns| *columns > 0).unwrap_or(usize::MAX)
}

/// A table as a part of a longer text, for terminals and for `column`-less pipes alike.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let fitted = Table::new(head, 1, rows).fit(room());
    let note = fitted.note().map_or_else(String::new, |note| format!("({note})\n"));
    fitted.text + &note
}

/// The first line names the columns.
pub(super) struct Table {
    lines: Vec<Vec<String>>,
    /// So many of the first columns are shown whatever room there is.
    stay: usize,
    left_out: Vec<String>,
}

/// A table that was made to fit.
pub(super) struct Fitted {
    pub(super) text: String,
    left_out: Vec<String>,
}

impl Fitted {
    /// What is not in it.
    pub(super) fn note(&self) -> Option<String> {
        let names = self.left_out.join(", ");
        let said = || format!("no room for {names}: a wider terminal has it, and `--json`");
        (!names.is_empty()).then(said)
    }
}

/// A last column that is wider than this holds sentences, which can go on in the next line.
const WORDY: usize = 24;

/// Sentences that have no room beside the rest stand below it, so far from the edge.
const BELOW: &str = "    ";

impl Table {
    pub(super) fn new(head: &[&str], stay: usize, rows: &[Vec<String>]) -> Self {
        let head = head.iter().map(|cell| (*cell).to_owned()).collect();
        let lines = std::iter::once(head).chain(rows.iter().cloned()).collect();
        Self { lines, stay: stay.max(1), left_out: Vec::new() }
    }

    /// Columns that there is no room for are left out from the right, all but those that stay and one
    /// of sentences at the end.
    pub(super) fn fit(mut self, room: usize) -> Fitted {
        loop {
            let widths = self.widths();
            let whole: usize = widths.iter().map(|width| width + 2).sum();
            let last = widths.last().copied().unwrap_or_default();
            let others = whole.saturating_sub(last + 2);
            // What stays is no column of sentences, however wide it is.
            let wordy = last > WORDY && widths.len() > self.stay;
            let kept = self.stay + usize::from(wordy);
            if whole.saturating_sub(2) <= room || (widths.len() <= kept && !wordy) {
                return self.print(&widths);
            }
            if wordy && (others + WORDY <= room || kept == 2 && widths.len() <= kept) {
                self.wrap(room.saturating_sub(others).max(WORDY));
                return self.print(&self.widths());
            }
            if widths.len() <= kept {
                return self.below(room);
            }
            self.leave_out(widths.len() - 1 - usize::from(wordy));
        }
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = Vec::new();
        for line in &self.lines {
            widths.resize(widths.len().max(line.len()), 0);
            for (width, cell) in widths.iter_mut().zip(line) {
                *width = (*width).max(cell.width());
            }
        }
        widths
    }

    fn leave_out(&mut self, column: usize) {
        for (index, line) in self.lines.iter_mut().enumerate() {
            if column < line.len() {
                let cell = line.remove(column);
                if index == 0 {
                    self.left_out.insert(0, cell);
                }
            }
        }
    }

    /// Lets the last column go on in further lines.
    fn wrap(&mut self, width: usize) {
        let lines = std::mem::take(&mut self.lines);
        for mut line in lines {
            let columns = line.len();
            let mut parts = wrapped(&line.pop().unwrap_or_default(), width).into_iter();
            line.push(parts.next().unwrap_or_default());
            self.lines.push(line);
            for part in parts {
                let mut line = vec![String::new(); columns.saturating_sub(1)];
                line.push(part);
                self.lines.push(line);
            }
        }
    }

    /// Puts the last column into lines of its own.
    fn below(mut self, room: usize) -> Fitted {
        let width = room.saturating_sub(BELOW.len()).max(WORDY);
        let said: Vec<String> =
            self.lines.iter_mut().map(|line| line.pop().unwrap_or_default()).collect();
        let rows = self.print(&self.widths());
        let mut text = String::new();
        for (row, said) in rows.text.lines().zip(said) {
            text.push_str(row);
            text.push('\n');
            for part in wrapped(&said, width).iter().filter(|part| !part.is_empty()) {
                text.push_str(&format!("{BELOW}{part}\n"));
            }
        }
        Fitted { text, ..rows }
    }

    fn print(&self, widths: &[usize]) -> Fitted {
        let mut text = String::new();
        for row in &self.lines {
            let mut line = String::new();
            for (width, cell) in widths.iter().zip(row) {
                line.push_str(cell);
                line.push_str(&" ".repeat(width.saturating_sub(cell.width()) + 2));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        Fitted { text, left_out: self.left_out.clone() }
    }
}

/// Lines of at most `width`; a longer word has a line to itself.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.width() + 1 + word.width() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: [&str; 4] = ["NAME", "KIND", "REQUIRED", "DESCRIPTION"];

    #[track_caller]
    fn check(room: usize, stay: usize, expected: &str, left_out: &[&str]) {
        let row = ["top_k", "number", "no", "How many results to return at most"];
        let fitted = Table::new(&HEAD, stay, &[row.map(str::to_owned).to_vec()]).fit(room);
        assert_eq!(fitted.text, expected);
        assert_eq!(fitted.left_out, left_out);
    }

    #[test]
    fn a_table_fits_its_terminal() {
        let whole = "NAME   KIND    REQUIRED  DESCRIPTION\n\
                     top_k  number  no        How many results to return at most\n";
        check(80, 1, whole, &[]);
        check(
            52,
            1,
            "NAME   KIND    REQUIRED  DESCRIPTION\ntop_k  number  no        How many results to return\n                         at most\n",
            &[],
        );
        check(
            40,
            1,
            "NAME   KIND    DESCRIPTION\ntop_k  number  How many results to\n               return at most\n",
            &["REQUIRED"],
        );
        check(
            20,
            1,
            "NAME   DESCRIPTION\ntop_k  How many results to\n       return at most\n",
            &["KIND", "REQUIRED"],
        );
    }

    #[test]
    fn columns_that_matter_stay_and_sentences_go_below_them() {
        check(
            30,
            2,
            "NAME   KIND\n    DESCRIPTION\ntop_k  number\n    How many results to return\n    at most\n",
            &["REQUIRED"],
        );
        let row = ["call_0123456789", "unknown", "shop__a_tool_with_a_long_name", "g"];
        let head = ["CALL", "STATE", "TOOL", "GROUP"];
        let rows = [row.map(str::to_owned).to_vec()];
        let fitted = Table::new(&head, 3, &rows).fit(30);
        assert!(
            fitted.text.ends_with("unknown  shop__a_tool_with_a_long_name\n"),
            "{}",
            fitted.text
        );
        let note = "no room for GROUP: a wider terminal has it, and `--json`";
        assert_eq!(fitted.note().as_deref(), Some(note));
        assert_eq!(Table::new(&head, 3, &rows).fit(80).note(), None);
    }
}
