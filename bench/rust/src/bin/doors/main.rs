//! The servers of `bench/doors`: haft with one native tool, and what it is measured beside.
//!
//! ```text
//! doors haft PORT FIXTURE_FOLDER memory|sqlite TOOLS
//! doors mcp  PORT FIXTURE_FOLDER alone|sessions
//! doors echo PORT
//! ```

mod haft;
mod mcp;

use std::path::Path;

use axum::routing::post;
use axum::serve::ListenerExt as _;
use axum::{Json, Router};
use haft_bench::fixture::Fixture;
use serde_json::Value;
use tokio::net::TcpListener;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const USAGE: &str =
    "usage: doors haft PORT FIXTURE memory|sqlite TOOLS | mcp PORT FIXTURE alone|sessions | echo PORT";

#[tokio::main]
async fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let port = words.get(1).and_then(|port| port.parse::<u16>().ok()).expect(USAGE);
    let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    match words.as_slice() {
        ["haft", _, folder, store, tools] => {
            let fixture = Fixture::read(Path::new(folder));
            haft::serve(listener, &fixture, store, tools.parse().expect(USAGE)).await;
        }
        ["mcp", _, folder, how @ ("alone" | "sessions")] => {
            let fixture = Fixture::read(Path::new(folder));
            plain(listener, mcp::router(fixture, *how == "sessions")).await;
        }
        ["echo", _] => plain(listener, Router::new().route("/echo", post(echo))).await,
        _ => panic!("{USAGE}"),
    }
}

/// The least that a server of JSON does: reads a value and writes one.
async fn echo(Json(value): Json<Value>) -> Json<Value> {
    Json(value)
}

async fn plain(listener: TcpListener, app: Router) {
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    axum::serve(listener, app).await.unwrap();
}
