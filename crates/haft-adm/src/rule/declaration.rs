use std::fmt;

use crate::SchemaType;

/// Rules on tools and function declarations.
///
/// ```
/// use haft_adm::{ErrorKind, Tool, rule::Declaration};
///
/// let errors = Tool::parse(r#"{"function_declarations": []}"#).unwrap_err();
/// assert_eq!(errors.as_slice()[0].kind, ErrorKind::Declaration(Declaration::NoFunctions));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Declaration {
    /// A tool declares nothing.
    NoFunctions,
    /// Two functions of a tool share a name.
    NameTaken {
        /// The name.
        name: String,
        /// Index of the declaration that has it already.
        first: usize,
    },
    /// A function's name does not follow the pattern.
    NameMalformed {
        /// The name as written.
        name: String,
    },
    /// A function's description is empty.
    DescriptionEmpty,
    /// A function's description has too many characters.
    DescriptionLong {
        /// How many it has.
        characters: usize,
    },
    /// A function's parameters are not an OBJECT.
    ParametersNotObject {
        /// What they are.
        found: SchemaType,
    },
}

impl fmt::Display for Declaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Declaration::NoFunctions => write!(f, "a tool declares at least one function; add one"),
            Declaration::NameTaken { name, first } => write!(
                f,
                "the name `{name}` is taken by `/function_declarations/{first}`; rename one of them"
            ),
            Declaration::NameMalformed { name } => write!(
                f,
                "`{name}` is not a function name; start with a letter or `_`, \
                 go on with letters, digits, `_` and `-`, and stop at 64 characters"
            ),
            Declaration::DescriptionEmpty => {
                write!(f, "the description is empty; say what the function does")
            }
            Declaration::DescriptionLong { characters } => write!(
                f,
                "the description has {characters} characters; shorten it to {}",
                crate::DESCRIPTION_CHARACTERS
            ),
            Declaration::ParametersNotObject { found } => write!(
                f,
                "parameters are of type {found}, but arguments always come as an object; use OBJECT"
            ),
        }
    }
}
