//! A person's consent: an authorization server on this machine that believes nothing, and a browser that
//! goes there and comes back.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::{ALL, Tenants, World};
use crate::admin::{check, delete};
use crate::client::Reply;

const CLIENT_SECRET: &str = "canary-client-7d1e90ab42";
const ACCESS: &str = "canary-access-51c0de77fe";
const REFRESH: &str = "canary-refresh-aa03f19b6c";

/// Who may redeem a code: the challenge and the redirect that it was made for.
type Codes = Arc<Mutex<HashMap<String, (String, String)>>>;

/// An authorization server. A code is good once, for the client, the redirect and the challenge that it
/// was made for.
pub(crate) struct Provider {
    port: u16,
    codes: Codes,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Provider {
    pub(crate) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (codes, asked) = (Codes::default(), Arc::<Mutex<Vec<String>>>::default());
        let (known, heard) = (codes.clone(), asked.clone());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut text = String::new();
                let mut bytes = [0; 4096];
                // The form is short, and comes with its head or right behind it.
                while !text.contains("code_verifier=") {
                    let Ok(size @ 1..) = stream.read(&mut bytes).await else { break };
                    text += &String::from_utf8_lossy(&bytes[..size]);
                }
                heard.lock().unwrap().push(text.clone());
                let (status, body) = match redeemed(&known, &text) {
                    Ok(body) => ("200 OK", body),
                    Err(why) => ("400 Bad Request", json!({"error": "invalid_grant", "why": why})),
                };
                let body = body.to_string();
                let head = format!(
                    "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
                     Connection: close\r\n\r\n",
                    body.len()
                );
                let _ = stream.write_all((head + &body).as_bytes()).await;
            }
        });
        Self { port, codes, asked }
    }

    /// A connection of a person there.
    pub(crate) fn wanted(&self, id: &str) -> Value {
        let base = format!("http://127.0.0.1:{}", self.port);
        json!({"id": id, "provider": "crm", "kind": "authorization-code", "hosts": ["127.0.0.1"],
               "client_id": "haft", "secret": CLIENT_SECRET, "scopes": ["read", "write"],
               "authorize_url": format!("{base}/authorize?tenant=x"),
               "token_url": format!("{base}/token")})
    }

    /// What somebody is sent back with who agrees at an address.
    pub(crate) fn agree(&self, url: &str) -> String {
        let asked = asked(url);
        assert_eq!(asked["response_type"], "code", "{url}");
        assert_eq!(asked["code_challenge_method"], "S256", "{url}");
        assert_eq!((asked["scope"].as_str(), asked["tenant"].as_str()), ("read write", "x"));
        let mut codes = self.codes.lock().unwrap();
        let code = format!("canary-code-{}", codes.len() + 100_000);
        let bound = (asked["code_challenge"].clone(), asked["redirect_uri"].clone());
        codes.insert(code.clone(), bound);
        format!("state={}&code={code}", asked["state"])
    }

    fn times_asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

/// What a query or a form holds.
fn asked(url: &str) -> HashMap<String, String> {
    let query = url.split_once('?').map_or(url, |(_, query)| query);
    form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

fn redeemed(codes: &Codes, text: &str) -> Result<Value, &'static str> {
    let (head, form) = text.split_once("\r\n\r\n").unwrap_or_default();
    let form = asked(form);
    let field = |name: &str| form.get(name).cloned().unwrap_or_default();
    if !head.to_lowercase().contains("authorization: basic ") {
        return Err("the client proves nothing");
    }
    let known = codes.lock().unwrap().remove(&field("code"));
    let (challenge, redirect) = known.ok_or("a code that is not known")?;
    if field("redirect_uri") != redirect || field("grant_type") != "authorization_code" {
        return Err("another redirect");
    }
    let verifier = Sha256::digest(field("code_verifier").as_bytes());
    if URL_SAFE_NO_PAD.encode(verifier) != challenge {
        return Err("another verifier");
    }
    Ok(json!({"access_token": ACCESS, "refresh_token": REFRESH, "token_type": "Bearer",
              "expires_in": 3600}))
}

impl World {
    /// The browser comes back.
    async fn back(&self, query: &str) -> Reply {
        self.served.get("", &format!("/console/consent?{query}")).await
    }

    async fn standing(&self, state: &Value) -> Value {
        self.get(&format!("/v1/consents/{}", state.as_str().unwrap())).await.json()
    }
}

