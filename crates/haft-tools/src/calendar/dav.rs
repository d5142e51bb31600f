//! CalDAV: the requests that are needed, and what their answers mean.

use std::time::Duration;

use haft_core::calendar::Span;
use haft_core::contract::may_have_acted;
use haft_core::port::Auth;
use haft_core::{ErrorKind, ToolError};
use haft_exec::http::{Client, Question, Reply, Unanswered};
use jiff::Timestamp;

/// One request takes no longer.
const PATIENCE: Duration = Duration::from_secs(6);
/// A year of a busy person's events is smaller.
const MOST: u64 = 16 << 20;
/// An answer with more parts is a trick.
const MOST_NODES: u32 = 2_000_000;

const EVENTS: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<C:calendar-query xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><D:prop><C:calendar-data/></D:prop><C:filter><C:comp-filter name="VCALENDAR"><C:comp-filter name="VEVENT"><C:time-range start="{start}" end="{end}"/></C:comp-filter></C:comp-filter></C:filter></C:calendar-query>"#;
const BUSY: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<C:free-busy-query xmlns:C="urn:ietf:params:xml:ns:caldav"><C:time-range start="{start}" end="{end}"/></C:free-busy-query>"#;

/// A calendar server, as one call may use it.
#[derive(Clone, Copy)]
pub(super) struct Dav<'a> {
    pub(super) client: &'a Client,
    pub(super) auth: &'a Auth,
}

/// What came of writing a new object.
pub(super) enum Put {
    /// It stands there.
    Made,
    /// Something stood there before.
    There,
    /// The server said no. Nothing was written.
    Refused(ToolError),
    /// Nothing was sent.
    Unsent(ToolError),
    /// Whether it was written is not known.
    Lost(ToolError),
}

/// What came of deleting an object.
pub(super) enum Deleted {
    /// It is gone, now or before.
    Gone,
    /// It is another one than was looked at.
    Changed,
    /// The server said no, or was not asked.
    Refused(ToolError),
    /// Whether it was deleted is not known.
    Lost(ToolError),
}

/// An object as it stands.
pub(super) struct Object {
    pub(super) etag: Option<String>,
    pub(super) text: String,
}

