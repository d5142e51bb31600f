//! A radicale of the test's own.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A server with the calendars `mara`, `jo` and `all` of the account `studio`.
pub(super) struct Radicale {
    child: Child,
    pub(super) port: u16,
    _folder: TempDir,
}

impl Drop for Radicale {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) const PASSWORD: &str = "open sesame";

impl Radicale {
    /// The server, where radicale is installed. In CI it must be.
    pub(super) fn start() -> Option<Self> {
        let there = Command::new("radicale").arg("--version").stdout(Stdio::null()).status();
        if there.is_err() {
            assert!(
                std::env::var("CI").as_deref() != Ok("true"),
                "CI has no radicale: `scripts/need radicale`"
            );
            eprintln!("skipped: there is no radicale here; `scripts/need radicale` installs it");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        std::fs::write(at("users"), format!("studio:{PASSWORD}\n")).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = Command::new("radicale")
            .args(["--config", "", "--server-hosts", &format!("127.0.0.1:{port}")])
            .args(["--auth-type", "htpasswd", "--auth-htpasswd-encryption", "plain"])
            .args(["--auth-htpasswd-filename", &at("users"), "--auth-delay", "0"])
            .args(["--storage-filesystem-folder", &at("calendars")])
            .args(["--logging-level", "error"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { child, port, _folder: folder };
        let end = Instant::now() + Duration::from_secs(30);
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < end, "radicale does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
        for name in ["mara", "jo", "all"] {
            assert_eq!(server.raw("MKCALENDAR", &format!("{name}/"), "").0, 201);
        }
        Some(server)
    }

    pub(super) fn url(&self, name: &str) -> String {
        format!("http://127.0.0.1:{}/studio/{name}/", self.port)
    }

    /// Puts an event into a calendar, as its owner would.
    pub(super) fn put(&self, calendar: &str, name: &str, event: &str) {
        self.put_as(calendar, name, name, event);
    }

    /// The same, with an id that is not the file's name.
    pub(super) fn put_as(&self, calendar: &str, name: &str, uid: &str, event: &str) {
        let text = format!(
            "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:test\nBEGIN:VEVENT\nUID:{uid}\nDTSTAMP:20260101T000000Z\n{event}\nEND:VEVENT\nEND:VCALENDAR\n"
        );
        let status =
            self.raw("PUT", &format!("{calendar}/{name}.ics"), &text.replace('\n', "\r\n")).0;
        assert!(status == 201 || status == 204, "{name}: {status}");
    }

    /// The events of a calendar, each as its text.
    pub(super) fn events(&self, calendar: &str) -> Vec<String> {
        let (status, all) = self.raw("GET", &format!("{calendar}/"), "");
        assert_eq!(status, 200, "{all}");
        let parts = all.split("BEGIN:VEVENT").skip(1);
        parts.map(|part| part.split("END:VEVENT").next().unwrap().to_owned()).collect()
    }

    /// One request past haft.
    pub(super) fn raw(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        use std::io::{Read as _, Write as _};

        use base64::Engine as _;
        let pair = format!("studio:{PASSWORD}");
        let pair = base64::engine::general_purpose::STANDARD.encode(pair);
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(
            stream,
            "{method} /studio/{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Basic {pair}\r\n\
             Content-Type: text/calendar\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
        let body =
            answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
        (status, body)
    }
}
