//! Every part of a text, so that a word is looked for in as many steps as it is long.
//!
//! A suffix automaton. It is made of the text, which is short, and not of what is looked for, which
//! may be long and may repeat itself: neither makes it larger than a few times the text.

/// The parts of a text. Those that end at the same places of it are one node.
pub(super) struct Parts {
    nodes: Vec<Node>,
    ways: Vec<Way>,
    /// For each byte of the text, the node of all that ends with it.
    ends: Vec<usize>,
    /// How many steps it took to make.
    steps: usize,
}

#[derive(Clone, Copy, Default)]
struct Node {
    /// How long the longest of its parts is.
    longest: usize,
    /// Where its shorter endings are, which end at more places.
    endings: Option<usize>,
    /// The first of the ways on.
    way: Option<usize>,
}

/// The byte that leads from one node to another, and the next way from the same node.
#[derive(Clone, Copy)]
struct Way {
    byte: u8,
    to: usize,
    next: Option<usize>,
}

/// The node of the empty part.
const ROOT: usize = 0;

impl Parts {
    pub(super) fn of(text: &[u8]) -> Self {
        let (nodes, ways) = (vec![Node::default()], Vec::new());
        let mut parts = Self { nodes, ways, ends: Vec::with_capacity(text.len()), steps: 0 };
        let mut last = ROOT;
        for byte in text {
            last = parts.grow(last, *byte);
            parts.ends.push(last);
        }
        parts
    }

    /// How many steps it took to make: a few for each byte, whatever the text.
    pub(super) fn steps(&self) -> usize {
        self.steps
    }

    /// How many nodes there are.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The nodes that a word leads through, one for each of its bytes, for as long as the text has it.
    pub(super) fn walk(&self, word: &[u8]) -> impl Iterator<Item = usize> {
        word.iter().scan(ROOT, |node, byte| {
            *node = self.step(*node, *byte)?;
            Some(*node)
        })
    }