impl Dav<'_> {
    /// The objects of a calendar with events between two moments; where the server does not show
    /// them, one that says when its owner is busy.
    pub(super) async fn events(self, url: &str, within: Span) -> Result<Vec<String>, ToolError> {
        let reply = self.report(url, EVENTS, within).await?;
        match reply.status {
            207 => objects(&reply.body),
            403 => {
                let reply = self.report(url, BUSY, within).await?;
                match reply.status {
                    200 => Ok(vec![text(&reply.body)]),
                    status => Err(unreadable(status)),
                }
            }
            status => Err(unreadable(status)),
        }
    }

    async fn report(self, url: &str, body: &str, within: Span) -> Result<Reply, ToolError> {
        let body = body
            .replace("{start}", &basic(within.start_ms))
            .replace("{end}", &basic(within.end_ms));
        let headers = [("content-type", "application/xml; charset=utf-8"), ("depth", "1")];
        self.ask("REPORT", url, &headers, &body).await.map_err(unheard)
    }

    /// An object, where there is one.
    pub(super) async fn get(self, url: &str) -> Result<Option<Object>, ToolError> {
        let reply = self.ask("GET", url, &[], "").await.map_err(unheard)?;
        match reply.status {
            200 => Ok(Some(Object { etag: reply.etag, text: text(&reply.body) })),
            404 | 410 => Ok(None),
            status => Err(unreadable(status)),
        }
    }

    /// Writes a new object. The name is the draft's, so writing twice makes one event.
    pub(super) async fn put(self, url: &str, body: &str) -> Put {
        let headers = [("content-type", "text/calendar; charset=utf-8"), ("if-none-match", "*")];
        match self.ask("PUT", url, &headers, body).await {
            Ok(Reply { status: 200 | 201 | 204, .. }) => Put::Made,
            Ok(Reply { status: 412, .. }) => Put::There,
            Ok(Reply { status, .. }) if may_have_acted(status) => {
                Put::Lost(transient("the calendar failed").caused_by(format!("status {status}")))
            }
            Ok(Reply { status, .. }) => Put::Refused(unwritable(status)),
            Err(Unanswered::Refused(error)) => Put::Unsent(error),
            Err(Unanswered::Unsent(why)) => Put::Unsent(unreached(why)),
            Err(Unanswered::Lost(why)) => {
                Put::Lost(transient("the calendar broke off").caused_by(why))
            }
        }
    }

    /// Deletes an object that stands as it was looked at.
    pub(super) async fn delete(self, url: &str, etag: Option<&str>) -> Deleted {
        let header = etag.map(|etag| ("if-match", etag));
        match self.ask("DELETE", url, header.as_slice(), "").await {
            Ok(Reply { status: 200..=299 | 404 | 410, .. }) => Deleted::Gone,
            Ok(Reply { status: 409 | 412, .. }) => Deleted::Changed,
            Ok(Reply { status, .. }) if may_have_acted(status) => Deleted::Lost(
                transient("the calendar failed").caused_by(format!("status {status}")),
            ),
            Ok(Reply { status, .. }) => Deleted::Refused(unwritable(status)),
            Err(Unanswered::Refused(error)) => Deleted::Refused(error),
            Err(Unanswered::Unsent(why)) => Deleted::Refused(unreached(why)),
            Err(Unanswered::Lost(why)) => {
                Deleted::Lost(transient("the calendar broke off").caused_by(why))
            }
        }
    }

    async fn ask(
        self,
        method: &str,
        url: &str,
        headers: &[(&'static str, &str)],
        body: &str,
    ) -> Result<Reply, Unanswered> {
        let question = Question { method, url, headers, body, patience: PATIENCE, most: MOST };
        self.client.ask(self.auth, question).await
    }
}

/// The texts of a multistatus answer.
fn objects(body: &[u8]) -> Result<Vec<String>, ToolError> {
    let nonsense = |why: String| {
        ToolError::new(ErrorKind::Permanent, "the calendar's answer cannot be read").caused_by(why)
    };
    let body = std::str::from_utf8(body).map_err(|why| nonsense(why.to_string()))?;
    let options = roxmltree::ParsingOptions {
        nodes_limit: MOST_NODES,
        ..roxmltree::ParsingOptions::default()
    };
    let tree = roxmltree::Document::parse_with_options(body, options)
        .map_err(|why| nonsense(why.to_string()))?;
    let data = tree.descendants().filter(|node| node.tag_name().name() == "calendar-data");
    Ok(data.filter_map(|node| node.text()).map(str::to_owned).collect())
}

fn text(body: &[u8]) -> String {
    String::from_utf8_lossy(body).into_owned()
}

/// `20260120T100000Z`.
fn basic(ms: i64) -> String {
    let at = Timestamp::from_millisecond(ms).unwrap_or_default();
    at.strftime("%Y%m%dT%H%M%SZ").to_string()
}

fn transient(message: &str) -> ToolError {
    ToolError::new(ErrorKind::Transient, message)
}

fn unreached(why: String) -> ToolError {
    transient("the calendar cannot be reached").caused_by(why)
}

fn unheard(why: Unanswered) -> ToolError {
    match why {
        Unanswered::Refused(error) => error,
        Unanswered::Unsent(why) => unreached(why),
        Unanswered::Lost(why) => transient("the calendar did not answer").caused_by(why),
    }
}

fn unreadable(status: u16) -> ToolError {
    let error = match status {
        401 => ToolError::new(ErrorKind::Auth, "the calendar refused the connection's credentials")
            .suggest("an administrator renews them with `haft connections rotate`"),
        403 => ToolError::new(ErrorKind::Auth, "the calendar may not be read with this connection")
            .suggest("its owner shares it with the connection's account"),
        404 | 410 => ToolError::new(ErrorKind::Permanent, "there is no calendar at its address")
            .suggest("an administrator corrects its address in `[calendar]` of haft.toml"),
        408 | 429 | 500..=599 => transient("the calendar failed"),
        _ => ToolError::new(ErrorKind::Permanent, "the calendar did not understand the question")
            .suggest("an administrator checks that its address in haft.toml is a CalDAV calendar"),
    };
    error.caused_by(format!("status {status}"))
}

fn unwritable(status: u16) -> ToolError {
    let error = match status {
        401 => unreadable(status),
        403 => {
            ToolError::new(ErrorKind::Auth, "the calendar may not be written with this connection")
                .suggest("its owner lets the connection's account write")
        }
        404 | 409 | 410 => unreadable(404),
        429 => transient("the calendar takes no more for now"),
        _ => ToolError::new(ErrorKind::Permanent, "the calendar did not take the event"),
    };
    error.caused_by(format!("status {status}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_objects_of_an_answer_are_found_whatever_its_prefixes_are() {
        let check = |body: &str, expected: Result<&[&str], ()>| {
            let found = objects(body.as_bytes()).map_err(drop);
            let expected = expected.map(|all| all.iter().map(|one| (*one).to_owned()).collect());
            assert_eq!(found, expected, "{body}");
        };
        check(
            r#"<a:multistatus xmlns:a="DAV:" xmlns:cal="urn:ietf:params:xml:ns:caldav"><a:response><a:propstat><a:prop><cal:calendar-data>BEGIN &amp; END</cal:calendar-data></a:prop></a:propstat></a:response></a:multistatus>"#,
            Ok(&["BEGIN & END"]),
        );
        check(r#"<multistatus xmlns="DAV:"/>"#, Ok(&[]));
        check("not xml", Err(()));
        // Entities of one's own are how small answers become large ones.
        check(
            r#"<!DOCTYPE a [<!ENTITY x "xxxxxxxx">]><multistatus xmlns="DAV:">&x;</multistatus>"#,
            Err(()),
        );
    }

    #[test]
    fn moments_are_written_as_servers_read_them() {
        assert_eq!(basic(1_768_903_200_000), "20260120T100000Z");
    }
}
