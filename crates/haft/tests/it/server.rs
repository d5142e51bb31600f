//! `haft serve`, started and stopped.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::project::Project;

pub(crate) struct Server<'a> {
    project: &'a Project,
    child: Child,
    address: String,
}

impl<'a> Server<'a> {
    pub(crate) fn start(project: &'a Project) -> Self {
        Self::logging(project, Stdio::null())
    }

    /// With its log written there.
    pub(crate) fn logging(project: &'a Project, log: Stdio) -> Self {
        let mut command = project.command();
        command.args(["serve", "--listen", "127.0.0.1:0"]).stderr(log);
        Self::started(project, command).expect("it does not start")
    }

    /// A server that a command starts; none where it has ended instead.
    pub(crate) fn started(project: &'a Project, mut command: Command) -> Option<Self> {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let Some((_, address)) = line.trim().rsplit_once("http://") else {
            child.wait().unwrap();
            return None;
        };
        Some(Self { project, address: address.to_owned(), child })
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Ends it without a word.
    pub(crate) fn kill(mut self) {
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }

    /// The code that it ends with, once it has.
    pub(crate) fn ended(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> std::io::Result<(u16, Value)> {
        let key = self.project.read(".haft/admin.key");
        self.send_as(&key, method, path, body)
    }

    pub(crate) fn send_as(
        &self,
        key: &str,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> std::io::Result<(u16, Value)> {
        let mut stream = TcpStream::connect(&self.address)?;
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
             Connection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            key.trim(),
            body.len()
        )?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply)?;
        let status = reply.get(9..12).and_then(|code| code.parse().ok()).unwrap_or(0);
        let body = reply.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
        Ok((status, serde_json::from_str(body).unwrap_or_else(|_| json!(body))))
    }

    fn begin(&self) -> Value {
        let (status, session) =
            self.send("POST", "/v1/agents/default/sessions", Some(json!({}))).unwrap();
        assert!((200..300).contains(&status), "{session}");
        session
    }

    /// The registry that a call in a session was made with.
    fn call(&self, session: &Value) -> Value {
        let body = json!({"tool": "greet", "arguments": {"text": "a"}, "session": session["id"]});
        let (status, envelope) = self.send("POST", "/v1/agents/default/calls", Some(body)).unwrap();
        assert_eq!(status, 200, "{envelope}");
        envelope["meta"]["registryVersion"].clone()
    }

    pub(crate) fn tell(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.rsplit(':').next().unwrap().parse().unwrap()
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn stop(mut self) {
        self.tell("-TERM");
        self.tell("-TERM");
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn open_sessions_go_on_after_a_restart_with_other_tools() {
    let project = Project::new();
    let first = Server::start(&project);
    let old = first.begin();
    let version = first.call(&old);
    first.stop();
    project.change_tools();
    let second = Server::start(&project);
    assert_eq!(second.call(&old), version);
    let new = second.begin();
    assert_ne!(second.call(&new), version);
    assert_eq!(new["registryVersion"], second.call(&new));
    second.stop();
}

/// C11: what was revoked while the process was stopped opens nothing when it goes on.
#[test]
fn a_server_that_was_stopped_looks_first_whose_key_it_is() {
    let project = Project::new();
    let server = Server::start(&project);
    let wanted = json!({"principal": "agent:default", "roles": ["agent"]});
    let (status, made) = server.send("POST", "/v1/admin/keys", Some(wanted)).unwrap();
    assert_eq!(status, 201, "{made}");
    let (key, id) = (made["key"].as_str().unwrap(), made["entry"]["id"].as_str().unwrap());
    let ask = || server.send_as(key, "GET", "/v1/agents/default/tools", None).unwrap().0;
    assert_eq!(ask(), 200);
    server.tell("-STOP");
    let said = project.run(&["keys", "revoke", id]);
    assert_eq!(said.code, 0, "{said:?}");
    let asked: Vec<u16> = std::thread::scope(|scope| {
        let asking: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        // So long that whoever waits for the server knows that it was stopped.
        std::thread::sleep(std::time::Duration::from_secs(2));
        server.tell("-CONT");
        asking.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(asked, [401; 8]);
    server.stop();
}

#[test]
fn a_server_that_is_told_to_stop_is_not_ready_before_it_is_gone() {
    let project = Project::new();
    let toml = project.read("haft.toml");
    project.write("haft.toml", &format!("{toml}leave_s = 60\n"));
    let mut server = Server::start(&project);
    assert_eq!(server.send("GET", "/readyz", None).unwrap().0, 200);
    server.tell("-TERM");
    while server.send("GET", "/readyz", None).unwrap().0 == 200 {
        std::thread::yield_now();
    }
    assert_eq!(server.send("GET", "/readyz", None).unwrap().0, 503);
    assert_eq!(server.send("GET", "/healthz", None).unwrap().0, 200);
    server.tell("-TERM");
    assert!(server.child.wait().unwrap().success());
    assert!(server.send("GET", "/readyz", None).is_err());
}

#[test]
fn the_common_model_is_for_the_first_tenant_and_those_that_it_is_shared_with() {
    let project = Project::new();
    let toml = project.read("haft.toml");
    let tenants = "[[tenants]]\nid = \"acme\"\n\n[[tenants]]\nid = \"globex\"\n\n[[agents]]\nid = \"helper\"\n\
                   tenant = \"acme\"\n\n[[agents]]\nid = \"helper\"\ntenant = \"globex\"\n";
    let (key, sha256) = haft_server::who::mint("guest", &[7; 32]);
    let keys = format!(
        "\n[[keys]]\nid = \"guest\"\nsha256 = \"{sha256}\"\ntenant = \"globex\"\n\
         principal = \"user:gus\"\nroles = [\"operator\"]\n"
    );
    let model = "\n[model]\nprovider = \"openai\"\nname = \"m\"\nurl = \"http://127.0.0.1:1\"\n";
    for (more, theirs) in [
        ("", 0),
        ("tenants = [\"globex\"]\n", 1),
        ("tenants = [\"*\"]\n", 1),
        ("\n[models.\"globex/helper\"]\nname = \"other\"\n", 1),
        ("\n[models.\"acme/helper\"]\nname = \"other\"\n", 0),
    ] {
        project.write("haft.toml", &format!("{toml}\n{tenants}{keys}{model}{more}"));
        let server = Server::start(&project);
        let (_, ours) = server.send("GET", "/v1/models", None).unwrap();
        assert_eq!(ours["data"].as_array().unwrap().len(), 1, "{more}: {ours}");
        let found = server.send_as(&key, "GET", "/v1/models", None).unwrap().1;
        assert_eq!(found["data"].as_array().unwrap().len(), theirs, "{more}: {found}");
        server.stop();
    }
    project.write(
        "haft.toml",
        &format!("{toml}\n{tenants}{model}\n[models.helper]\nname = \"other\"\n"),
    );
    let said = project.run(&["check"]);
    assert!(said.code == 2 && said.out.contains("`acme` and `globex` have an agent"), "{said:?}");
}
