//! Every code that the compiler can report, each with a page under `docs/errors/`.

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The tool does not compile.
    Error,
    /// The tool compiles; someone should look.
    Warning,
}

impl Severity {
    /// The word used in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// A stable code.
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    /// `H101`.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// Whether a contract may answer it under `lint.allow`: an error becomes a warning, a warning
    /// is not reported.
    pub allowable: bool,
    /// Its page, in Markdown.
    pub page: &'static str,
}

impl Code {
    /// The page's heading, without the code.
    #[must_use]
    pub fn title(&self) -> &'static str {
        let heading = self.page.lines().next().unwrap_or_default();
        heading.split_once(": ").map_or(heading, |(_, title)| title)
    }

    /// Finds a code by its id, in either case.
    #[must_use]
    pub fn find(id: &str) -> Option<&'static Self> {
        let id = id.to_ascii_uppercase();
        let at = ALL.binary_search_by(|code| code.id.cmp(&id)).ok()?;
        ALL.get(at).copied()
    }
}

macro_rules! codes {
    ($($name:ident = $id:literal, $severity:ident, $allowable:literal;)*) => {
        $(
            #[doc = concat!("`", $id, "`: see its page.")]
            pub static $name: Code = Code {
                id: $id,
                severity: Severity::$severity,
                allowable: $allowable,
                page: include_str!(concat!("../../../docs/errors/", $id, ".md")),
            };
        )*

        /// All codes, sorted by id.
        pub static ALL: &[&Code] = &[$(&$name),*];
    };
}

