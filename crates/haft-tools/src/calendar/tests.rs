//! The capability from outside: with haft's own calendar, and with a real CalDAV server.

mod local;
mod proxy;
mod radicale;
mod server;

use std::collections::HashMap;
use std::sync::Arc;

use haft_core::ToolError;
use haft_core::connection::{Account, AuthKind, Lease, Origin, Presented};
use haft_core::port::{Auth, Boxed, Broker, Calendar, Hidden, Hide, Owner, Want};
use haft_core::secret::SecretText;
use haft_exec::http::{Client, Settings};
use haft_store::Appointments;
use serde_json::{Value, json};

use super::busy::Asking;
use super::{Hours, Person, Provider, Setup};

const MARA: &str = "mara@northlight.example";
const JO: &str = "jo@client.example";
const KEN: &str = "ken@tokyo.example";

/// Monday, 19 January 2026, eight in London.
pub(super) fn monday() -> i64 {
    1_768_809_600_000
}

/// A quarter of a minute later than anything could still be on its way.
pub(super) fn later() -> i64 {
    monday() + 60_000
}

fn person(zone: &str) -> Person {
    Person { zone: Some(Setup::zone(zone).unwrap()), ..Person::default() }
}

fn people(all: &[(&str, Person)]) -> HashMap<(String, String), Person> {
    all.iter().map(|(email, person)| (("acme".into(), (*email).into()), person.clone())).collect()
}

/// A desk with a calendar.
struct Desk {
    provider: Provider,
    auth: Option<Auth>,
}

impl Desk {
    fn new(setup: Setup) -> Self {
        Self::over(Arc::new(Appointments::default()), setup)
    }

    fn over(store: Arc<dyn Calendar>, setup: Setup) -> Self {
        let mut settings = Settings::default();
        settings.allow.push("127.0.0.0/8".parse().unwrap());
        let mut provider = Provider::new(store, Arc::new(Client::new(settings)), setup);
        provider.now_ms = monday;
        Self { provider, auth: None }
    }

    fn connected(mut self, password: &str, hosts: &[&str]) -> Self {
        let account = Account {
            tenant: "acme".to_owned(),
            id: "calendar".to_owned(),
            provider: "caldav".to_owned(),
            kind: AuthKind::Basic,
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            origin: Origin::Operator,
            revision: 1,
            made_ms: 0,
            changed_ms: 0,
        };
        let want = Want {
            tenant: "acme".to_owned(),
            connection: "calendar".to_owned(),
            provider: "caldav".to_owned(),
        };
        let known = Arc::new(Known { account, password: password.to_owned() });
        self.auth = Some(Auth::bind(known.clone(), known, want, Vec::new()));
        self
    }

    async fn ask(&self, method: &str, arguments: Value) -> Result<Value, ToolError> {
        let asking = Asking { tenant: "acme", auth: self.auth.as_ref() };
        self.provider.answer(asking, method, arguments).await
    }

    /// Starts that are offered, as the answer writes them.
    async fn starts(&self, asked: Value) -> Vec<String> {
        let answer = self.ask("freeSlots", asked).await.unwrap();
        let slots = answer["slots"].as_array().unwrap().clone();
        slots.iter().map(|slot| slot["start"].as_str().unwrap().to_owned()).collect()
    }

    /// A draft of half an hour with people.
    async fn draft(&self, people: &[&str], start: &str, end: &str) -> String {
        let asked = json!({
            "title": "Budget", "attendees": people, "start": start, "end": end,
            "timezone": "Europe/Bucharest", "conference": true,
        });
        let kept = self.ask("saveDraft", asked).await.unwrap();
        kept["draftId"].as_str().unwrap().to_owned()
    }

    async fn create(&self, draft: &str) -> Result<Value, ToolError> {
        self.ask("createEvent", json!({ "draftId": draft })).await
    }
}

/// One account that is always there.
struct Known {
    account: Account,
    password: String,
}

impl Broker for Known {
    fn lease<'a>(&'a self, _: &'a Want) -> Boxed<'a, Result<Lease, ToolError>> {
        use base64::Engine as _;
        let pair = format!("studio:{}", self.password);
        let value = base64::engine::general_purpose::STANDARD.encode(pair);
        let presented = Presented::Header {
            name: "authorization".to_owned(),
            value: SecretText::new(format!("Basic {value}")),
        };
        let lease = Lease { account: self.account.clone(), presented, secrets: Vec::new() };
        Box::pin(std::future::ready(Ok(lease)))
    }

    fn refused<'a>(&'a self, _: &'a Want, _: &'a Lease) -> Boxed<'a, bool> {
        Box::pin(std::future::ready(false))
    }
}

impl Hide for Known {
    fn hide(&self, _: &Owner, _: &str, _: &SecretText) -> Result<Hidden, String> {
        Ok(Hidden::default())
    }
}
