//! From JSON pointers to bytes of the file.

mod scan;

use std::collections::HashMap;
use std::ops::Range;

use super::{File, Part};
use scan::Node;

/// What was worked out about each file, once.
#[derive(Default)]
pub(super) struct Spans {
    files: HashMap<File, Places>,
    lines: HashMap<File, Vec<usize>>,
}

impl Spans {
    pub(super) fn find(
        &mut self,
        file: &File,
        text: &str,
        pointer: &str,
        part: Part,
    ) -> Option<Range<usize>> {
        self.files.entry(file.clone()).or_insert_with(|| spans_of(text)).find(text, pointer, part)
    }

    /// Line and column, from 1, in characters.
    pub(super) fn line_column(&mut self, file: &File, text: &str, offset: usize) -> (usize, usize) {
        let starts = self.lines.entry(file.clone()).or_insert_with(|| {
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
        });
        let line = starts.partition_point(|start| *start <= offset);
        let start = starts.get(line.saturating_sub(1)).copied().unwrap_or_default();
        let before = text.get(start..offset).unwrap_or_default();
        (line.max(1), before.chars().count() + 1)
    }
}

/// Where every member of one JSON text stands: the values in the order of the text, each before
/// what is in it.
pub(crate) struct Places(Vec<Node>);

impl Places {
    /// The bytes of a place, or of the nearest one around it: a field that is missing is reported
    /// at the object that lacks it. `text` is what the places were found in.
    pub(crate) fn find(&self, text: &str, pointer: &str, part: Part) -> Option<Range<usize>> {
        let mut at = 0;
        let mut part = part;
        for step in pointer.split('/').skip(1) {
            match self.below(text, at, step) {
                Some(below) => at = below,
                None => {
                    part = Part::Key;
                    break;
                }
            }
        }
        let node = self.0.get(at)?;
        match (part, &node.key) {
            (Part::Key, Some(key)) => Some(key.clone()),
            (Part::Key, None) | (Part::Value, _) => Some(node.shown(text)),
        }
    }

    /// The member or element that one step of a pointer leads to. Of two members with one name it
    /// is the later: that is the offender.
    fn below(&self, text: &str, at: usize, step: &str) -> Option<usize> {
        let mut inside = self.inside(at).enumerate();
        if self.0.get(at)?.is_list(text) {
            let wanted: usize = step.parse().ok()?;
            return inside.find(|(index, _)| *index == wanted).map(|(_, below)| below);
        }
        let name = step.replace("~1", "/").replace("~0", "~");
        let named = |below: &usize| self.0.get(*below).is_some_and(|node| node.is(text, &name));
        inside.map(|(_, below)| below).filter(named).last()
    }

    /// The values directly inside of one.
    fn inside(&self, at: usize) -> impl Iterator<Item = usize> {
        let end = self.0.get(at).map_or(0, |node| node.after);
        std::iter::successors(Some(at + 1), |below| self.0.get(*below).map(|node| node.after))
            .take_while(move |below| *below < end)
    }
}

/// The text has been read strictly before; where it was not, some places are not found.
pub(crate) fn spans_of(text: &str) -> Places {
    Places(scan::nodes(text))
}

/// Where the word, text or number that starts at `start` ends: enough to underline it.
pub(crate) fn token_end(text: &str, start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let length = match rest.strip_prefix('"') {
        Some(inside) => inside.find(['"', '\n']).map_or(1, |end| end + 2).min(rest.len()),
        None => rest
            .find(|c: char| c.is_whitespace() || ",:[]{}\"".contains(c))
            .unwrap_or(rest.len())
            .max(rest.chars().next().map_or(0, char::len_utf8)),
    };
    start + length
}
