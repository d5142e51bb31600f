//! What holds a secret cannot be printed or written, and what goes wrong with one in hand does not tell it.

use haft_core::ErrorKind;
use haft_core::connection::{Access, Credentials, Lease, OAuth};
use haft_core::registry::SigningKey;
use haft_core::secret::SecretText;
use haft_runtime::redact::Secret;
use haft_runtime::token::TokenKey;
use haft_store::vault::{Key, Keyring};

use super::SECRET;
use super::world::World;
use crate::http::server::{Does, Server, json as says, response};

/// Does not compile for a type that has one of these: then it is not clear which of two is meant.
macro_rules! tells_nothing {
    ($($secret:ty),*) => {
        $({
            trait Silent<Which> {
                fn here() {}
            }
            struct Debugs;
            struct Displays;
            struct Serializes;
            impl<T> Silent<()> for T {}
            impl<T: std::fmt::Debug> Silent<Debugs> for T {}
            impl<T: std::fmt::Display> Silent<Displays> for T {}
            impl<T: serde::Serialize> Silent<Serializes> for T {}
            <$secret as Silent<_>>::here();
        })*
    };
}

#[test]
fn no_type_that_holds_a_secret_can_be_printed_or_written() {
    tells_nothing!(
        SecretText,
        Credentials,
        OAuth,
        Access,
        Lease,
        SigningKey,
        Secret,
        TokenKey,
        Key,
        Keyring
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_in_an_address_is_in_no_error() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let unreached = format!("http://{}/x", nobody.local_addr().unwrap());
    drop(nobody);
    let moved = |to: &str| response("302 Found", &format!("location: {to}\r\n"), "");
    let away = format!("http://10.0.0.1/?key={SECRET}");
    let answers = [
        Does::Closes,
        Does::Says(b"HTTP/1.1 nonsense\r\n\r\n".to_vec()),
        Does::Says(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{".to_vec()),
        says("200 OK", "no json"),
        moved(&away),
        moved("http://[::1"),
    ];
    let mut servers = Vec::new();
    for answer in answers {
        servers.push(Server::saying(answer).await);
    }
    let urls = servers.iter().map(|server| server.url("/x")).chain([unreached]);
    for url in urls {
        let world = World::new(&url).await;
        let key = SecretText::new(SECRET);
        world.add("acme", "work", Credentials::Query { name: "key".to_owned(), key }).await;
        let error = world.call("work", "k").await.result.unwrap_err();
        assert_ne!(error.kind, ErrorKind::Denied, "{error:?}");
        let told = format!("{error:?} {:?} {}", error.source, world.events());
        assert!(!told.contains("canary") && !told.contains("5e1f0b7a9c3d"), "{url}: {told}");
    }
    let asked: Vec<String> = servers.iter().flat_map(Server::seen).collect();
    assert!(asked.len() >= 6 && asked.iter().all(|one| one.contains("?key=canary")), "{asked:?}");
}
