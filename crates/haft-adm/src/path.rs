//! Where in a document we are, kept on the stack and written out only when an error needs it.

/// A place in a JSON document; each step borrows the one above it.
#[derive(Clone, Copy)]
pub(crate) enum Path<'a> {
    Root,
    Key(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

impl<'a> Path<'a> {
    pub(crate) fn key(&'a self, key: &'a str) -> Path<'a> {
        Path::Key(self, key)
    }

    pub(crate) fn index(&'a self, index: usize) -> Path<'a> {
        Path::Index(self, index)
    }

    /// The JSON pointer of RFC 6901; the root is the empty string.
    pub(crate) fn pointer(&self) -> String {
        let mut steps = Vec::new();
        let mut here = self;
        loop {
            here = match here {
                Path::Root => break,
                Path::Key(above, key) => {
                    steps.push(key.replace('~', "~0").replace('/', "~1"));
                    above
                }
                Path::Index(above, index) => {
                    steps.push(index.to_string());
                    above
                }
            };
        }
        steps.iter().rev().flat_map(|step| ["/", step]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_escapes_what_rfc_6901_asks_for() {
        let root = Path::Root;
        let list = root.key("a/b~c");
        let third = list.index(3);
        assert_eq!(root.pointer(), "");
        assert_eq!(third.pointer(), "/a~1b~0c/3");
        assert_eq!(third.key("").pointer(), "/a~1b~0c/3/");
    }
}
