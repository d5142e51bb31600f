//! Where in the arguments we are, kept on the stack and written out only when someone must be told.

use haft_core::pointer::escape;

/// A place in a value; each step borrows the one above it.
#[derive(Clone, Copy)]
pub(super) enum Path<'a> {
    Root,
    Name(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

/// One step of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step<'a> {
    Name(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    /// The steps from the root.
    pub(super) fn steps(&self) -> Vec<Step<'a>> {
        let mut steps = Vec::new();
        let mut here = *self;
        loop {
            here = match here {
                Path::Root => break,
                Path::Name(above, name) => {
                    steps.push(Step::Name(name));
                    *above
                }
                Path::Index(above, index) => {
                    steps.push(Step::Index(index));
                    *above
                }
            };
        }
        steps.reverse();
        steps
    }

    /// The JSON pointer.
    pub(super) fn pointer(&self) -> String {
        let written = self.steps().into_iter().map(|step| match step {
            Step::Name(name) => format!("/{}", escape(name)),
            Step::Index(index) => format!("/{index}"),
        });
        written.collect()
    }
}
