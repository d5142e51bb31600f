//! Traces over OTLP: one span per call and one per stage, in the words of OpenTelemetry's
//! conventions for generative AI.
//!
//! Spans are sent as OTLP's JSON over HTTP, in batches, by a task of its own. A collector that is
//! slow or gone costs spans, which are counted, and never a call.

mod span;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use haft_core::port::{Finished, Observe};
use haft_core::trace::Trace;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

/// How many calls wait to be sent.
const WAITING: usize = 4_096;
/// How many calls are sent at once.
const BATCH: usize = 256;
/// How long a call waits for others to be sent with.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a collector may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where traces go.
#[derive(Clone, Debug, PartialEq)]
pub struct Collector {
    /// Its address, without `/v1/traces`.
    pub endpoint: String,
    /// Headers that it wants; their values are secrets.
    pub headers: Vec<(String, String)>,
    /// The part of calls that begin a trace of their own: 0 is none, 1 is all. Calls of a trace
    /// that somebody else began follow that.
    pub sample: f64,
    /// What this server is called.
    pub service: String,
}

impl Collector {
    /// Everything that makes no sense, before anything is sent: the address, the part of calls, headers.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        self.read().err().unwrap_or_default()
    }

    fn read(&self) -> Result<(reqwest::Url, reqwest::header::HeaderMap), Vec<String>> {
        let mut wrong = Vec::new();
        let url = self.url().map_err(|why| wrong.push(why)).ok();
        if !(0.0..=1.0).contains(&self.sample) {
            wrong.push("`otlp.sample` is between 0 and 1".to_owned());
        }
        let mut headers = reqwest::header::HeaderMap::new();
        for (name, value) in &self.headers {
            match header(name, value) {
                Ok((name, value)) => drop(headers.insert(name, value)),
                Err(why) => wrong.push(why),
            }
        }
        url.filter(|_| wrong.is_empty()).map(|url| (url, headers)).ok_or(wrong)
    }

    fn url(&self) -> Result<reqwest::Url, String> {
        let url = format!("{}/v1/traces", self.endpoint.trim_end_matches('/'));
        let url = reqwest::Url::parse(&url).map_err(|why| format!("`otlp.endpoint`: {why}"))?;
        match url.scheme() {
            "http" | "https" => Ok(url),
            _ => Err("`otlp.endpoint` must begin with `http://` or `https://`".to_owned()),
        }
    }
}

fn header(
    name: &str,
    value: &str,
) -> Result<(reqwest::header::HeaderName, reqwest::header::HeaderValue), String> {
    let read = name.parse().map_err(|_| format!("`otlp.headers`: `{name}` is no header"))?;
    let value = value.parse();
    Ok((read, value.map_err(|_| format!("`otlp.headers`: the value of `{name}`"))?))
}

enum Sent {
    Call(Vec<Value>),
    /// Everything that came before is sent, then this is answered.
    Flush(oneshot::Sender<()>),
}

/// Sends calls as spans.
pub struct Traces {
    queue: mpsc::Sender<Sent>,
    sample: f64,
    lost: Arc<AtomicU64>,
}

impl Traces {
    /// Begins to send. Must be called on a runtime.
    ///
    /// # Errors
    ///
    /// The address or a header makes no sense.
    pub fn start(collector: Collector) -> Result<Self, String> {
        let (url, headers) = collector.read().map_err(|wrong| wrong.join("; "))?;
        let client = reqwest::Client::builder()
            .default_headers(headers)
            .redirect(reqwest::redirect::Policy::none())
            .timeout(PATIENCE)
            .no_proxy()
            .build()
            .map_err(|why| why.to_string())?;
        let (queue, calls) = mpsc::channel(WAITING);
        let lost = Arc::new(AtomicU64::new(0));
        let resource = span::resource(&collector.service);
        let sending = Sending { client, url, resource, lost: lost.clone() };
        tokio::spawn(sending.work(calls));
        Ok(Self { queue, sample: collector.sample, lost })
    }

    /// How many calls could not be sent.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Waits until what has ended so far is sent, at most so long.
    pub async fn flush(&self, at_most: Duration) {
        let (answer, done) = oneshot::channel();
        let flushed = async {
            if self.queue.send(Sent::Flush(answer)).await.is_ok() {
                let _ = done.await;
            }
        };
        // A full queue is waited for, too.
        let _ = tokio::time::timeout(at_most, flushed).await;
    }
}

impl Observe for Traces {
    fn wants_stages(&self, trace: Option<&Trace>) -> bool {
        match trace {
            Some(trace) => trace.sampled,
            None => self.sample > 0.0 && (self.sample >= 1.0 || span::fraction() < self.sample),
        }
    }

    fn finished(&self, finished: &Finished<'_>) {
        // Whether it is sent was decided when it began.
        if finished.stages.is_empty() {
            return;
        }
        let sent = span::of(finished).map(|spans| self.queue.try_send(Sent::Call(spans)));
        if !matches!(sent, Some(Ok(()))) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

struct Sending {
    client: reqwest::Client,
    url: reqwest::Url,
    resource: Value,
    lost: Arc<AtomicU64>,
}

impl Sending {
    async fn work(self, mut calls: mpsc::Receiver<Sent>) {
        let mut batch = Vec::new();
        let mut ends = Vec::new();
        while let Some(first) = calls.recv().await {
            let until = tokio::time::Instant::now() + PAUSE;
            take(first, &mut batch, &mut ends);
            while batch.len() < BATCH && ends.is_empty() {
                match tokio::time::timeout_at(until, calls.recv()).await {
                    Ok(Some(next)) => take(next, &mut batch, &mut ends),
                    Ok(None) | Err(_) => break,
                }
            }
            self.send(std::mem::take(&mut batch)).await;
            for end in ends.drain(..) {
                // Whoever asked may have gone.
                let _ = end.send(());
            }
        }
    }

    async fn send(&self, batch: Vec<Vec<Value>>) {
        if batch.is_empty() {
            return;
        }
        let calls = batch.len() as u64;
        let spans: Vec<Value> = batch.into_iter().flatten().collect();
        let scope = json!({ "name": "haft", "version": env!("CARGO_PKG_VERSION") });
        let body = json!({ "resourceSpans": [{
            "resource": self.resource,
            "scopeSpans": [{ "scope": scope, "spans": spans }],
        }] });
        let request = self.client.post(self.url.clone());
        let request = request.header("content-type", "application/json").body(body.to_string());
        let why = match request.send().await {
            Ok(answer) if answer.status().is_success() => return,
            Ok(answer) => format!("the collector answered {}", answer.status()),
            Err(why) => why.to_string(),
        };
        self.lost.fetch_add(calls, Ordering::Relaxed);
        tracing::warn!(event = "traces_not_sent", calls, why);
    }
}

fn take(sent: Sent, batch: &mut Vec<Vec<Value>>, ends: &mut Vec<oneshot::Sender<()>>) {
    match sent {
        Sent::Call(spans) => batch.push(spans),
        Sent::Flush(end) => ends.push(end),
    }
}