codes! {
    // Files and folders.
    MISSING_FILE = "H001", Error, false;
    NOT_UTF8 = "H002", Error, false;
    BYTE_ORDER_MARK = "H003", Error, false;
    TOO_LARGE = "H004", Error, false;
    OUTSIDE_LINK = "H005", Error, false;
    NOT_JSON = "H006", Error, false;
    DUPLICATE_KEY = "H007", Error, false;
    TOO_DEEP = "H008", Error, false;
    INEXACT_NUMBER = "H009", Error, false;
    CARRIAGE_RETURN = "H010", Warning, true;
    UNREADABLE = "H011", Error, false;
    STRAY_FILE = "H012", Warning, true;
    FOLDER_NAME = "H013", Error, false;
    NOT_A_FILE = "H014", Error, false;
    LITERAL_SECRET = "H015", Error, false;
    INVISIBLE_TEXT = "H016", Error, false;
    // The contract.
    MISSING_FIELD = "H101", Error, false;
    UNKNOWN_FIELD = "H102", Error, false;
    WRONG_TYPE = "H103", Error, false;
    UNKNOWN_VALUE = "H104", Error, false;
    NAME_MISMATCH = "H105", Error, false;
    NOT_SEMVER = "H106", Error, false;
    DESCRIPTION = "H107", Error, false;
    RETRIEVAL_WRITES = "H108", Error, false;
    RETRIEVAL_NOT_IDEMPOTENT = "H109", Error, false;
    UNCONFIRMED_WRITES = "H110", Warning, true;
    OUT_OF_RANGE = "H111", Error, false;
    NO_REDACTION = "H112", Error, false;
    REDACTION_PATH = "H113", Error, false;
    CLAMP = "H114", Error, false;
    CONTRADICTION = "H115", Error, false;
    CONDITION = "H116", Error, false;
    PROMPT_SLOT = "H117", Error, false;
    KEY_FIELD = "H118", Error, false;
    HOST = "H119", Error, false;
    GATEWAY = "H120", Error, false;
    ASSUMED = "H121", Warning, true;
    LINT_RULE = "H122", Error, false;
    REPEATED = "H123", Error, false;
    NO_HOSTS = "H124", Error, false;
    KEY_MAY_BE_MISSING = "H125", Warning, true;
    CHANGES_UNSAID = "H126", Error, false;
    // The documents.
    SUMMARY_TOO_LONG = "H201", Error, false;
    EMPTY_DOCUMENT = "H202", Error, false;
    MISSING_SECTION = "H203", Error, false;
    EMPTY_SECTION = "H204", Error, false;
    GENERATED_SECTION = "H205", Warning, true;
    REPEATED_SECTION = "H206", Error, false;
    PLACEHOLDER = "H207", Warning, true;
    EXAMPLE_NOT_JSON = "H211", Error, false;
    EXAMPLE_DRIFT = "H212", Error, false;
    RESPONSE_DRIFT = "H213", Error, false;
    UNKNOWN_PARAMETER = "H214", Error, true;
    // The schemas.
    NOT_AN_OBJECT = "H301", Error, false;
    OPEN_OBJECT = "H302", Error, false;
    UNKNOWN_KEYWORD = "H303", Error, false;
    KEYWORD_VALUE = "H304", Error, false;
    FOREIGN_REFERENCE = "H305", Error, false;
    DANGLING_REFERENCE = "H306", Error, false;
    PATTERN = "H307", Error, false;
    UNKNOWN_FORMAT = "H308", Error, false;
    REQUIRED_UNKNOWN = "H309", Error, false;
    SAMPLE_MISMATCH = "H310", Error, false;
    RESERVED_PARAMETER = "H311", Error, false;
    SECRET_PARAMETER = "H312", Error, true;
    TOO_COMPLEX = "H313", Error, false;
    IDLE_KEYWORD = "H314", Warning, true;
    IMPOSSIBLE = "H315", Error, false;
    NO_DESCRIPTION = "H316", Warning, true;
    OPEN_NESTED_OBJECT = "H317", Warning, true;
    NO_OUTPUT = "H318", Warning, true;
    INVALID_SCHEMA = "H319", Error, false;
    TENANT_PARAMETER = "H320", Error, true;
    // The handler and its tests.
    NO_HANDLER = "H401", Error, false;
    TWO_HANDLERS = "H402", Error, false;
    HANDLER_SYNTAX = "H403", Error, false;
    NO_EXECUTE = "H404", Error, false;
    FOREIGN_IMPORT = "H405", Error, false;
    NOT_IN_SANDBOX = "H406", Error, true;
    UNDECLARED_CAPABILITY = "H407", Error, false;
    UNUSED_CAPABILITY = "H408", Warning, true;
    NOT_WASM = "H409", Error, false;
    NOT_EXECUTABLE = "H410", Error, false;
    UNBOUND = "H411", Warning, true;
    TESTS = "H412", Error, false;
    POST_OF_READER = "H413", Warning, true;
    // The toolset.
    TOOLSET_FILE = "H501", Error, false;
    SAME_ID = "H502", Error, false;
    LOOKALIKE_IDS = "H503", Error, false;
    CANONICAL_ID = "H504", Error, false;
    UNKNOWN_TOOL = "H505", Error, false;
    COMPENSATION = "H506", Error, false;
    PROBE = "H507", Error, false;
    PROMPT_FILE = "H508", Error, false;
    NO_TOOLS = "H509", Error, false;
    IDLE_EXCLUDE = "H510", Warning, false;
    // Portability.
    NOT_PORTABLE = "H601", Error, false;
    IDLE_ALLOWANCE = "H602", Warning, false;
    UNSAID = "H603", Warning, false;
    LEFT_OUT = "H604", Warning, false;
    // Registries.
    NOT_A_REGISTRY = "H701", Error, false;
    REGISTRY_FORMAT = "H702", Error, false;
    TOUCHED_TOOL = "H703", Error, false;
    RECOMPUTED_DIGEST = "H704", Error, false;
    SIGNATURE = "H705", Error, false;
    NOT_PINNED = "H706", Error, false;
    OLDER_REGISTRY = "H707", Error, false;
    OTHER_PUBLISHER = "H708", Error, false;
}