#[tokio::test]
async fn a_person_agrees_and_the_connection_has_their_tokens() {
    let (world, provider) = (World::new(Tenants::Here).await, Provider::new().await);
    let asked_for = world.post(ALL, provider.wanted("work")).await;
    check(&asked_for, 202, "");
    let consent = asked_for.json();
    let place = format!("/v1/consents/{}", consent["state"].as_str().unwrap());
    assert_eq!(asked_for.header("location"), Some(place.as_str()));
    assert_eq!(consent["redirectUri"], "http://localhost/console/consent");
    assert_eq!(world.get(ALL).await.json()["items"], json!([]), "nothing is made yet");
    assert_eq!(world.standing(&consent["state"]).await["status"], "waiting");
    let brought = provider.agree(consent["url"].as_str().unwrap());
    // Whoever looks where a link leads has not followed it.
    let looked = format!("/console/consent?{brought}");
    assert_eq!(world.served.send("", "HEAD", &looked, &[], None).await.status, 405);
    assert_eq!(world.standing(&consent["state"]).await["status"], "waiting");
    let page = world.back(&brought).await;
    assert_eq!(page.status, 200, "{page:?}");
    assert!(page.body.contains("Connected"), "{page:?}");
    let ended = world.standing(&consent["state"]).await;
    assert_eq!((&ended["status"], ended.get("url")), (&json!("connected"), None));
    // It is used like any other.
    world.define().await;
    let to = json!({"principals": ["agent:helper"], "tools": ["crm__*"]});
    check(&world.post("/v1/connections/work/grants", to).await, 201, "");
    assert_eq!((world.call().await, world.heard(ACCESS)), (200, 1));
    let trail = world.get("/v1/audit?limit=100").await.body;
    assert!(trail.contains("made") && trail.contains("user:boss"), "{trail}");
    // What came back is good once.
    let again = world.back(&brought).await;
    assert_eq!((again.status, provider.times_asked()), (400, 1), "{again:?}");
    let mut said = asked_for.body + &page.body + &again.body + &trail;
    for path in [ALL, "/v1/connections/work", "/v1/calls", "/v1/events", &place] {
        said += &world.get(path).await.body;
    }
    for secret in [ACCESS, REFRESH, CLIENT_SECRET, "canary-code"] {
        assert!(!said.contains(secret), "{secret}: {said}");
    }
}

