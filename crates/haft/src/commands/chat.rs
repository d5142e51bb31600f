//! `haft chat`

mod terminal;

use std::io::{IsTerminal as _, Read as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use haft_agent::http::{Endpoint, Http, Provider};
use haft_agent::{Agent, Cancel, Done, Reason};
use haft_core::port::{Journal as _, Owner};
use haft_core::secret::SecretText;
use haft_runtime::session::Signal;

use super::call::mode_of;
use crate::assembly::{Desk, block_on, plain, said};
use crate::cli::Chat;
use crate::config::Model;
use crate::links::ChosenBy;
use crate::named;
use crate::output::{Exit, Given as _, Output, misuse};
use crate::source::Place;
use terminal::{Lines, Person, Screen};

/// An effect that has begun is given this long at the end.
const DRAIN: Duration = Duration::from_secs(25);

/// The longest message that standard input may hold.
const MOST: u64 = 1 << 20;

pub(crate) fn run(at: &Place, options: &Chat, out: &mut Output) -> anyhow::Result<Exit> {
    if let Some(provider) = &options.provider {
        provider.parse::<Provider>().given("--provider")?;
    }
    for (option, value) in
        [("--model", &options.model), ("--url", &options.url), ("--key-env", &options.key_env)]
    {
        if value.as_ref().is_some_and(|value| value.trim().is_empty()) {
            return Err(misuse(format!("{option}: it is empty; give a value, or leave it out")));
        }
    }
    let (config, agent) = (at.config()?, options.who.agent.as_str());
    let tenant = options.who.tenant.clone().unwrap_or_else(|| config.tenant_of(agent));
    let model = asked_for(options).or(&config.model(&tenant, agent));
    // What is missing is said before anything is compiled or opened.
    let mut endpoint = model.endpoint(|name| std::env::var(name).ok())?;
    let fits = endpoint.check(model.connection.is_some());
    match &options.url {
        Some(_) => fits.given("--url")?,
        None => fits.context("`url` of the model in haft.toml")?,
    }
    let message = message(options)?;
    block_on(async {
        let desk = Desk::open(at, options.registry.as_deref(), out)?;
        desk.tend(out).await?;
        let who = &options.who;
        let caller = desk.caller(&who.agent, who.tenant.as_deref(), who.actor.as_deref())?;
        desk.known(&caller)?;
        if let (None, Some(id)) = (&model.key_env, &model.connection) {
            let (payer, host) = (desk.config.pays(&caller.tenant, &who.agent), endpoint.host());
            let key = desk.links.model_key(&payer, id, &host, ChosenBy::Operator).await?;
            endpoint.key = Some(key.expose().to_owned());
        }
        if let Some(key) = &endpoint.key {
            // What a tool or a provider might repeat of it is never shown.
            let owner = Owner::Model(model.key_env.clone().unwrap_or_default());
            let hidden = desk.runtime.hide(&owner, "model-key", &SecretText::new(key.as_str()));
            hidden.map_err(anyhow::Error::msg).context("the key of the model")?.for_good();
        }
        let help = asked_at(&model, &endpoint);
        let http = Http::new(endpoint)?;
        let mut settings = model.settings();
        settings.mode = mode_of(options.mode);
        let mut talk = Talk::new(&desk, options, message, help, out);
        let agent = Agent::new(desk.runtime.clone(), Arc::new(http), settings)
            .connected(model.connections())
            .approved_by(talk.person()?);
        let mut chat = agent.chat(caller.clone()).await.map_err(said)?;
        let exit = talk.run(&mut chat, &caller).await?;
        desk.runtime.drain(DRAIN).await;
        desk.store.flush().await.context("the calls' records could not be written")?;
        Ok(exit)
    })
}

/// Where the model is asked and with which key, for whoever has to find out why it does not answer.
fn asked_at(model: &Model, endpoint: &Endpoint) -> String {
    let url = endpoint.url.as_deref().unwrap_or(endpoint.provider.default_url());
    let key = match (&endpoint.key, &model.key_env, &model.connection) {
        (None, _, _) => "without a key".to_owned(),
        (Some(_), Some(name), _) => format!("with the key in `{name}`"),
        (Some(_), None, Some(id)) => format!("with the key of the connection `{id}`"),
        (Some(_), None, None) => {
            format!("with the key in `{}`", endpoint.provider.default_key_env())
        }
    };
    format!(
        "the model `{}` is asked at `{url}` {key}; `--url`, `--model` and `--key-env`, or [model] in \
         haft.toml, name others",
        endpoint.model
    )
}

/// What the command line says about the model.
fn asked_for(options: &Chat) -> Model {
    Model {
        provider: options.provider.clone(),
        url: options.url.clone(),
        name: options.model.clone(),
        key_env: options.key_env.clone(),
        max_rounds: options.max_rounds,
        max_calls: options.max_calls,
        max_tokens: options.max_tokens,
        max_seconds: options.max_seconds,
        ..Model::default()
    }
}

/// A conversation, on a terminal or not.
struct Talk<'a> {
    desk: &'a Desk,
    options: &'a Chat,
    out: &'a mut Output,
    /// Standard input, where a person types.
    lines: Option<Lines>,
    message: Option<String>,
    /// What to look at when the model does not answer.
    help: String,
}

