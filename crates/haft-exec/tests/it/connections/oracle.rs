//! Whoever can have a text repeated learns nothing of secrets that are not theirs.

use haft_core::connection::Credentials;
use haft_core::port::{CallFilter, Invoke as _, Journal as _};
use haft_core::secret::SecretText;
use haft_core::{Call, Caller};
use haft_runtime::redact::{Scrubber, Secret};
use serde_json::json;

use super::world::World;
use super::{SECRET, echo};
use crate::http::server::{Server, json as says};

const PIN: &str = "483920";
const NAME: &str = "canary-5e1f0b7a9c3d-token";

/// Two tenants; `acme` has used a connection with this secret.
async fn world(secret: &str) -> (World, String, Server) {
    let server = Server::new(|_, request| says("200 OK", &echo(request))).await;
    let world = World::of(&server.url("/x"), &["acme".to_owned(), "beta".to_owned()]).await;
    let credentials =
        Credentials::Header { name: "x-key".to_owned(), key: SecretText::new(secret) };
    world.add("acme", "work", credentials).await;
    let said = world.call("work", "k").await;
    assert!(said.is_ok(), "{said:?}");
    (world, format!("{said:?}"), server)
}

/// What an agent is told about a tool that is not there: its own words come back.
async fn repeated(world: &World, tenant: &str, words: &str) -> String {
    let call = Call::new(Caller::agent(tenant, "bot"), words, json!({}));
    let said = world.runtime.invoke(call).await;
    format!("{:?} {}", said.result, said.meta.tool)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_learns_nothing_of_the_secrets_of_another() {
    let (world, _, _server) = world(NAME).await;
    let said = repeated(&world, "beta", NAME).await;
    assert!(said.contains(NAME) && !said.contains("[secret"), "{said}");
    let said = repeated(&world, "acme", NAME).await;
    assert!(said.contains("`[secret]`") && !said.contains("canary"), "{said}");
    assert!(!said.contains("work"), "the id is for those who may use it: {said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_be_guessed_is_looked_for_in_the_call_that_used_it() {
    let (world, said, _server) = world(PIN).await;
    assert!(said.contains("[secret]") && !said.contains(PIN), "{said}");
    for tenant in ["acme", "beta"] {
        let guesses: Vec<String> = (483_900..483_940).map(|n| n.to_string()).collect();
        let said = repeated(&world, tenant, &guesses.join("_")[..120]).await;
        assert!(said.contains("_483915_") && !said.contains("[secret"), "{said}");
        let said = repeated(&world, tenant, PIN).await;
        assert!(said.contains(PIN) && !said.contains("[secret"), "{tenant}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_tenants_with_the_same_secret_are_both_covered() {
    let (world, _, _server) = world(SECRET).await;
    world.add("beta", "work", Credentials::Bearer(SecretText::new(SECRET))).await;
    let said = world.runtime.invoke(world.request_of("beta", "work", "k")).await;
    assert!(said.is_ok(), "{said:?}");
    assert!(!format!("{said:?}").contains("canary"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_the_servers_own_is_looked_for_in_everything() {
    let (world, _, _server) = world(SECRET).await;
    let own = Secret::new("model-key", "sk-of-the-server-1234").unwrap();
    world.runtime.guard(&Scrubber::new(&[own]).unwrap()).unwrap();
    for tenant in ["acme", "beta"] {
        let said = repeated(&world, tenant, "sk-of-the-server-1234").await;
        assert!(said.contains("[secret:model-key]") && !said.contains("sk-of"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_and_ids_that_are_secrets_are_not_recorded() {
    let (world, _, _server) = world(NAME).await;
    let mut call = Call::new(Caller::agent("acme", "bot"), NAME, json!({}));
    call.id = Some(NAME.to_owned());
    let said = world.runtime.invoke(call).await;
    assert_eq!(&*said.meta.call_id, NAME, "a caller finds its answer by its own id");
    let mut used = world.request("work", "other");
    used.id = Some(NAME.to_owned());
    assert!(world.runtime.invoke(used).await.is_ok());
    let mut strange = world.request("work", "third");
    strange.session = Some(NAME.to_owned());
    assert!(!world.runtime.invoke(strange).await.is_ok(), "there is no such session");
    world.store.flush().await.unwrap();
    let filter = CallFilter { tenant: "acme".into(), ..CallFilter::default() };
    let calls = world.store.calls(filter).await.unwrap();
    assert_eq!(calls.len(), 4);
    let seen = format!("{calls:?}{}{:?}", world.events(), world.runtime.suggestions().of("acme"));
    assert!(seen.contains("[secret]") && !seen.contains("canary"), "{seen}");
    let files = world.files();
    assert!(!files.windows(NAME.len()).any(|bytes| bytes == NAME.as_bytes()));
}
