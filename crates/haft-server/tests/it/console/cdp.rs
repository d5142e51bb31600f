//! A browser: Chromium without a window, spoken to over its DevTools protocol.

use std::collections::VecDeque;
use std::process::Stdio;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// Longer than anything here takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(60);

/// One tab of one browser.
pub(crate) struct Tab {
    _child: Child,
    _profile: TempDir,
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    session: String,
    number: u64,
    events: VecDeque<Value>,
    /// What the browser had to complain about: scripts that failed, policies that were broken.
    pub(crate) complaints: Vec<String>,
}

/// The browser, where there is one. In CI there must be.
pub(crate) async fn open() -> Option<Tab> {
    let Some(program) =
        ["chromium", "chromium-browser", "google-chrome"].iter().find(|name| is_there(name))
    else {
        assert!(
            std::env::var("CI").as_deref() != Ok("true"),
            "CI has no chromium: `scripts/need chromium`"
        );
        eprintln!("skipped: there is no chromium here; `scripts/need chromium` installs it");
        return None;
    };
    let profile = tempfile::tempdir().unwrap();
    let mut child = Command::new(program)
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
        ])
        .args(["--disable-extensions", "--disable-background-networking", "--hide-scrollbars"])
        .args(["--remote-debugging-port=0", "about:blank"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let address = timeout(PATIENCE, async {
        while let Some(line) = lines.next_line().await.unwrap() {
            if let Some(address) = line.strip_prefix("DevTools listening on ") {
                return address.to_owned();
            }
        }
        panic!("the browser did not start");
    });
    let address = address.await.unwrap();
    // Whatever else it says is nobody's business, but must be read.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    let (socket, _) = connect_async(address).await.unwrap();
    let mut tab = Tab {
        _child: child,
        _profile: profile,
        socket,
        session: String::new(),
        number: 0,
        events: VecDeque::new(),
        complaints: Vec::new(),
    };
    let made = tab.send("Target.createTarget", json!({"url": "about:blank"})).await;
    let target = json!({"targetId": made["targetId"], "flatten": true});
    let attached = tab.send("Target.attachToTarget", target).await;
    tab.session = attached["sessionId"].as_str().unwrap().to_owned();
    for domain in ["Page", "Runtime", "Log", "Network"] {
        tab.send(&format!("{domain}.enable"), json!({})).await;
    }
    Some(tab)
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

impl Tab {
    /// One command, and its answer.
    pub(crate) async fn send(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        let number = self.number;
        let mut message = json!({"id": number, "method": method, "params": params});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.socket.send(Message::text(message.to_string())).await.unwrap();
        loop {
            let answer = self.next().await;
            if answer["id"] == json!(number) {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.events.push_back(answer);
        }
    }

    async fn next(&mut self) -> Value {
        loop {
            let message =
                timeout(PATIENCE, self.socket.next()).await.expect("the browser is silent");
            let Message::Text(text) = message.unwrap().unwrap() else { continue };
            let message: Value = serde_json::from_str(&text).unwrap();
            self.listen(&message);
            return message;
        }
    }

    fn listen(&mut self, message: &Value) {
        let params = &message["params"];
        match message["method"].as_str() {
            Some("Log.entryAdded") if params["entry"]["level"] == "error" => {
                self.complaints.push(params["entry"]["text"].to_string());
            }
            Some("Runtime.exceptionThrown") => {
                self.complaints.push(params["exceptionDetails"].to_string());
            }
            Some("Page.javascriptDialogOpening") => {
                self.complaints.push(format!("dialog: {params}"))
            }
            Some(_) | None => {}
        }
    }

    async fn wait_for(&mut self, method: &str) {
        loop {
            match self.events.pop_front() {
                Some(event) if event["method"] == method => return,
                Some(_) => {}
                None => {
                    let event = self.next().await;
                    self.events.push_back(event);
                }
            }
        }
    }

    /// Goes to an address and waits until it is there.
    pub(crate) async fn go(&mut self, url: &str) {
        self.events.clear();
        self.send("Page.navigate", json!({"url": url})).await;
        self.wait_for("Page.loadEventFired").await;
    }

    /// What a script gives.
    pub(crate) async fn eval(&mut self, script: &str) -> Value {
        let params = json!({"expression": script, "returnByValue": true, "awaitPromise": true});
        let answer = self.send("Runtime.evaluate", params).await;
        assert!(answer.get("exceptionDetails").is_none(), "{script}: {answer}");
        answer["result"]["value"].clone()
    }

    pub(crate) async fn text(&mut self) -> String {
        self.eval("document.body.innerText").await.as_str().unwrap().to_owned()
    }

    /// Until a script says true.
    pub(crate) async fn until(&mut self, script: &str) {
        for _ in 0..300 {
            if self.eval(script).await == json!(true) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let text = self.text().await;
        panic!("never: {script}\n{text}");
    }

    /// Presses the mouse on an element, wherever it is. Returns where that was.
    pub(crate) async fn click(&mut self, selector: &str) -> Value {
        self.until(&format!("(() => {{ const e = document.querySelector({selector:?}); return !!e && !e.disabled; }})()")).await;
        let script = format!(
            "(() => {{ const e = document.querySelector({selector:?}); e.scrollIntoView({{block: 'center'}}); \
             const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; }})()"
        );
        let at = self.eval(&script).await;
        self.press_at(&at).await;
        at
    }

    /// Presses the mouse at a place, whatever is there.
    pub(crate) async fn press_at(&mut self, at: &Value) {
        for kind in ["mousePressed", "mouseReleased"] {
            let params =
                json!({"type": kind, "x": at[0], "y": at[1], "button": "left", "clickCount": 1});
            self.send("Input.dispatchMouseEvent", params).await;
        }
    }

    /// Presses it on an element, where another page follows.
    pub(crate) async fn click_through(&mut self, selector: &str) -> Value {
        self.events.clear();
        let at = self.click(selector).await;
        self.wait_for("Page.loadEventFired").await;
        at
    }

    /// Writes into an element.
    pub(crate) async fn fill(&mut self, selector: &str, text: &str) {
        self.click(selector).await;
        self.send("Input.insertText", json!({"text": text})).await;
    }

    pub(crate) async fn write(&mut self, text: &str) {
        self.send("Input.insertText", json!({"text": text})).await;
    }

    /// Presses a key.
    pub(crate) async fn press(&mut self, key: &str) {
        let (code, text) = match key {
            "Enter" => (13, "\r"),
            "Tab" => (9, ""),
            " " => (32, " "),
            _ => (0, ""),
        };
        for kind in ["keyDown", "keyUp"] {
            let mut params =
                json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code});
            if kind == "keyDown" && !text.is_empty() {
                params["text"] = json!(text);
            }
            self.send("Input.dispatchKeyEvent", params).await;
        }
    }

    pub(crate) async fn press_through(&mut self, key: &str) {
        self.events.clear();
        self.press(key).await;
        self.wait_for("Page.loadEventFired").await;
    }

    /// How wide the window is, and whether it is dark.
    pub(crate) async fn shape(&mut self, width: u32, dark: bool) {
        let metrics =
            json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600});
        self.send("Emulation.setDeviceMetricsOverride", metrics).await;
        let scheme = if dark { "dark" } else { "light" };
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.send("Emulation.setEmulatedMedia", media).await;
    }

    /// Keeps a picture of the whole page, where somebody wants to look.
    pub(crate) async fn picture(&mut self, name: &str) {
        let Some(folder) = std::env::var_os("HAFT_PICTURES") else { return };
        let params = json!({"format": "png", "captureBeyondViewport": true});
        let answer = self.send("Page.captureScreenshot", params).await;
        let bytes = STANDARD.decode(answer["data"].as_str().unwrap()).unwrap();
        let folder = std::path::PathBuf::from(folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{name}.png")), bytes).unwrap();
    }

    /// Whether the page is wider than its window, and by which element.
    pub(crate) async fn overflow(&mut self) -> Value {
        let script = "(() => { const room = document.documentElement.clientWidth; \
            if (document.documentElement.scrollWidth <= room) return null; \
            return [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > room + 1 \
              && !e.closest('.table, pre')).slice(0, 5).map((e) => e.tagName + '.' + e.className + ' ' + e.textContent.slice(0, 40)); })()";
        self.eval(script).await
    }
}
