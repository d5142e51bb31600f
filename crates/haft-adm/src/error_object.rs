//! Why a call failed, in words and as a code.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::fields::{self, Fields};
use crate::path::Path;
use crate::report::{Errors, Report, Reported};
use crate::rule;
use crate::structure::{Structure, doors};

/// An error as the caller of a function sees it.
///
/// ```
/// use haft_adm::{ErrorObject, ErrorType};
///
/// let error = ErrorObject::new("wait a minute, then try again")?
///     .with_type(ErrorType::RateLimitExceeded);
/// assert_eq!(
///     serde_json::to_string(&error).unwrap(),
///     r#"{"message":"wait a minute, then try again","type":"RATE_LIMIT_EXCEEDED"}"#
/// );
/// assert!(ErrorObject::new(" \n").is_err());
/// # Ok::<(), haft_adm::Errors>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ErrorObject {
    message: String,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    error_type: Option<ErrorType>,
}

doors!(ErrorObject);

impl ErrorObject {
    /// An error that says this.
    ///
    /// # Errors
    ///
    /// If the message is empty or only white space.
    pub fn new(message: impl Into<String>) -> Result<Self, Errors> {
        let mut report = Report::default();
        let read = check_message(message.into(), &Path::Root.key("message"), &mut report);
        report.finish(read.map(|message| ErrorObject { message, error_type: None }))
    }

    /// The same error with a code for programs.
    pub fn with_type(self, error_type: impl Into<ErrorType>) -> Self {
        ErrorObject { error_type: Some(error_type.into()), ..self }
    }

    /// What went wrong, for people and models.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What went wrong, for programs.
    pub fn error_type(&self) -> Option<&ErrorType> {
        self.error_type.as_ref()
    }
}

impl Structure for ErrorObject {
    fn read(value: Value, path: &Path<'_>, report: &mut Report) -> Result<Self, Reported> {
        let mut fields = Fields::open(value, path, "an error", report)?;
        let here = path.key("message");
        let message = fields
            .required("message", report)
            .and_then(|message| fields::text(message, &here, report))
            .and_then(|message| check_message(message, &here, report));
        let error_type = fields.optional("type", report).and_then(|given| {
            given.map(|word| fields::text(word, &path.key("type"), report)).transpose()
        });
        fields.finish(report);
        Ok(ErrorObject { message: message?, error_type: error_type?.map(ErrorType::from) })
    }

    fn function_at<'v>(_: &'v Value, _: &str) -> Option<&'v str> {
        None
    }
}

fn check_message(
    message: String,
    path: &Path<'_>,
    report: &mut Report,
) -> Result<String, Reported> {
    match message.chars().all(is_blank) {
        true => Err(report.add(path, rule::Outcome::MessageBlank)),
        false => Ok(message),
    }
}

/// White space to Unicode, and the one character more that JavaScript trims.
pub(crate) fn is_blank(character: char) -> bool {
    character.is_whitespace() || character == '\u{feff}'
}

macro_rules! error_types {
    ($($(#[$doc:meta])* $variant:ident = $code:literal,)*) => {
        /// What went wrong, for programs: one of the eight standard codes or a code of one's own.
        ///
        /// ```
        /// use haft_adm::ErrorType;
        ///
        /// assert_eq!(ErrorType::from("INVALID_STATE"), ErrorType::InvalidState);
        /// assert_eq!(ErrorType::from("MY_OWN").as_str(), "MY_OWN");
        /// assert_eq!(ErrorType::STANDARD.len(), 8);
        /// ```
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum ErrorType {
            $($(#[$doc])* $variant,)*
            /// Any other code, as it came.
            Other(OtherType),
        }

        impl ErrorType {
            /// The standard codes.
            pub const STANDARD: [ErrorType; 8] = [$(ErrorType::$variant),*];

            /// The code as it is written.
            pub fn as_str(&self) -> &str {
                match self {
                    $(ErrorType::$variant => $code,)*
                    ErrorType::Other(OtherType(code)) => code,
                }
            }
        }

        impl From<String> for ErrorType {
            fn from(code: String) -> Self {
                match code.as_str() {
                    $($code => ErrorType::$variant,)*
                    _ => ErrorType::Other(OtherType(code)),
                }
            }
        }
    };
}

error_types! {
    /// The arguments do not fit the schema.
    ParameterValidationFailed = "PARAMETER_VALIDATION_FAILED",
    /// What was asked for does not exist.
    ResourceNotFound = "RESOURCE_NOT_FOUND",
    /// The caller may not do this.
    PermissionDenied = "PERMISSION_DENIED",
    /// The business does not allow this.
    BusinessRuleViolation = "BUSINESS_RULE_VIOLATION",
    /// Something that the function depends on is down.
    ServiceUnavailable = "SERVICE_UNAVAILABLE",
    /// Too many requests in too short a time.
    RateLimitExceeded = "RATE_LIMIT_EXCEEDED",
    /// The thing is not in a state in which this can be done to it.
    InvalidState = "INVALID_STATE",
    /// The system is set up wrongly.
    ConfigurationError = "CONFIGURATION_ERROR",
}

/// A code that is none of the standard ones; made by [`ErrorType::from`] alone, so that a
/// standard code has one spelling in Rust.
///
/// ```
/// use haft_adm::ErrorType;
///
/// let ErrorType::Other(code) = ErrorType::from("OUT_OF_PAPER") else { unreachable!() };
/// assert_eq!(code.as_str(), "OUT_OF_PAPER");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OtherType(String);

impl OtherType {
    /// The code as it came.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for ErrorType {
    fn from(code: &str) -> Self {
        ErrorType::from(code.to_owned())
    }
}

impl fmt::Display for ErrorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl Serialize for ErrorType {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}
