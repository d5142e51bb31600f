//! A server that has no file descriptors left says so, and goes on when it has some again.
//!
//! It is this test binary, run again as a child with a low limit.

use std::process::Stdio;
use std::time::Duration;

use haft_server::Limits;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::Command;

use crate::client::{Served, send};

const CHILD: &str = "HAFT_SERVER_WITH_FEW_DESCRIPTORS";
const DESCRIPTORS: usize = 60;

/// Does nothing unless it is the child. Says its port, and serves until its input ends.
#[tokio::test]
async fn the_child_serves() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    tracing_subscriber::fmt().json().with_writer(std::io::stderr).init();
    // Whoever says nothing keeps its descriptor.
    let limits = Limits { head: Duration::from_secs(600), ..Limits::default() };
    let served = Served::with(limits).await;
    println!("port {}", served.port());
    let mut all = Vec::new();
    let _ = tokio::io::stdin().read_to_end(&mut all).await;
}

/// Asks on a connection that stays open, and gives the status and what it said.
async fn ask(stream: &mut TcpStream, path: &str) -> (u16, String) {
    let text = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut said = Vec::new();
    let length = loop {
        said.push(stream.read_u8().await.unwrap());
        if said.ends_with(b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&said).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            break length.unwrap().parse().unwrap();
        }
    };
    let status = String::from_utf8_lossy(&said).split(' ').nth(1).unwrap().parse().unwrap();
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    (status, String::from_utf8(body).unwrap())
}

#[tokio::test]
async fn without_descriptors_it_says_so_and_recovers() {
    let limit = format!("ulimit -n {DESCRIPTORS}; exec \"$0\" \"$@\"");
    let mut child = Command::new("sh")
        .args(["-c", &limit])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "descriptors::the_child_serves", "--nocapture"])
        .env(CHILD, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let port: u16 = loop {
        let line = lines.next_line().await.unwrap().expect("the child ended");
        if let Some((_, port)) = line.split_once("port ") {
            break port.parse().unwrap();
        }
    };
    let connect = || TcpStream::connect(("127.0.0.1", port));
    let mut early = connect().await.unwrap();
    assert_eq!(ask(&mut early, "/readyz").await.0, 200);
    let mut idle = Vec::new();
    for _ in 0..2 * DESCRIPTORS {
        idle.push(connect().await.unwrap());
    }
    // Whoever is in is served, and told that nobody else gets in.
    let mut tries = 0;
    let said = loop {
        match ask(&mut early, "/readyz").await {
            (503, said) => break said,
            (status, _) => assert_eq!(status, 200),
        }
        tries += 1;
        assert!(tries < 1_000, "it still says that it is ready");
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    assert!(said.contains("no connections"), "{said}");
    assert_eq!(ask(&mut early, "/healthz").await.0, 200);
    drop(idle);
    let again = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let mut tries = 0;
    while send(port, again).await.status != 200 {
        tries += 1;
        assert!(tries < 1_000, "it does not recover");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // By now it is surely over.
    assert_eq!(send(port, again).await.status, 200);
    drop(child.stdin.take());
    let mut log = String::new();
    child.stderr.take().unwrap().read_to_string(&mut log).await.unwrap();
    assert!(child.wait().await.unwrap().success(), "{log}");
    let count = |event: &str| log.matches(&format!("\"event\":\"{event}\"")).count();
    let told = (count("connections_not_accepted"), count("connections_accepted_again"));
    assert_eq!(told, (1, 1), "said when it begins and when it is over, not all the time: {log}");
}
