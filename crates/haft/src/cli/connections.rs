//! `haft connections`

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use haft_core::connection::AuthKind;

#[derive(Args)]
pub(crate) struct Connections {
    #[command(flatten)]
    pub(crate) operator: super::Operator,
    #[command(subcommand)]
    pub(crate) what: ConnectionsCommand,
}

#[derive(Subcommand)]
pub(crate) enum ConnectionsCommand {
    /// Add a connection; its secret is read from standard input, a file or the environment
    Add(Box<AddConnection>),
    /// List connections and who may use them; never a secret
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Let someone use a connection with some tools
    Grant(GrantConnection),
    /// Take back what was granted
    Revoke {
        /// The connection
        id: String,
        /// From whom; from everyone when left out
        #[arg(long, value_name = "PRINCIPAL")]
        from: Option<String>,
    },
    /// See whether a connection's credentials can be had, and whether a service takes them
    Test(TestConnection),
    /// Replace a connection's secret, or the key that all secrets are sealed with
    Rotate(RotateConnection),
    /// Forget a connection, its secret and its grants
    Remove {
        /// The connection
        id: String,
    },
}

/// Where a secret is read from; standard input when nothing is said.
#[derive(Args)]
pub(crate) struct SecretFrom {
    /// The environment variable that holds the secret
    #[arg(long, value_name = "VAR", conflicts_with = "secret_file")]
    pub(crate) secret_env: Option<String>,
    /// The file that holds the secret
    #[arg(long, value_name = "FILE")]
    pub(crate) secret_file: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct AddConnection {
    /// Its id: letters, digits and `_.:-`
    pub(crate) id: String,
    /// Whose account it is, as tools name it
    #[arg(long)]
    pub(crate) provider: String,
    /// How it proves who it is
    #[arg(long)]
    pub(crate) kind: KindName,
    /// A host that the credentials may be sent to; those of each tool's contract when left out
    #[arg(long = "host", value_name = "HOST")]
    pub(crate) hosts: Vec<String>,
    #[command(flatten)]
    pub(crate) secret: SecretFrom,
    /// The name of the header or of the query parameter
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// The user's name, for `basic`
    #[arg(long)]
    pub(crate) user: Option<String>,
    /// Where OAuth tokens are had
    #[arg(long, value_name = "URL")]
    pub(crate) token_url: Option<String>,
    /// Where the browser is sent for consent
    #[arg(long, value_name = "URL")]
    pub(crate) authorize_url: Option<String>,
    /// Who this program is to the provider
    #[arg(long)]
    pub(crate) client_id: Option<String>,
    /// The client has no secret
    #[arg(long)]
    pub(crate) public: bool,
    /// Send the client's secret among the fields of the request, not in a header
    #[arg(long)]
    pub(crate) secret_in_body: bool,
    /// What is asked for; may be given more than once
    #[arg(long = "scope", value_name = "SCOPE")]
    pub(crate) scopes: Vec<String>,
    /// What the token is for, where the provider wants to know
    #[arg(long)]
    pub(crate) audience: Option<String>,
    /// The port that the browser comes back to; any free one when left out
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// Only print the address for the browser
    #[arg(long)]
    pub(crate) no_browser: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KindName {
    /// `Authorization: Bearer <secret>`
    Bearer,
    /// A key in a header
    Header,
    /// A key in the query
    Query,
    /// A name and a password
    Basic,
    /// OAuth 2 as this program itself
    ClientCredentials,
    /// OAuth 2 as a person, through the browser
    AuthorizationCode,
}

impl From<KindName> for AuthKind {
    fn from(name: KindName) -> Self {
        match name {
            KindName::Bearer => Self::Bearer,
            KindName::Header => Self::Header,
            KindName::Query => Self::Query,
            KindName::Basic => Self::Basic,
            KindName::ClientCredentials => Self::ClientCredentials,
            KindName::AuthorizationCode => Self::AuthorizationCode,
        }
    }
}

#[derive(Args)]
pub(crate) struct GrantConnection {
    /// The connection
    pub(crate) id: String,
    /// Who may use it: `user:<id>`, `agent:<id>`, `agent:*`, `*`; may be given more than once
    #[arg(long = "to", value_name = "PRINCIPAL", required = true)]
    pub(crate) to: Vec<String>,
    /// With which tools: names, with `*`; may be given more than once
    #[arg(long, value_name = "TOOLS", required = true)]
    pub(crate) tools: Vec<String>,
}

#[derive(Args)]
pub(crate) struct TestConnection {
    /// The connection
    pub(crate) id: String,
    /// Ask this address with the credentials; its host must be the connection's
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
}

#[derive(Args)]
pub(crate) struct RotateConnection {
    /// The connection whose secret is replaced
    #[arg(required_unless_present = "key")]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) secret: SecretFrom,
    /// Make a new key and seal every secret with it
    #[arg(long, conflicts_with = "id")]
    pub(crate) key: bool,
    /// With `--key`: the environment variable that holds the new key, where keys are not in a file
    #[arg(long, value_name = "VAR", requires = "key")]
    pub(crate) new_key_env: Option<String>,
}
