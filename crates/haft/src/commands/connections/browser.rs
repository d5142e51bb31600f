//! A person's consent: the browser goes to the provider and comes back to this machine with a code.

use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, anyhow, bail};
use haft_core::connection::OAuth;
use haft_exec::broker::oauth;
use haft_exec::http::Client;
use haft_runtime::connections::check_authorize_url;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::mistaken;
use crate::assembly::said;
use crate::cli::AddConnection;
use crate::output::Output;

/// How long a person may take.
const PATIENCE: Duration = Duration::from_secs(5 * 60);
/// The longest request line that a browser comes back with.
const MOST: usize = 16 << 10;

pub(super) async fn consent(
    client: &Client,
    oauth: &OAuth,
    add: &AddConnection,
    out: &mut Output,
) -> anyhow::Result<OAuth> {
    let Some(authorize_url) = &add.authorize_url else {
        bail!("this kind needs `--authorize-url`");
    };
    check_authorize_url(authorize_url).map_err(|wrong| mistaken(&wrong))?;
    let listener = TcpListener::bind(("127.0.0.1", add.port))
        .await
        .with_context(|| format!("port {} cannot be listened on", add.port))?;
    let redirect = format!("http://127.0.0.1:{}/callback", listener.local_addr()?.port());
    let consent = oauth::consent(authorize_url, oauth, &redirect).map_err(said)?;
    out.line("agree in the browser; if it does not open, go to:");
    out.line(&consent.url);
    if !add.no_browser {
        open(&consent.url);
    }
    let came = tokio::time::timeout(PATIENCE, code(&listener, &consent.state)).await;
    let code = came.map_err(|_| anyhow!("nobody agreed within five minutes"))??;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let now = i64::try_from(now).unwrap_or(i64::MAX);
    let mut agreed = oauth::redeem(client, oauth, &consent, &code, now).await.map_err(said)?;
    agreed.authorize_url = Some(authorize_url.clone());
    if agreed.refresh.is_none() {
        out.note("the provider gave no refresh token: the connection ends with its token");
    }
    Ok(agreed)
}

fn open(url: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let quiet = || Stdio::null();
    // The address was printed; whoever has no browser here uses another.
    let _ = Command::new(program).arg(url).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
}

/// Waits for the browser that brings our own `state`; anyone else is sent away.
async fn code(listener: &TcpListener, state: &str) -> anyhow::Result<String> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        let asked = tokio::time::timeout(Duration::from_secs(10), line(&mut stream)).await;
        let Ok(Ok(target)) = asked else { continue };
        let Some((path, query)) = target.split_once('?') else {
            answer(&mut stream, "404 Not Found", "nothing is here").await;
            continue;
        };
        let fields = fields(query);
        let field = |name: &str| fields.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
        if path != "/callback" || field("state") != Some(state) {
            answer(&mut stream, "400 Bad Request", "this is not the answer that was waited for")
                .await;
            continue;
        }
        return match (field("code"), field("error")) {
            (Some(code), None) if !code.is_empty() => {
                answer(&mut stream, "200 OK", "haft is connected; you can close this page").await;
                Ok(code.to_owned())
            }
            (_, error) => {
                answer(&mut stream, "200 OK", "haft was not connected; you can close this page")
                    .await;
                let why: String =
                    error.unwrap_or("no code").chars().filter(|c| !c.is_control()).collect();
                Err(anyhow!("the provider did not agree: {why}"))
            }
        };
    }
}

async fn line(stream: &mut TcpStream) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 1024];
    while !bytes.windows(4).any(|end| end == b"\r\n\r\n") && bytes.len() < MOST {
        match stream.read(&mut buffer).await? {
            0 => break,
            n => bytes.extend_from_slice(buffer.get(..n).unwrap_or_default()),
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut words = text.lines().next().unwrap_or_default().split(' ');
    match (words.next(), words.next()) {
        (Some("GET"), Some(target)) => Ok(target.to_owned()),
        (_, _) => bail!("not a request of a browser"),
    }
}

fn fields(query: &str) -> Vec<(String, String)> {
    let decode = |text: &str| {
        let mut bytes = text.bytes();
        let mut out = Vec::new();
        while let Some(byte) = bytes.next() {
            match byte {
                b'+' => out.push(b' '),
                b'%' => {
                    let pair: Vec<u8> = bytes.by_ref().take(2).collect();
                    let value = std::str::from_utf8(&pair).ok();
                    out.push(
                        value.and_then(|hex| u8::from_str_radix(hex, 16).ok()).unwrap_or(b'?'),
                    );
                }
                other => out.push(other),
            }
        }
        String::from_utf8_lossy(&out).into_owned()
    };
    query
        .split('&')
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (decode(name), decode(value)))
        .collect()
}

async fn answer(stream: &mut TcpStream, status: &str, text: &str) {
    let page = format!("<!doctype html><meta charset=utf-8><title>haft</title><p>{text}</p>");
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\nreferrer-policy: no-referrer\r\nconnection: close\r\n\r\n",
        page.len()
    );
    let _ = stream.write_all(format!("{head}{page}").as_bytes()).await;
    let _ = stream.shutdown().await;
}
