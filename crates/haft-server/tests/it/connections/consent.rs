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
/// What a provider says beside its word: it repeats what it was sent.
const BABBLE: &str = "no such secret: canary-client-7d1e90ab42";

/// Who may redeem a code: the challenge and the redirect that it was made for.
type Codes = Arc<Mutex<HashMap<String, (String, String)>>>;

/// An authorization server. A code is good once, for the client, the redirect and the challenge that it
/// was made for.
pub(crate) struct Provider {
    port: u16,
    codes: Codes,
    asked: Arc<Mutex<Vec<String>>>,
    /// What it answers in place of a token, where it is told to.
    says: Arc<Mutex<Option<(&'static str, Value)>>>,
}

impl Provider {
    pub(crate) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (codes, asked) = (Codes::default(), Arc::<Mutex<Vec<String>>>::default());
        let (known, heard) = (codes.clone(), asked.clone());
        let says = Arc::<Mutex<Option<(&'static str, Value)>>>::default();
        let told = says.clone();
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
                let (status, body) = match (redeemed(&known, &text), told.lock().unwrap().clone()) {
                    (Ok(_), Some(other)) => other,
                    (Ok(body), None) => ("200 OK", body),
                    (Err(why), _) => {
                        ("400 Bad Request", json!({"error": "invalid_grant", "why": why}))
                    }
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
        Self { port, codes, asked, says }
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

    /// From now on it answers something else to codes that are good.
    fn say(&self, status: &'static str, body: Value) {
        *self.says.lock().unwrap() = Some((status, body));
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
    let seen = world.served.send("", "HEAD", &looked, &[], None).await;
    assert_eq!((seen.status, seen.header("content-length")), (200, None), "{seen:?}");
    let other = world.served.send("", "HEAD", "/console/consent?state=x&code=y", &[], None).await;
    assert_eq!(other.status, 400);
    assert_eq!(world.standing(&consent["state"]).await["status"], "waiting");
    assert_eq!(provider.times_asked(), 0);
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
    // What came back is good once. Whoever reloads the page sees that it is done, and nobody else does.
    let again = world.back(&brought).await;
    assert_eq!((again.status, provider.times_asked()), (200, 1), "{again:?}");
    assert_eq!(again.body, page.body);
    let seen = world.served.send("", "HEAD", &looked, &[], None).await;
    assert_eq!((seen.status, seen.header("content-length")), (200, page.header("content-length")));
    let state = consent["state"].as_str().unwrap();
    for other in [format!("state={state}&code=canary-code-1"), format!("state={state}&error=x")] {
        assert_eq!(world.back(&other).await.status, 400, "{other}");
    }
    assert_eq!(provider.times_asked(), 1);
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
    assert_eq!(world.back(&format!("state={state}&code={theirs}")).await.body, page.body);
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

/// Asks again for `work`.
const AGAIN: &str = "/v1/connections/work/consent";

#[tokio::test]
async fn consent_is_renewed_and_what_there_is_stays_until_then() {
    let (world, provider) = (World::new(Tenants::Here).await, Provider::new().await);
    let url = |one: &Value| one["url"].as_str().unwrap().to_owned();
    let consent = world.post(ALL, provider.wanted("work")).await.json();
    assert_eq!(consent["renewal"], false);
    world.back(&provider.agree(&url(&consent))).await;
    world.define().await;
    let to = json!({"principals": ["agent:helper"], "tools": ["crm__*"]});
    check(&world.post("/v1/connections/work/grants", to).await, 201, "");
    let before = world.get("/v1/connections/work").await.json();
    // A person who says no, and a provider that gives nothing that lasts: all is as it was.
    let no = world.post(AGAIN, json!({})).await;
    check(&no, 202, "");
    let no = no.json()["state"].as_str().unwrap().to_owned();
    let page = world.back(&format!("state={no}&error=access_denied")).await.body;
    assert!(page.contains("keeps the tokens that it has"), "{page}");
    provider.say("200 OK", json!({"access_token": "canary-second-1", "expires_in": 60}));
    let short = world.post(AGAIN, json!({})).await.json();
    let page = world.back(&provider.agree(&url(&short))).await.body;
    assert!(page.contains("Not connected") && page.contains("gave no refresh token"), "{page}");
    assert_eq!(world.get("/v1/connections/work").await.json(), before);
    assert_eq!((world.call().await, world.heard(ACCESS)), (200, 1));
    // One who agrees.
    let new = json!({"access_token": "canary-second-2", "refresh_token": "canary-second-3",
                     "expires_in": 3600});
    provider.say("200 OK", new);
    let asked_for = world.post(AGAIN, json!({})).await;
    check(&asked_for, 202, "");
    let again = asked_for.json();
    assert_eq!((&again["connection"], &again["renewal"]), (&json!("work"), &json!(true)));
    assert_eq!((world.call().await, world.heard(ACCESS)), (200, 2), "until then");
    // The client's secret may be replaced meanwhile: it is the new one that redeems the code.
    let other = json!({"secret": "canary-client-after"});
    let served = &world.served;
    let place = "/v1/connections/work/secret";
    check(&served.send(&served.admin, "PUT", place, &[], Some(other)).await, 200, "");
    let page = world.back(&provider.agree(&url(&again))).await.body;
    assert!(page.contains("Connected") && page.contains("has not changed"), "{page}");
    let proof = base64::engine::general_purpose::STANDARD.encode("haft:canary-client-after");
    assert!(provider.asked.lock().unwrap().last().unwrap().contains(&proof));
    assert_eq!((world.call().await, world.heard("canary-second-2")), (200, 1), "granted as before");
    let after = world.get("/v1/connections/work").await.json();
    for same in ["id", "grants", "hosts", "madeAtMs", "oauth"] {
        assert_eq!(after[same], before[same], "{same}");
    }
    let said = page + &asked_for.body + &after.to_string() + &world.get("/v1/audit").await.body;
    assert!(!said.contains("canary"), "{said}");
}

#[tokio::test]
async fn only_what_a_person_agreed_to_is_renewed_and_only_while_it_is_there() {
    let (world, provider) = (World::new(Tenants::Here).await, Provider::new().await);
    let served = &world.served;
    check(&world.post(AGAIN, json!({})).await, 404, "not_found");
    world.add().await;
    let secret = world.post(AGAIN, json!({})).await;
    check(&secret, 422, "invalid_configuration");
    assert!(secret.body.contains("which takes nobody's consent"), "{secret:?}");
    assert!(secret.body.contains("replace its secret"), "{secret:?}");
    check(&delete(served, &served.admin, "/v1/connections/work", "").await, 204, "");
    let consent = world.post(ALL, provider.wanted("work")).await.json();
    world.back(&provider.agree(consent["url"].as_str().unwrap())).await;
    for (key, status, code) in [
        (&served.operator, 403, "forbidden"),
        (&served.agent, 403, "forbidden"),
        (&served.stranger, 404, "not_found"),
    ] {
        check(&served.post(key, AGAIN, json!({})).await, status, code);
    }
    for odd in ["javascript://alert(1)", "http://auth.example/agree", ""] {
        let reply = world.post(AGAIN, json!({"authorize_url": odd})).await;
        check(&reply, 422, "invalid_configuration");
    }
    // Another connection under the same id is not given what was agreed to for the first.
    let again = world.post(AGAIN, json!({})).await.json();
    check(&delete(served, &served.admin, "/v1/connections/work", "").await, 204, "");
    let consent = world.post(ALL, provider.wanted("work")).await.json();
    world.back(&provider.agree(consent["url"].as_str().unwrap())).await;
    let asked = provider.times_asked();
    let page = world.back(&provider.agree(again["url"].as_str().unwrap())).await.body;
    assert!(page.contains("Not connected") && page.contains("another has its id by now"), "{page}");
    assert!(!page.contains("the same request"), "whoever reads it has sent none: {page}");
    // Nor is there anything to be renewed once it is gone.
    let again = world.post(AGAIN, json!({})).await.json();
    check(&delete(served, &served.admin, "/v1/connections/work", "").await, 204, "");
    let page = world.back(&provider.agree(again["url"].as_str().unwrap())).await.body;
    assert!(page.contains("was removed while the person was asked; make it anew"), "{page}");
    assert_eq!(provider.times_asked(), asked, "the code is not redeemed");
}

/// Whoever may not any more is told what became of the connection: nothing.
#[tokio::test]
async fn a_renewal_is_for_who_asked_as_long_as_they_may() {
    let (world, provider) = (World::new(Tenants::Here).await, Provider::new().await);
    let served = &world.served;
    let consent = world.post(ALL, provider.wanted("work")).await.json();
    world.back(&provider.agree(consent["url"].as_str().unwrap())).await;
    let new = json!({"principal": "user:eve", "roles": ["administrator"]});
    let made = world.post("/v1/admin/keys", new).await.json();
    let (eve, id) = (made["key"].as_str().unwrap(), made["entry"]["id"].as_str().unwrap());
    let again = served.post(eve, AGAIN, json!({})).await.json();
    check(&delete(served, &served.admin, &format!("/v1/admin/keys/{id}"), "").await, 200, "");
    let page = world.back(&provider.agree(again["url"].as_str().unwrap())).await.body;
    assert!(page.contains("may not change connections any more, and it has what it had"), "{page}");
}

/// The provider's word is one of those that there are, and what else it says is told to nobody.
#[tokio::test]
async fn why_a_provider_refuses_is_said_in_its_word_and_with_what_to_do() {
    let (world, provider) = (World::new(Tenants::Here).await, Provider::new().await);
    for (status, error, words) in [
        ("400 Bad Request", "invalid_grant", "(`invalid_grant`); ask the user to connect"),
        (
            "401 Unauthorized",
            "invalid_client",
            "(`invalid_client`); an administrator corrects the client",
        ),
        (
            "400 Bad Request",
            "invalid_scope",
            "(`invalid_scope`); an administrator corrects the scopes",
        ),
        ("200 OK", "invalid_request", "(`invalid_request`); an administrator compares"),
        ("400 Bad Request", BABBLE, "the provider refused the code; ask"),
        ("503 Busy", "invalid_grant", "the provider gives no token now; try again later"),
    ] {
        provider.say(status, json!({"error": error, "error_description": BABBLE}));
        let consent = world.post(ALL, provider.wanted("work")).await.json();
        let page = world.back(&provider.agree(consent["url"].as_str().unwrap())).await.body;
        let detail = world.standing(&consent["state"]).await["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(words), "{status} {error}: {detail}");
        assert!(page.contains("Not connected") && !(page + &detail).contains("canary"), "{error}");
    }
    for (error, words) in [
        ("access_denied", "did not agree (`access_denied`); ask the user whether"),
        ("temporarily_unavailable", "did not agree (`temporarily_unavailable`); try again later"),
        ("login_required", "did not agree: login_required"),
    ] {
        let consent = world.post(ALL, provider.wanted("work")).await.json();
        let state = consent["state"].as_str().unwrap();
        world.back(&format!("state={state}&error={error}&error_description=canary")).await;
        let ended = world.standing(&consent["state"]).await;
        assert!(ended["detail"].as_str().unwrap().contains(words), "{error}: {ended}");
        assert!(!ended.to_string().contains("canary"), "{ended}");
    }
}