impl<'a> Talk<'a> {
    fn new(
        desk: &'a Desk,
        options: &'a Chat,
        message: Option<String>,
        help: String,
        out: &'a mut Output,
    ) -> Self {
        let lines = std::io::stdin().is_terminal().then(Lines::read);
        Self { desk, options, out, lines, message, help }
    }

    /// Who answers questions: whoever sits at the terminal, else nobody now.
    fn person(&self) -> anyhow::Result<Arc<Person>> {
        let who = named::principal(&self.options.approver, "--approver")?;
        let lines = self.lines.clone().filter(|_| std::io::stderr().is_terminal());
        Ok(Arc::new(Person::new(who, lines)))
    }

    async fn run(
        &mut self,
        chat: &mut haft_agent::Chat,
        caller: &haft_core::Caller,
    ) -> anyhow::Result<Exit> {
        if let Some(message) = self.message.take() {
            let done = self.say(chat, &message).await;
            return Ok(self.ended(&done));
        }
        let Some(lines) = self.lines.clone() else { bail!("there is nothing to say") };
        self.out.note(&format!(
            "session {}; an empty line or Ctrl-D ends it, Ctrl-C calls an answer off",
            chat.session()
        ));
        while let Some(text) = self.next(&lines).await {
            let done = self.say(chat, &text).await;
            self.ended(&done);
            // Printed is spoken.
            let spoken = Signal::FarewellSpoken;
            let after =
                self.desk.runtime.signal(caller, chat.session(), spoken).await.map_err(said)?;
            if after.session.phase != haft_core::session::Phase::Active {
                self.out.note("the session has ended");
                break;
            }
        }
        Ok(Exit::Done)
    }

    /// The next thing that the person says; none when they leave.
    async fn next(&mut self, lines: &Lines) -> Option<String> {
        terminal::prompt();
        let asked = Instant::now();
        let line = tokio::select! {
            line = lines.next(asked) => line,
            _ = tokio::signal::ctrl_c() => None,
        };
        let (typed, text) = line.filter(|(_, text)| !text.trim().is_empty())?;
        if typed < asked {
            terminal::repeat(&text);
        }
        Some(text)
    }

    async fn say(&mut self, chat: &mut haft_agent::Chat, text: &str) -> Done {
        let cancel = Cancel::new();
        let mut screen = Screen::new(self.out, self.options.json, self.options.reasoning);
        let keys = tokio::spawn(terminal::interrupts(cancel.clone()));
        let done = chat.say(text, &mut |event| screen.show(&event), &cancel).await;
        keys.abort();
        screen.finish();
        done
    }

    /// Says why it ended, where that is not plain.
    fn ended(&self, done: &Done) -> Exit {
        let (why, exit) = match &done.reason {
            Reason::Finished => return Exit::Done,
            Reason::Length => {
                ("the answer was cut off: the model ran out of room".into(), Exit::Findings)
            }
            Reason::Refused => ("the model would not answer".into(), Exit::Findings),
            Reason::Filtered => ("the provider withheld the answer".into(), Exit::Findings),
            // Nobody offers tools of their own here.
            Reason::HandedBack { .. } | Reason::Cancelled => ("called off".into(), Exit::Findings),
            Reason::Limit { limit, most } => {
                let limit = serde_json::to_value(limit).unwrap_or_default();
                let word = limit.as_str().unwrap_or_default();
                let key = if word == "time" { "seconds" } else { word };
                (
                    format!(
                        "stopped: the limit of {most} {key} for one message is reached; raise it with `--max-{key}`"
                    ),
                    Exit::Findings,
                )
            }
            Reason::ModelFailed { message, .. } => (plain(message), Exit::Failed),
            Reason::SessionRefused { kind, message } => {
                (format!("[{kind}] {}", plain(message)), Exit::Findings)
            }
        };
        self.out.error(&why);
        if let Reason::ModelFailed { .. } = &done.reason {
            self.out.note(&format!("  help: {}", plain(&self.help)));
        }
        exit
    }
}

/// What is said first; nothing where a person sits at a terminal and has not said it yet.
fn message(options: &Chat) -> anyhow::Result<Option<String>> {
    let text = match &options.message {
        Some(message) => message.clone(),
        None if std::io::stdin().is_terminal() => return Ok(None),
        None => piped()?,
    };
    if text.trim().is_empty() {
        return Err(misuse(
            "there is nothing to say: give a message, or write one to standard input",
        ));
    }
    Ok(Some(text))
}

fn piped() -> anyhow::Result<String> {
    let mut text = Vec::new();
    let size = std::io::stdin().take(MOST + 1).read_to_end(&mut text);
    if size.context("standard input cannot be read")? as u64 > MOST {
        return Err(misuse(format!("the message has more than {MOST} bytes; give a shorter one")));
    }
    String::from_utf8(text).map_err(|_| {
        misuse(
            "standard input is not text in UTF-8; give the message as text, not as a file's bytes",
        )
    })
}
