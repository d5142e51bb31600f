//! Traces, as a collector gets them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_runtime::redact::{Scrubber, Secret};
use haft_server::traces::{Collector, Traces};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_tungstenite::tungstenite::handshake::client::Request;

use crate::client::Served;
use crate::mcp;
use crate::socket::Line;

/// Answers every post, and keeps what it was sent.
pub(crate) async fn collector() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let got = Arc::new(Mutex::new(Vec::new()));
    let kept = got.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let kept = kept.clone();
            tokio::spawn(async move {
                let (mut all, mut part) = (Vec::new(), [0; 4096]);
                loop {
                    let text = String::from_utf8_lossy(&all).into_owned();
                    let length = text.lines().find_map(|line| {
                        let (name, value) = line.split_once(": ")?;
                        name.eq_ignore_ascii_case("content-length")
                            .then(|| value.parse::<usize>().unwrap())
                    });
                    if let (Some(length), Some((_, body))) = (length, text.split_once("\r\n\r\n"))
                        && body.len() >= length
                    {
                        kept.lock().unwrap().push(text);
                        break;
                    }
                    match stream.read(&mut part).await {
                        Ok(size) if size > 0 => all.extend_from_slice(&part[..size]),
                        _ => return,
                    }
                }
                let _ = stream
                    .write_all(
                        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
                    )
                    .await;
            });
        }
    });
    (endpoint, got)
}

pub(crate) fn traces(endpoint: &str, sample: f64) -> Arc<Traces> {
    let headers = vec![("x-team".to_owned(), "secret-7".to_owned())];
    let (endpoint, service) = (endpoint.to_owned(), "shop".to_owned());
    Arc::new(Traces::start(Collector { endpoint, headers, sample, service }).unwrap())
}

pub(crate) fn spans(got: &Mutex<Vec<String>>) -> Vec<Value> {
    let all = got.lock().unwrap();
    let bodies = all.iter().map(|text| text.split_once("\r\n\r\n").unwrap().1);
    bodies
        .flat_map(|body| {
            let body: Value = serde_json::from_str(body).unwrap();
            body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()
        })
        .collect()
}

fn attribute(span: &Value, name: &str) -> Value {
    let all = span["attributes"].as_array().unwrap();
    all.iter().find(|one| one["key"] == name).map(|one| one["value"].clone()).unwrap_or_default()
}

pub(crate) const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

async fn call(served: &Served, tool: &str, parent: &str) -> u16 {
    let body = json!({"tool": tool, "arguments": {"text": "nobody's business"}, "id": "toolu_1"});
    let headers: &[_] = if parent.is_empty() { &[] } else { &[("traceparent", parent)] };
    let path = "/v1/agents/helper/calls";
    served.send(&served.agent, "POST", path, headers, Some(body)).await.status
}

#[tokio::test]
async fn a_call_is_a_span_with_its_stages_in_the_callers_trace() {
    let (endpoint, got) = collector().await;
    let traces = traces(&endpoint, 0.0);
    let served = Served::watched(traces.clone()).await;
    assert_eq!(call(&served, "echo", PARENT).await, 200);
    traces.flush(Duration::from_secs(10)).await;
    let spans = spans(&got);
    let (first, stages) = spans.split_first().unwrap();
    assert_eq!(first["name"], "execute_tool shop__echo");
    assert_eq!(first["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(first["parentSpanId"], "00f067aa0ba902b7");
    for (name, value) in [
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "shop__echo"),
        ("gen_ai.tool.call.id", "toolu_1"),
        ("gen_ai.agent.id", "helper"),
        ("haft.tenant.id", "ours"),
        ("haft.status", "success"),
    ] {
        assert_eq!(attribute(first, name)["stringValue"], value, "{name}");
    }
    let names: Vec<_> = stages.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "resolve",
            "gate",
            "arguments",
            "authorize",
            "confirm",
            "claim",
            "execute",
            "check",
            "redact",
            "settle",
            "publish"
        ]
    );
    let time = |span: &Value, name: &str| span[name].as_str().unwrap().parse::<u64>().unwrap();
    let mut before = time(first, "startTimeUnixNano");
    for stage in stages {
        assert_eq!(stage["parentSpanId"], first["spanId"]);
        assert!(time(stage, "startTimeUnixNano") >= before, "{stage}");
        before = time(stage, "endTimeUnixNano");
    }
    assert!(before <= time(first, "endTimeUnixNano"));
    let raw = got.lock().unwrap().join("");
    assert!(raw.starts_with("POST /v1/traces ") && raw.contains("x-team: secret-7"), "{raw}");
    assert!(!raw.contains("business"), "arguments are not in it");
    assert_eq!(traces.lost(), 0);
}

