//! Paths as contracts write them: `filters.tags`, `results[].id`. The linter reads the same
//! grammar: names joined by dots, and `[]` after a name for every element of its list.

/// One step of such a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The member of this name.
    Name(String),
    /// Every element.
    Each,
}

/// Reads a path.
pub(crate) fn parse(path: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for part in path.split('.') {
        let name = part.trim_end_matches("[]");
        steps.push(Step::Name(name.to_owned()));
        steps.extend((0..(part.len() - name.len()) / 2).map(|_| Step::Each));
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_names_and_elements() {
        let name = |name: &str| Step::Name(name.to_owned());
        assert_eq!(parse("a.b"), [name("a"), name("b")]);
        assert_eq!(parse("a[][].b"), [name("a"), Step::Each, Step::Each, name("b")]);
    }
}
