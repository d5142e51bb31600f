//! What is refused at `/mcp`, in the log: by whom and what was asked, and our word for why. What the
//! client said is not in it, but for the method.

use std::sync::Arc;

use haft_core::ErrorKind;

use crate::who::Who;

/// So much of a method is told. Those that there are have fewer letters.
const LONGEST: usize = 64;

/// A request, as far as it was read.
#[derive(Clone)]
pub(super) struct Asking {
    tenant: Arc<str>,
    /// Where it is one that the key opens.
    agent: Option<Arc<str>>,
    method: String,
}

impl Asking {
    /// A request of whoever holds a key; until its message is read, its method is that of HTTP.
    pub(super) fn new(who: &Who, method: &str) -> Self {
        Self { tenant: who.tenant.clone(), agent: None, method: shown(method) }
    }

    pub(super) fn of_agent(&mut self, agent: &Arc<str>) {
        self.agent = Some(agent.clone());
    }

    pub(super) fn read(&mut self, method: &str) {
        self.method = shown(method);
    }

    /// Says that it was refused. What the client has to mend is no warning of ours.
    pub(super) fn refused(&self, code: &str) {
        macro_rules! line {
            ($level:ident) => {
                tracing::$level!(
                    event = "mcp_refused",
                    tenant_id = &*self.tenant,
                    agent_id = self.agent.as_deref(),
                    method = self.method,
                    code,
                )
            };
        }
        match code == ErrorKind::Internal.as_str() {
            true => line!(warn),
            false => line!(info),
        }
    }
}

/// The beginning of a foreign word, in letters that speak to no terminal and end no line.
fn shown(word: &str) -> String {
    let mut letters = word.escape_default();
    let shown: String = letters.by_ref().take(LONGEST).collect();
    match letters.next() {
        Some(_) => format!("{shown}…"),
        None => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_told_in_a_few_plain_letters() {
        assert_eq!(shown("tools/call"), "tools/call");
        assert_eq!(shown("a\r\nb\u{1b}[2J"), "a\\r\\nb\\u{1b}[2J");
        assert_eq!(shown(&"x".repeat(1 << 20)), format!("{}…", "x".repeat(LONGEST)));
    }
}