#[tokio::test]
async fn calls_over_a_socket_are_in_the_trace_that_it_was_opened_in() {
    let (endpoint, got) = collector().await;
    let traces = traces(&endpoint, 0.0);
    let served = Served::watched(traces.clone()).await;
    let traced = |request: &mut Request| {
        request.headers_mut().insert("traceparent", PARENT.parse().unwrap());
    };
    let mut line = Line::try_open(&served, &served.agent, "", traced).await.unwrap();
    let call = json!({"tool": "echo", "arguments": {"text": "a"}});
    line.ask(json!({"type": "call", "id": "1", "call": call})).await;
    traces.flush(Duration::from_secs(10)).await;
    let spans = spans(&got);
    assert_eq!(spans[0]["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(spans[0]["parentSpanId"], "00f067aa0ba902b7");
}

#[tokio::test]
async fn who_begins_a_trace_decides_whether_it_is_kept() {
    let (endpoint, got) = collector().await;
    let traces = traces(&endpoint, 1.0);
    let served = Served::watched(traces.clone()).await;
    assert_eq!(call(&served, "echo", &PARENT.replace("-01", "-00")).await, 200);
    assert_eq!(call(&served, "made_up", "").await, 404);
    assert_eq!(call(&served, "echo", "00-nonsense").await, 200);
    traces.flush(Duration::from_secs(10)).await;
    let spans = spans(&got);
    let calls: Vec<_> = spans
        .iter()
        .filter(|one| one["name"].as_str().unwrap().starts_with("execute_tool"))
        .collect();
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert_eq!(calls[0]["name"], "execute_tool unknown");
    assert_eq!(attribute(calls[0], "error.type")["stringValue"], "unavailable");
    assert_eq!(calls[0]["status"]["code"], 2);
    assert_ne!(calls[0]["traceId"], calls[1]["traceId"]);
    assert_eq!(calls[1]["parentSpanId"], "");
}

#[tokio::test]
async fn a_collector_that_is_gone_costs_spans_and_no_call() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let traces = traces(&endpoint, 1.0);
    let served = Served::watched(traces.clone()).await;
    assert_eq!(call(&served, "echo", "").await, 200);
    traces.flush(Duration::from_secs(10)).await;
    assert_eq!(traces.lost(), 1);
}

#[tokio::test]
async fn a_collector_that_makes_no_sense_is_refused() {
    let start = |endpoint: &str, sample| {
        let (endpoint, headers, service) = (endpoint.to_owned(), Vec::new(), "x".to_owned());
        Traces::start(Collector { endpoint, headers, sample, service }).err().unwrap_or_default()
    };
    assert!(start("collector:4318", 1.0).contains("must begin with"));
    assert!(start("nothing", 1.0).contains("`otlp.endpoint`"));
    assert!(start("http://127.0.0.1:4318", 2.0).contains("between 0 and 1"));
}

#[tokio::test]
async fn an_mcp_client_says_its_trace_in_the_message_or_in_the_header() {
    let (endpoint, got) = collector().await;
    let traces = traces(&endpoint, 0.0);
    let served = Served::watched(traces.clone()).await;
    let other = PARENT.replace("4736", "4737");
    let called = async |meta: &str, head: &str| {
        got.lock().unwrap().clear();
        let mut said = crate::mcp::meta(json!({}));
        if !meta.is_empty() {
            said["traceparent"] = json!(meta);
        }
        let params = json!({"name": "echo", "arguments": {"text": "a"}, "_meta": said});
        let more: &[_] = if head.is_empty() { &[] } else { &[("traceparent", head)] };
        let done = crate::mcp::asked(&served, &served.agent, "tools/call", params, more).await;
        assert_eq!(done.json()["result"]["isError"], false, "{done:?}");
        traces.flush(Duration::from_secs(10)).await;
        spans(&got).first().map(|span| span["traceId"].as_str().unwrap().to_owned())
    };
    let (one, two) = ("4bf92f3577b34da6a3ce929d0e0e4736", "4bf92f3577b34da6a3ce929d0e0e4737");
    assert_eq!(called(PARENT, "").await.as_deref(), Some(one));
    assert_eq!(called("", PARENT).await.as_deref(), Some(one));
    assert_eq!(called(&other, PARENT).await.as_deref(), Some(two), "the message's own counts");
    assert_eq!(called("nonsense", "").await, None);
    assert_eq!(called("", "").await, None);
}

/// What a client puts where programs look for the trace that they belong to, and into names and ids, is
/// theirs to say; a secret of ours among it is not passed on.
#[tokio::test]
async fn a_secret_is_in_no_span_and_no_label_wherever_a_client_puts_it() {
    const SECRET: &str = "canary-5e1f0b7a9c3d-token";
    let (endpoint, got) = collector().await;
    let traces = traces(&endpoint, 1.0);
    let served = Served::watched(traces.clone()).await;
    let own = Secret::new("model-key", SECRET).unwrap();
    served.door.runtime.guard(&Scrubber::new(&[own]).unwrap()).unwrap();
    let within = format!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-{SECRET}");
    let baggage = format!("user={SECRET}");
    for parent in [SECRET, &within, PARENT] {
        let headers =
            [("traceparent", parent), ("tracestate", baggage.as_str()), ("baggage", &baggage)];
        for (tool, id) in [("echo", "toolu_1"), ("echo", SECRET), (SECRET, SECRET)] {
            let body = json!({"tool": tool, "arguments": {"text": SECRET}, "id": id});
            served
                .send(&served.agent, "POST", "/v1/agents/helper/calls", &headers, Some(body))
                .await;
        }
        let mut meta = mcp::meta(json!({}));
        for (name, value) in headers {
            meta[name] = json!(value);
        }
        let with = json!({ "_meta": meta });
        mcp::call(&served, "echo", json!({"text": SECRET}), with).await;
    }
    traces.flush(Duration::from_secs(10)).await;
    let calls = spans(&got);
    let calls = calls.iter().filter(|one| one["name"] == "execute_tool shop__echo").count();
    assert_eq!(calls, 9, "they are told");
    let raw = got.lock().unwrap().join("");
    assert!(!raw.contains("canary"), "{raw}");
    let figures = served.get(&served.operator, "/metrics").await.body;
    assert!(
        figures.contains("tool_name=\"shop__echo\"") && !figures.contains("canary"),
        "{figures}"
    );
}