    /// The node of all that ends with each byte of the text.
    pub(super) fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// A node, and then those of its shorter endings.
    pub(super) fn endings(&self, node: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(node), |node| self.node(*node).endings)
    }

    /// For each node the most of what is said of it and of its shorter endings.
    pub(super) fn most(&self, mut said: Vec<usize>) -> Vec<usize> {
        let mut nodes: Vec<usize> = (0..self.nodes.len()).collect();
        nodes.sort_unstable_by_key(|node| self.node(*node).longest);
        for node in nodes {
            let shorter = self.node(node).endings.and_then(|node| said.get(node).copied());
            if let (Some(own), Some(shorter)) = (said.get_mut(node), shorter) {
                *own = shorter.max(*own);
            }
        }
        said
    }

    /// Takes in the byte after everything so far, which is this node; gives that of everything then.
    fn grow(&mut self, last: usize, byte: u8) -> usize {
        let longest = self.node(last).longest + 1;
        let new = self.add(Node { longest, endings: Some(ROOT), way: None });
        let mut from = Some(last);
        while let Some(node) = from
            && self.step(node, byte).is_none()
        {
            self.lead(node, byte, new);
            from = self.node(node).endings;
        }
        if let Some(node) = from
            && let Some(known) = self.step(node, byte)
        {
            let endings = self.apart(node, byte, known);
            self.set_endings(new, endings);
        }
        new
    }

    /// The node of what a byte leads to from a node and nothing longer: those that are longer do not end
    /// where that does any more.
    fn apart(&mut self, node: usize, byte: u8, known: usize) -> usize {
        let longest = self.node(node).longest + 1;
        if self.node(known).longest == longest {
            return known;
        }
        let apart = self.add(Node { longest, way: None, ..self.node(known) });
        let mut way = self.node(known).way;
        while let Some(Way { byte, to, next }) = way.and_then(|way| self.ways.get(way).copied()) {
            self.lead(apart, byte, to);
            way = next;
        }
        self.set_endings(known, apart);
        let mut from = Some(node);
        while let Some(node) = from
            && self.step(node, byte) == Some(known)
        {
            self.turn(node, byte, apart);
            from = self.node(node).endings;
        }
        apart
    }

    fn node(&self, node: usize) -> Node {
        self.nodes.get(node).copied().unwrap_or_default()
    }

    fn add(&mut self, node: Node) -> usize {
        self.steps += 1;
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn set_endings(&mut self, node: usize, endings: usize) {
        if let Some(node) = self.nodes.get_mut(node) {
            node.endings = Some(endings);
        }
    }

    fn step(&self, from: usize, byte: u8) -> Option<usize> {
        self.way(from, byte).and_then(|way| self.ways.get(way)).map(|way| way.to)
    }

    fn way(&self, from: usize, byte: u8) -> Option<usize> {
        let mut at = self.node(from).way;
        while let Some(way) = at.and_then(|at| self.ways.get(at)) {
            if way.byte == byte {
                return at;
            }
            at = way.next;
        }
        None
    }

    fn lead(&mut self, from: usize, byte: u8, to: usize) {
        self.steps += 1;
        let way = self.ways.len();
        if let Some(node) = self.nodes.get_mut(from) {
            self.ways.push(Way { byte, to, next: node.way.replace(way) });
        }
    }

    fn turn(&mut self, from: usize, byte: u8, to: usize) {
        self.steps += 1;
        if let Some(way) = self.way(from, byte).and_then(|way| self.ways.get_mut(way)) {
            way.to = to;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str) {
        let parts = Parts::of(text.as_bytes());
        let whole = |word: &[u8]| parts.walk(word).count() == word.len();
        for start in 0..text.len() {
            for end in start..=text.len() {
                let part = &text.as_bytes()[start..end];
                assert!(whole(part), "{text} has {start}..{end}");
                let Some(last) = parts.walk(part).last() else { continue };
                let found = parts.ends().iter().map(|end| parts.endings(*end).any(|it| it == last));
                let expected = (1..=text.len()).map(|end| text.as_bytes()[..end].ends_with(part));
                assert!(found.eq(expected), "{text}: where {start}..{end} ends");
                for byte in *b"abx" {
                    let longer = [part, &[byte]].concat();
                    let there = text.as_bytes().windows(longer.len()).any(|it| it == longer);
                    assert_eq!(whole(&longer), there, "{text}: {longer:?}");
                }
            }
        }
    }

    #[test]
    fn it_has_every_part_and_nothing_else() {
        for text in ["", "a", "aaaa", "abab", "abcbc", "aabbabb", "xaxbxab", "abaabaaab"] {
            check(text);
        }
    }

    #[test]
    fn it_takes_a_few_steps_for_each_byte_whatever_the_text() {
        for text in hostile(20_000) {
            let parts = Parts::of(text.as_bytes());
            let begins = &text[..20];
            assert!(parts.len() <= 2 * text.len(), "{begins}");
            assert!(parts.ways.len() <= 3 * text.len(), "{begins}");
            assert!(parts.steps() <= 7 * text.len(), "{begins}: {}", parts.steps());
        }
    }

    /// Texts that repeat themselves in every way.
    fn hostile(length: usize) -> Vec<String> {
        let of = |part: &str| part.repeat(length / part.len());
        let half = "x".repeat(length / 2);
        let mut dice = 7_u64;
        let mut roll = || {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b'a' + (dice >> 33) as u8 % 4)
        };
        let mut fibonacci = ("a".to_owned(), "ab".to_owned());
        while fibonacci.1.len() < length {
            fibonacci = (fibonacci.1.clone(), fibonacci.1 + &fibonacci.0);
        }
        let counted = (1..200).map(|n| "a".repeat(n) + "b").collect();
        vec![
            of("x"),
            of("ab"),
            of("abcdefghij"),
            format!("{half}y{half}"),
            format!("{half}{}", half.replace('x', "y")),
            (0..length).map(|_| roll()).collect(),
            fibonacci.1,
            counted,
        ]
    }
}
