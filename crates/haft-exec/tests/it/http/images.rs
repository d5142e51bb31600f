//! Images from an endpoint that may say anything.

use std::os::unix::fs::PermissionsExt as _;
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
    let mut png =
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x08\x08\x02\0\0\0\x7f\x14\xe8\xc0".to_vec();
    png.extend(b"\0\0\0\0IEND\xaeB`\x82");
    png
}

fn packed(bytes: &[u8]) -> String {
    let text = base64::engine::general_purpose::STANDARD.encode(bytes);
    json!({ "data": [{ "b64_json": text }] }).to_string()
}

async fn draw(server: &Server, folder: &Path, auth: Option<&Auth>) -> Result<Value, ToolError> {
    let settings =
        Settings { url: server.url("/v1/"), folder: folder.to_owned(), ..Settings::default() };
    let asked = json!({"prompt": "a key", "size": "1024x1024", "count": 1, "quality": "high"});
    ask(settings, auth, "generate", asked).await
}

async fn ask(
    settings: Settings,
    auth: Option<&Auth>,
    method: &str,
    asked: Value,
) -> Result<Value, ToolError> {
    let tool = tool_with(js(""), &json!(["images"]));
    let scope = scope("call_1");
    let binding = Binding { tool: &tool, scope: &scope, auth, until: None };
    Images::new(client(), settings).provide_bound(binding, method, asked).await
}

#[tokio::test]
async fn an_image_is_kept_and_found_by_its_id() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::saying(says("200 OK", &packed(&png()))).await;
    let auth = auth(bearer("sk-123456"), &["127.0.0.1"]);
    let answer = draw(&server, folder.path(), Some(&auth)).await.unwrap();
    let image = &answer["images"][0];
    assert_eq!((&image["width"], &image["height"]), (&json!(16), &json!(8)));
    assert_eq!(image["mediaType"], json!("image/png"));
    // No path of this machine, and nobody else reads the file.
    let id = image["id"].as_str().unwrap();
    assert_eq!(image.get("url"), None);
    assert!(!answer.to_string().contains(folder.path().to_str().unwrap()), "{answer}");
    let path = folder.path().join(format!("{id}.png"));
    assert_eq!(std::fs::read(&path).unwrap(), png());
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let note = format!("`{id}` is 16x8, not 1024x1024 as it was asked for");
    assert_eq!(answer["notes"], json!([note]));
    let settings = Settings { folder: folder.path().to_owned(), ..Settings::default() };
    let found = ask(settings.clone(), None, "find", json!({"id": id})).await.unwrap();
    assert_eq!(found, json!({"id": id, "mediaType": "image/png"}));
    let served = Settings { public_url: Some("https://cdn.example/".into()), ..settings.clone() };
    let found = ask(served, None, "find", json!({"id": id})).await.unwrap();
    assert_eq!(found["url"], json!(format!("https://cdn.example/{id}.png")));
    for wrong in ["img_000000000000000000000000", "../../etc/passwd", "img_", ""] {
        let error = ask(settings.clone(), None, "find", json!({"id": wrong})).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::NotFound, "{wrong}");
    }
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
            says("200 OK", r#"{"data": [{"url": "https://me:pw@x.example/y.png"}]}"#),
            ErrorKind::Permanent,
            "with a password",
            true,
        ),
        (
            says("200 OK", r#"{"data": [{"url": "https://[::1]/y.png"}]}"#),
            ErrorKind::Permanent,
            "without a public host's name",
            true,
        ),
        (
            says("200 OK", r#"{"data": [{"url": "https://0x7f.1/y.png"}]}"#),
            ErrorKind::Permanent,
            "without a public host's name",
            true,
        ),
        (
            says("200 OK", r#"{"data": [{"url": "https://localhost/y.png"}]}"#),
            ErrorKind::Permanent,
            "without a public host's name",
            true,
        ),
        (
            says("200 OK", r#"{"data": [{"url": "https://Printer.local./y.png"}]}"#),
            ErrorKind::Permanent,
            "without a public host's name",
            true,
        ),
        (
            says("200 OK", r#"{"error": {"message": "not with this prompt"}}"#),
            ErrorKind::Permanent,
            "holds no image: not with this prompt",
            true,
        ),
        (says("200 OK", r#"{"data": []}"#), ErrorKind::Permanent, "holds no image", true),
        (
            response("302 There", "location: http://127.0.0.1/x.png\r\n", ""),
            ErrorKind::Permanent,
            "refused (302)",
            true,
        ),
        (says("307 There", "{}"), ErrorKind::Permanent, "refused (307)", false),
        (says("600 What", "{}"), ErrorKind::Permanent, "refused (600)", true),
        (says("408 Slow", "{}"), ErrorKind::Timeout, "refused (408)", true),
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
        (huge, ErrorKind::InvalidOutput, "is done, and its answer is longer", true),
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
async fn no_more_images_are_taken_than_were_asked_for() {
    let one = json!({"url": "https://x.example/y.png"});
    let server = Server::saying(says("200 OK", &json!({"data": vec![one; 9]}).to_string())).await;
    let auth = auth(bearer("sk-123456"), &["127.0.0.1"]);
    let answer = draw(&server, Path::new("unused"), Some(&auth)).await.unwrap();
    assert_eq!(answer["images"].as_array().unwrap().len(), 1);
    assert_eq!(answer["notes"], json!(["the service sent 9 images; 1 of them asked for"]));
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
    let server =
        Server::saying(says("200 OK", r#"{"data": [{"url": "https://x.example/y.png"}]}"#)).await;
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