/// Asked for through another server, and with nobody at the page when it comes to its end.
#[tokio::test]
async fn a_consent_comes_to_its_end_whoever_asked_and_whoever_looks() {
    let (world, provider) = (World::new(Tenants::Here).await, Provider::new().await);
    let mark = "0123456789abcdef".repeat(2);
    let (via, wanted) = ([("haft-hop", mark.as_str())], provider.wanted("work"));
    let asked = world.served.send(&world.served.admin, "POST", ALL, &via, Some(wanted)).await;
    let consent = asked.json();
    let brought = provider.agree(consent["url"].as_str().unwrap());
    let text = format!("GET /console/consent?{brought} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let mut page = world.served.connect().await;
    page.write_all(text.as_bytes()).await.unwrap();
    // The page is closed as soon as it was taken, before or after the connection is made.
    let mut page = Some(page);
    let mut ended = json!(null);
    for _ in 0..5_000 {
        ended = world.standing(&consent["state"]).await;
        match ended["status"].as_str() {
            Some("waiting") => {}
            Some("redeeming") => drop(page.take()),
            _ => break,
        }
    }
    assert_eq!(ended["status"], "connected", "{ended}");
}

#[tokio::test]
async fn what_was_not_waited_for_makes_nothing() {
    let (world, provider) = (World::new(Tenants::Here).await, Provider::new().await);
    let consent = world.post(ALL, provider.wanted("work")).await.json();
    let other = world.post(ALL, provider.wanted("other")).await.json();
    let url = |one: &Value| one["url"].as_str().unwrap().to_owned();
    for (query, status) in [
        ("", 400),
        ("code=canary-code-1", 400),
        ("state=made-up&code=canary-code-1", 400),
        ("state=a&state=b&code=c", 400),
    ] {
        let page = world.back(query).await;
        assert_eq!(page.status, status, "{query}: {page:?}");
    }
    assert_eq!(provider.times_asked(), 0);
    // Somebody else's code is bound to another verifier.
    let theirs = asked(&provider.agree(&url(&other)))["code"].clone();
    let state = consent["state"].as_str().unwrap();
    let page = world.back(&format!("state={state}&code={theirs}")).await;
    assert!(page.status == 200 && page.body.contains("Not connected"), "{page:?}");
    assert_eq!(world.standing(&consent["state"]).await["status"], "failed");
    // A person who does not agree, in the provider's words, which are not believed.
    let state = other["state"].as_str().unwrap();
    let page = world.back(&format!("state={state}&error=%3Cimg%20src%3Dx%3E")).await;
    assert!(page.body.contains("Not connected") && !page.body.contains("<img"), "{page:?}");
    assert_eq!(world.get(ALL).await.json()["items"], json!([]));
    // One that was called off.
    let third = world.post(ALL, provider.wanted("third")).await.json();
    let served = &world.served;
    let place = format!("/v1/consents/{}", third["state"].as_str().unwrap());
    check(&delete(served, &served.stranger, &place, "").await, 404, "not_found");
    check(&delete(served, &served.admin, &place, "").await, 204, "");
    assert_eq!(world.back(&provider.agree(&url(&third))).await.status, 400);
    check(&world.get(&place).await, 404, "not_found");
}

#[tokio::test]
async fn a_consent_is_for_who_asked_as_long_as_they_may() {
    let (world, provider) = (World::new(Tenants::Here).await, Provider::new().await);
    let served = &world.served;
    for key in [&served.operator, &served.agent] {
        check(&served.post(key, ALL, provider.wanted("work")).await, 403, "forbidden");
    }
    let new = json!({"principal": "user:eve", "roles": ["administrator"]});
    let made = world.post("/v1/admin/keys", new).await.json();
    let (eve, id) = (made["key"].as_str().unwrap(), made["entry"]["id"].as_str().unwrap());
    let consent = served.post(eve, ALL, provider.wanted("work")).await.json();
    let place = format!("/v1/consents/{}", consent["state"].as_str().unwrap());
    assert_eq!(served.get(eve, &place).await.status, 200);
    check(&served.get(&served.admin, &place).await, 404, "not_found");
    check(&served.get(&served.stranger, &place).await, 404, "not_found");
    check(&delete(served, &served.admin, &format!("/v1/admin/keys/{id}"), "").await, 200, "");
    let page = world.back(&provider.agree(consent["url"].as_str().unwrap())).await;
    assert!(page.body.contains("Not connected"), "{page:?}");
    assert_eq!(provider.times_asked(), 0, "the code is not redeemed for who may not");
    assert_eq!(world.get(ALL).await.json()["items"], json!([]));
}

#[tokio::test]
async fn what_makes_no_sense_is_not_asked_of_anybody() {
    let (world, provider) = (World::new(Tenants::Here).await, Provider::new().await);
    let with = |name: &str, value: Value| {
        let mut body = provider.wanted("work");
        body[name] = value;
        body
    };
    for (body, field) in [
        (with("authorize_url", Value::Null), "`authorize_url`"),
        (with("authorize_url", json!("javascript://alert(1)")), "`authorize_url`"),
        (with("authorize_url", json!("http://auth.example/agree")), "`authorize_url`"),
        (with("token_url", Value::Null), "`token_url`"),
        (with("secret", Value::Null), "`secret`"),
        (with("kind", json!("client-credentials")), "`authorize_url`"),
    ] {
        let reply = world.post(ALL, body).await;
        check(&reply, 422, "invalid_configuration");
        assert!(reply.json()["detail"].as_str().unwrap().starts_with(field), "{reply:?}");
    }
    world.add().await;
    check(&world.post(ALL, provider.wanted("work")).await, 409, "exists");
    // One that was made meanwhile stays, and the tokens are kept nowhere.
    let consent = world.post(ALL, provider.wanted("late")).await.json();
    let body =
        json!({"id": "late", "provider": "crm", "kind": "bearer", "secret": "other-secret-71"});
    check(&world.post(ALL, body).await, 201, "");
    let page = world.back(&provider.agree(consent["url"].as_str().unwrap())).await;
    assert!(page.body.contains("Not connected"), "{page:?}");
    assert_eq!(world.get("/v1/connections/late").await.json()["kind"], "bearer");
}

#[tokio::test]
async fn an_address_that_tenants_may_not_reach_is_not_reached() {
    let (world, provider) = (World::new(Tenants::PublicOnly).await, Provider::new().await);
    let consent = world.post(ALL, provider.wanted("work")).await.json();
    let page = world.back(&provider.agree(consent["url"].as_str().unwrap())).await;
    assert!(page.body.contains("Not connected"), "{page:?}");
    assert_eq!(provider.times_asked(), 0);
}
