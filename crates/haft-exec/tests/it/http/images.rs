//! Images from an endpoint that may say anything.

use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use haft_core::ErrorKind;
use haft_core::error::ToolError;
use haft_core::port::{Auth, Binding, Provide as _};
use haft_exec::images::{Images, Settings};
use serde_json::{Value, json};

use super::rig::{Fixed, auth, bearer, bound, client};
use super::server::{Does, Server, json as says, response};
use crate::rig::{js, scope, tool_with};

fn png() -> Vec<u8> {
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x08\x08\x02\0\0\0".to_vec();
    png.extend(b"\0\0\0\0\0\0\0\0IEND\xaeB`\x82");
    png
}

fn packed(bytes: &[u8]) -> String {
    let text = base64::engine::general_purpose::STANDARD.encode(bytes);
    json!({ "data": [{ "b64_json": text }] }).to_string()
}

async fn draw(server: &Server, folder: &Path, auth: Option<&Auth>) -> Result<Value, ToolError> {
    let settings =
        Settings { url: server.url("/v1/"), folder: folder.to_owned(), ..Settings::default() };
    let tool = tool_with(js(""), &json!(["images"]));
    let scope = scope("call_1");
    let binding = Binding { tool: &tool, scope: &scope, auth };
    let asked = json!({"prompt": "a key", "size": "1024x1024", "count": 1, "quality": "high"});
    Images::new(client(), settings).provide_bound(binding, "generate", asked).await
}

#[tokio::test]
async fn an_image_is_kept_and_its_address_given() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::saying(says("200 OK", &packed(&png()))).await;
    let auth = auth(bearer("sk-123456"), &["127.0.0.1"]);
    let answer = draw(&server, folder.path(), Some(&auth)).await.unwrap();
    let image = &answer["images"][0];
    assert_eq!((&image["width"], &image["height"]), (&json!(16), &json!(8)));
    assert_eq!(image["mediaType"], json!("image/png"));
    let path = image["url"].as_str().unwrap().strip_prefix("file://").unwrap();
    assert_eq!(std::fs::read(path).unwrap(), png());
    let seen = server.seen();
    assert!(seen[0].starts_with("POST /v1/images/generations HTTP/1.1\r\n"), "{}", seen[0]);
    assert!(seen[0].contains("authorization: Bearer sk-123456\r\n"));
    let body: Value = serde_json::from_str(seen[0].split("\r\n\r\n").nth(1).unwrap()).unwrap();
    let expected = json!({"model": "gpt-image-1", "prompt": "a key", "n": 1, "size": "1024x1024", "quality": "high"});
    assert_eq!(body, expected);
}

#[tokio::test]
async fn an_endpoint_that_lies_is_found_out() {
    let folder = tempfile::tempdir().unwrap();
    let whole = packed(&png());
    let cut = whole.replace(whole.get(whole.len() - 7..).unwrap(), "\"}]}");
    let half = packed(png().get(..40).unwrap());
    let huge = Does::Repeats(
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec(),
        format!("40000\r\n{}\r\n", "x".repeat(0x40000)).into_bytes(),
    );
    for (does, kind, message, doubt) in [
        (
            response("200 OK", "content-type: text/html\r\n", "<html>hello</html>"),
            ErrorKind::Permanent,
            "is not what an image service says",
            true,
        ),
        (says("200 OK", &packed(b"<html>")), ErrorKind::Permanent, "is not an image", true),
        (says("200 OK", &half), ErrorKind::Permanent, "is not an image", true),
        (says("200 OK", &cut), ErrorKind::Permanent, "", true),
        (
            says("200 OK", r#"{"data": [{"b64_json": "!!"}]}"#),
            ErrorKind::Permanent,
            "is cut off or not base64",
            true,
        ),
        (
            says("200 OK", r#"{"data": [{"url": "http://x/y.png"}]}"#),
            ErrorKind::Permanent,
            "is not `https`",
            true,
        ),
        (
            says("200 OK", r#"{"data": [{}]}"#),
            ErrorKind::Permanent,
            "neither an image nor an address",
            true,
        ),
        (
            says("200 OK", r#"{"images": []}"#),
            ErrorKind::Permanent,
            "is not what an image service says",
            true,
        ),
        (
            says("401 No", r#"{"error": {"message": "bad key"}}"#),
            ErrorKind::Auth,
            "refused (401): bad key",
            false,
        ),
        (says("500 Oh", "{}"), ErrorKind::Transient, "refused (500)", true),
        (huge, ErrorKind::Transient, "broke off", true),
    ] {
        let server = Server::saying(does).await;
        let auth = auth(bearer("sk-123456"), &["127.0.0.1"]);
        let error = draw(&server, folder.path(), Some(&auth)).await.unwrap_err();
        assert!(error.message.contains(message), "{error:?}");
        assert_eq!((error.kind, error.partial_side_effects), (kind, doubt), "{error:?}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was kept");
}

#[tokio::test]
async fn without_a_connection_it_says_what_to_set_up() {
    let server = Server::saying(says("200 OK", "{}")).await;
    let error = draw(&server, Path::new("unused"), None).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Auth);
    assert!(error.suggestion.contains("haft connections add images --provider openai-images"));
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn another_endpoint_is_one_that_the_connection_lists() {
    let server = Server::saying(says("200 OK", r#"{"data": [{"url": "https://x/y.png"}]}"#)).await;
    let connected = |hosts: &[&str]| {
        let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        let asked = parking_lot::Mutex::default();
        bound(Arc::new(Fixed { presented: bearer("sk-123456"), hosts, asked }), &["api.openai.com"])
    };
    let folder = Path::new("unused");
    let error = draw(&server, folder, Some(&connected(&[]))).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Auth);
    assert!(server.seen().is_empty());
    draw(&server, folder, Some(&connected(&["127.0.0.1"]))).await.unwrap();
}
