//! One pass over a JSON text that notes where each value stands.
//!
//! Nothing is built from the values: most contracts have a finding or two, and a tree or a table of
//! all pointers would cost more than everything else that is done with them.

use std::ops::Range;

/// A value.
pub(super) struct Node {
    /// The name that it stands under, with its quotes.
    pub(super) key: Option<Range<usize>>,
    pub(super) value: Range<usize>,
    /// The index of the first node that is not inside of it.
    pub(super) after: usize,
}

impl Node {
    /// Underlining a whole object over forty lines shows nothing; its first line does.
    pub(super) fn shown(&self, text: &str) -> Range<usize> {
        let line = text.get(self.value.clone()).and_then(|inside| inside.find('\n'));
        self.value.start..line.map_or(self.value.end, |end| self.value.start + end)
    }

    pub(super) fn is_list(&self, text: &str) -> bool {
        text.as_bytes().get(self.value.start) == Some(&b'[')
    }

    /// Whether it is a member of this name.
    pub(super) fn is(&self, text: &str, name: &str) -> bool {
        let Some(key) = self.key.clone().and_then(|key| text.get(key)) else { return false };
        if key.contains('\\') {
            return serde_json::from_str::<String>(key).is_ok_and(|key| key == name);
        }
        key.strip_prefix('"').and_then(|key| key.strip_suffix('"')) == Some(name)
    }
}

/// Every value of the text, in its order. A text that is no JSON gives some nodes or none.
pub(super) fn nodes(text: &str) -> Vec<Node> {
    let mut scan = Scan { bytes: text.as_bytes(), nodes: Vec::new(), open: Vec::new(), key: None };
    let mut at = 0;
    while let Some(byte) = scan.bytes.get(at) {
        at = scan.step(*byte, at);
    }
    while !scan.open.is_empty() {
        scan.close(text.len());
    }
    scan.nodes
}

struct Scan<'a> {
    bytes: &'a [u8],
    nodes: Vec<Node>,
    /// The objects and lists around the current place.
    open: Vec<usize>,
    /// A name whose value comes next.
    key: Option<Range<usize>>,
}

impl Scan<'_> {
    /// Takes what starts at `at`, and says where the next thing can start.
    fn step(&mut self, byte: u8, at: usize) -> usize {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' | b',' | b':' => at + 1,
            b'{' | b'[' => {
                self.open.push(self.nodes.len());
                self.add(at..at);
                at + 1
            }
            b'}' | b']' => {
                self.close(at + 1);
                at + 1
            }
            b'"' => {
                let end = self.after_text(at + 1);
                match self.key.is_none() && self.in_object() {
                    true => self.key = Some(at..end),
                    false => self.add(at..end),
                }
                end
            }
            _ => {
                let rest = self.bytes.get(at..).unwrap_or_default();
                let ends = |byte: &u8| b" \t\r\n,:{}[]\"".contains(byte);
                let end = at + rest.iter().position(ends).unwrap_or(rest.len());
                self.add(at..end);
                end
            }
        }
    }

    fn add(&mut self, value: Range<usize>) {
        let after = self.nodes.len() + 1;
        self.nodes.push(Node { key: self.key.take(), value, after });
    }

    fn close(&mut self, end: usize) {
        let after = self.nodes.len();
        if let Some(node) = self.open.pop().and_then(|open| self.nodes.get_mut(open)) {
            node.value.end = end;
            node.after = after;
        }
    }

    fn in_object(&self) -> bool {
        let around = self.open.last().and_then(|open| self.nodes.get(*open));
        around.and_then(|node| self.bytes.get(node.value.start)) == Some(&b'{')
    }

    /// Where the text that started before `at` has ended.
    fn after_text(&self, at: usize) -> usize {
        let rest = self.bytes.get(at..).unwrap_or_default();
        let mut escaped = false;
        let quote = rest.iter().position(|byte| {
            let end = *byte == b'"' && !escaped;
            escaped = *byte == b'\\' && !escaped;
            end
        });
        at + quote.map_or(rest.len(), |quote| quote + 1)
    }
}
