//! Signed tokens: an issuer on loopback, and everything that a forger would try.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lc_rs::encoding::AsDer as _;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use haft_core::Principal;
use haft_runtime::policy::{Rules, Source, Text, UserType};
use haft_runtime::runtime::Builder;
use haft_server::Limits;
use haft_server::who::jwt::{Issuer, Issuers, Names};
use haft_server::who::{Key, Keys, Role, mint};
use haft_store::Memory;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::client::Served;
use crate::mcp;

const CALLS: &str = "/v1/agents/helper/calls";

/// A key pair of an issuer.
struct Pair {
    kid: String,
    signing: EncodingKey,
    algorithm: Algorithm,
    jwk: Value,
}

impl Pair {
    fn ed(kid: &str) -> Self {
        let pair = Ed25519KeyPair::generate().unwrap();
        let x = BASE64.encode(pair.public_key().as_ref());
        let der = pair.to_pkcs8v1().unwrap();
        Self {
            kid: kid.to_owned(),
            signing: EncodingKey::from_ed_der(der.as_ref()),
            algorithm: Algorithm::EdDSA,
            jwk: json!({"kty": "OKP", "crv": "Ed25519", "kid": kid, "use": "sig", "x": x}),
        }
    }

    fn rsa(kid: &str) -> Self {
        let pair = KeyPair::generate(KeySize::Rsa2048).unwrap();
        let public = pair.public_key();
        let n = BASE64.encode(public.modulus().big_endian_without_leading_zero());
        let e = BASE64.encode(public.exponent().big_endian_without_leading_zero());
        let der: aws_lc_rs::encoding::Pkcs8V1Der<'_> = pair.as_der().unwrap();
        Self {
            kid: kid.to_owned(),
            signing: EncodingKey::from_rsa_der(&pkcs1(der.as_ref())),
            algorithm: Algorithm::RS256,
            jwk: json!({"kty": "RSA", "kid": kid, "use": "sig", "alg": "RS256", "n": n, "e": e}),
        }
    }

    fn sign(&self, claims: &Value) -> String {
        let mut header = Header::new(self.algorithm);
        header.kid = Some(self.kid.clone());
        encode(&header, claims, &self.signing).unwrap()
    }
}

/// The key inside of its PKCS #8 wrapping: after 26 bytes that are the same for every 2048-bit key.
fn pkcs1(der: &[u8]) -> Vec<u8> {
    der[26..].to_vec()
}

/// An issuer's key server.
struct Jwks {
    url: String,
    keys: Arc<Mutex<Vec<Value>>>,
    asked: Arc<AtomicUsize>,
    /// How many answers it may give.
    answer: Arc<Semaphore>,
}

impl Jwks {
    async fn serve(keys: Vec<Value>) -> Self {
        let jwks = Self::slow(keys).await;
        jwks.answer.add_permits(Semaphore::MAX_PERMITS / 2);
        jwks
    }

    /// One that answers when it is let.
    async fn slow(keys: Vec<Value>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/jwks.json", listener.local_addr().unwrap());
        let keys = Arc::new(Mutex::new(keys));
        let asked = Arc::new(AtomicUsize::new(0));
        let answer = Arc::new(Semaphore::new(0));
        let (from, count, may) = (keys.clone(), asked.clone(), answer.clone());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut head = [0; 2048];
                let _ = stream.read(&mut head).await;
                count.fetch_add(1, Ordering::SeqCst);
                may.acquire().await.unwrap().forget();
                let body = json!({"keys": *from.lock().unwrap()}).to_string();
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    body.len()
                );
                let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
            }
        });
        Self { url, keys, asked, answer }
    }

    async fn is_asked(&self) {
        while self.asked() == 0 {
            tokio::task::yield_now().await;
        }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

fn issuer(jwks: &Jwks, pause: u64) -> Issuer {
    Issuer {
        issuer: "https://login.example".into(),
        audience: vec!["haft".into()],
        jwks_url: Some(jwks.url.clone()),
        jwks_file: None,
        algorithms: Vec::new(),
        leeway_s: Some(0),
        jwks_pause_s: Some(pause),
        tenant: None,
        tenants: Some(vec!["ours".into()]),
        claims: Names {
            tenant: Some("org".into()),
            agent: Some("agent".into()),
            subject: Some("on_behalf_of".into()),
            roles: Some("realm.roles".into()),
            ..Names::default()
        },
        roles: [
            ("haft-admins".to_owned(), Role::Administrator),
            ("haft-ops".to_owned(), Role::Operator),
        ]
        .into(),
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn claims(changes: Value) -> Value {
    let mut claims = json!({
        "iss": "https://login.example", "aud": "haft", "sub": "ann", "org": "ours",
        "exp": now() + 600, "realm": {"roles": ["haft-ops", "other"]},
    });
    for (name, value) in changes.as_object().unwrap() {
        if value.is_null() {
            claims.as_object_mut().unwrap().shift_remove(name);
        } else {
            claims[name] = value.clone();
        }
    }
    claims
}

async fn served(issuer: Issuer) -> Served {
    Served::trusting(Issuers::load(&[issuer]).unwrap()).await
}

#[tokio::test]
async fn a_token_opens_what_its_claims_say() {
    let (ed, rsa) = (Pair::ed("one"), Pair::rsa("two"));
    let jwks = Jwks::serve(vec![ed.jwk.clone(), rsa.jwk.clone(), json!({"kty": "odd"})]).await;
    let served = served(issuer(&jwks, 10)).await;
    for pair in [&ed, &rsa] {
        let token = pair.sign(&claims(json!({})));
        assert_eq!(served.get(&token, "/v1/calls").await.status, 200, "an operator");
        assert_eq!(served.get(&token, "/v1/admin/agents").await.status, 403, "no administrator");
    }
    let admin = ed.sign(&claims(json!({"realm": {"roles": "haft-admins haft-ops"}})));
    let path = "/v1/admin/agents/night";
    let made = served.send(&admin, "PUT", path, &[], Some(json!({}))).await;
    assert_eq!((made.status, &made.json()["changedBy"]), (201, &json!("user:ann")), "{made:?}");
    // An agent is an agent, whatever else its token says.
    let agent = json!({"agent": "helper", "realm": {"roles": ["haft-admins"]}});
    let agent = ed.sign(&claims(agent));
    let call = json!({"tool": "echo", "arguments": {"text": "x"}});
    let done = served.post(&agent, "/v1/agents/helper/calls", call.clone()).await;
    assert_eq!(done.status, 200, "{done:?}");
    assert_eq!(served.post(&agent, "/v1/agents/night/calls", call.clone()).await.status, 404);
    assert_eq!(served.get(&agent, "/v1/admin/agents").await.status, 403);
    // For somebody else only with a delegation on record.
    let acting = ed.sign(&claims(json!({"agent": "helper", "on_behalf_of": "mara"})));
    assert_ne!(served.post(&acting, "/v1/agents/helper/calls", call).await.status, 200);
    assert_eq!(jwks.asked(), 1, "keys are kept");
}

/// Keys are asked for by one request at a time, and not again for a while.
#[tokio::test]
async fn whoever_hangs_up_does_not_keep_others_from_an_issuers_keys() {
    let ed = Pair::ed("one");
    let jwks = Jwks::slow(vec![ed.jwk.clone()]).await;
    let served = served(issuer(&jwks, 3600)).await;
    let token = ed.sign(&claims(json!({})));
    let mut stranger = served.connect().await;
    let ask = "GET /v1/calls HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer";
    let forged = Pair::ed("two").sign(&claims(json!({})));
    stranger.write_all(format!("{ask} {forged}\r\n\r\n").as_bytes()).await.unwrap();
    jwks.is_asked().await;
    drop(stranger);
    // Until the server has seen that.
    while served.get(&served.admin, "/metrics").await.body.contains("in_flight 1\n") {
        tokio::task::yield_now().await;
    }
    jwks.answer.add_permits(1);
    assert_eq!(served.get(&token, "/v1/calls").await.status, 200);
    assert_eq!(jwks.asked(), 1);
}

#[tokio::test]
async fn whatever_is_not_certain_is_refused_alike() {
    let (ed, rsa, stranger) = (Pair::ed("one"), Pair::rsa("two"), Pair::ed("one"));
    let jwks = Jwks::serve(vec![ed.jwk.clone(), rsa.jwk.clone()]).await;
    let served = served(issuer(&jwks, 3600)).await;
    let with = |changes: Value| ed.sign(&claims(changes));
    let unsigned = |header: Value| {
        let (header, body) =
            (BASE64.encode(header.to_string()), BASE64.encode(claims(json!({})).to_string()));
        format!("{header}.{body}.")
    };
    // The issuer's public key as if it were a shared secret.
    let n = rsa.jwk["n"].as_str().unwrap();
    let mut header = Header::new(Algorithm::HS256);
    header.kid = Some("two".into());
    let confused =
        encode(&header, &claims(json!({})), &EncodingKey::from_secret(n.as_bytes())).unwrap();
    let raw = BASE64.decode(n).unwrap();
    let confused_raw =
        encode(&header, &claims(json!({})), &EncodingKey::from_secret(&raw)).unwrap();
    // Keys that the token itself brings.
    let mut header = Header::new(Algorithm::EdDSA);
    header.kid = Some("one".into());
    header.jku = Some(jwks.url.clone());
    header.jwk = serde_json::from_value(stranger.jwk.clone()).ok();
    let brought = encode(&header, &claims(json!({})), &stranger.signing).unwrap();
    let mut wrong_kind = Header::new(Algorithm::EdDSA);
    wrong_kind.kid = Some("two".into());
    let wrong_kind = encode(&wrong_kind, &claims(json!({})), &ed.signing).unwrap();
    let good = with(json!({}));
    assert_eq!(served.get(&good, "/v1/calls").await.status, 200);
    let (front, signature) = good.rsplit_once('.').unwrap();
    let (header, _) = front.split_once('.').unwrap();
    let raised = BASE64.encode(claims(json!({"realm": {"roles": "haft-admins"}})).to_string());
    for (what, token) in [
        ("nothing signed", unsigned(json!({"alg": "none", "typ": "JWT"}))),
        ("none in other letters", unsigned(json!({"alg": "nOnE", "kid": "one"}))),
        ("no signature", unsigned(json!({"alg": "EdDSA", "kid": "one"}))),
        ("a public key as a secret", confused),
        ("its bytes as a secret", confused_raw),
        ("a key that the token brings", brought),
        ("a key of another kind", wrong_kind),
        ("somebody else's signature", stranger.sign(&claims(json!({})))),
        ("claims that were raised", format!("{header}.{raised}.{signature}")),
        ("a signature that was cut", good[..good.len() - 2].to_owned()),
        ("another audience", with(json!({"aud": "elsewhere"}))),
        ("other audiences", with(json!({"aud": ["a", "b"]}))),
        ("no audience", with(json!({"aud": null}))),
        ("another issuer", with(json!({"iss": "https://login.example.evil"}))),
        ("an issuer with a slash", with(json!({"iss": "https://login.example/"}))),
        ("no issuer", with(json!({"iss": null}))),
        ("it is over", with(json!({"exp": now() - 5}))),
        ("it has no end", with(json!({"exp": null}))),
        ("an end that is text", with(json!({"exp": "soon"}))),
        ("it has not begun", with(json!({"nbf": now() + 60}))),
        ("another tenant", with(json!({"org": "theirs"}))),
        ("no tenant", with(json!({"org": null}))),
        ("a tenant in a list", with(json!({"org": ["ours"]}))),
        ("an agent in a list", with(json!({"agent": ["helper"]}))),
        ("an agent without a name", with(json!({"agent": ""}))),
        ("somebody else in a list", with(json!({"on_behalf_of": ["mara"]}))),
        ("nobody", with(json!({"sub": null}))),
        ("nobody in particular", with(json!({"sub": ""}))),
        ("a name with a line end", with(json!({"sub": "ann\nroot"}))),
        ("a name with what cannot be seen", with(json!({"sub": "ma\u{200b}ra"}))),
        ("a space at the end", with(json!({"sub": "mara "}))),
        ("a space at the beginning", with(json!({"sub": "user: mara"}))),
        ("a space before the kind", with(json!({"sub": " user:mara"}))),
        ("a space that is none", with(json!({"sub": "mara\u{a0}"}))),
        ("a wide space", with(json!({"sub": "mara\u{3000}lee"}))),
        ("two spaces", with(json!({"sub": "mara  lee"}))),
        ("somebody else with a space", with(json!({"on_behalf_of": "mara\u{2002}"}))),
        ("an agent with a space", with(json!({"agent": "helper "}))),
        ("somebody else with it", with(json!({"on_behalf_of": "ma\u{202e}ra"}))),
        ("dots", "..".to_owned()),
        ("long dots", format!("{0}.{0}.{0}", "a".repeat(100_000).get(..15_000).unwrap())),
    ] {
        let reply = served.get(&token, "/v1/calls").await;
        assert_eq!(
            (reply.status, &reply.json()["code"]),
            (401, &json!("unauthenticated")),
            "{what}"
        );
        let first = served.get("", "/v1/calls").await;
        assert_eq!(reply.body, first.body, "{what}: no more is told than to anybody");
    }
    let nobody = with(json!({"realm": null}));
    assert_eq!(served.get(&nobody, "/v1/calls").await.status, 403, "known, and without a role");
}

/// What a token says that comes in the session of another, and whether it is that one's session.
#[tokio::test]
async fn an_mcp_session_goes_on_with_a_token_of_the_same_rights_and_no_other() {
    let pair = Pair::ed("one");
    let jwks = Jwks::serve(vec![pair.jwk.clone()]).await;
    let served = served(issuer(&jwks, 3600)).await;
    let both = json!({"realm": {"roles": ["haft-ops", "haft-admins"]}});
    let session = crate::mcp::begin(&served, &pair.sign(&claims(both.clone()))).await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    for (said, status) in [
        (both.clone(), 200),
        (json!({"realm": {"roles": "haft-admins haft-ops"}, "exp": now() + 900}), 200),
        (json!({}), 404),
        (json!({"realm": {"roles": ["haft-admins"]}}), 404),
        (json!({"realm": both["realm"], "sub": "jo"}), 404),
        (json!({"realm": both["realm"], "on_behalf_of": "mara"}), 404),
        (both, 200),
    ] {
        let token = pair.sign(&claims(said.clone()));
        let reply = crate::mcp::in_session(&served, &token, &session, list.clone()).await;
        assert_eq!(reply.status, status, "{said}: {reply:?}");
    }
}

/// Who a token is taken for, and whether it opens what is for operators, agents and approvers.
#[tokio::test]
async fn a_token_never_makes_a_program_a_person() {
    let pair = Pair::ed("one");
    let jwks = Jwks::serve(vec![pair.jwk.clone()]).await;
    let mut issuer = issuer(&jwks, 3600);
    issuer.roles.clear();
    issuer.claims.service = Some("client".into());
    let issuers = Issuers::load(&[issuer]).unwrap();
    let served = Served::trusting(issuers).await;
    let all = json!({"roles": ["agent", "approver", "operator"]});
    for (said, actor, statuses) in [
        (json!({"sub": "jo"}), "user:jo", (200, 200, 200)),
        (json!({"sub": "user:jo"}), "user:jo", (200, 200, 200)),
        (json!({"sub": "urn:jo"}), "user:urn:jo", (200, 200, 200)),
        (json!({"sub": "agent:helper"}), "agent:helper", (403, 200, 403)),
        (json!({"sub": "service:x"}), "service:x", (200, 200, 403)),
        (json!({"client": "x"}), "service:x", (200, 200, 403)),
        (json!({"client": "service:x"}), "service:x", (200, 200, 403)),
        (json!({"client": "x", "agent": "helper"}), "agent:helper", (403, 200, 403)),
        (json!({"agent": "agent:helper"}), "agent:helper", (403, 200, 403)),
        (json!({"sub": "user:agent:helper"}), "", (401, 401, 401)),
        (json!({"sub": "Agent:helper"}), "", (401, 401, 401)),
        (json!({"sub": "agent:agent:helper"}), "", (401, 401, 401)),
        (json!({"client": "user:jo"}), "", (401, 401, 401)),
        (json!({"client": ["x"]}), "", (401, 401, 401)),
        (json!({"agent": "service:x"}), "", (401, 401, 401)),
        (json!({"on_behalf_of": "agent:helper"}), "", (401, 401, 401)),
    ] {
        let mut with = claims(said.clone());
        with["realm"] = all.clone();
        let token = pair.sign(&with);
        let call = json!({"tool": "echo", "arguments": {"text": "x"}});
        let called = served.post(&token, "/v1/agents/helper/calls", call).await.status;
        let operates = served.get(&token, "/v1/calls").await.status;
        let approves = served.get(&token, "/v1/confirmations").await.status;
        assert_eq!((operates, called, approves), statuses, "{said}");
        if !actor.is_empty() {
            let calls = served.get(&served.operator, "/v1/calls?limit=1").await.json();
            assert_eq!(calls[0]["actor"], actor, "{said}: {calls}");
        }
    }
    // Its name alone gives nobody an agent's role.
    let named = pair.sign(&claims(json!({"sub": "agent:helper", "realm": {"roles": []}})));
    assert_eq!(served.get(&named, "/v1/agents/helper/tools").await.status, 403);
}

#[tokio::test]
async fn rotated_keys_are_fetched_and_withdrawn_ones_no_longer_open() {
    let (old, new) = (Pair::ed("old"), Pair::ed("new"));
    let jwks = Jwks::serve(vec![old.jwk.clone()]).await;
    let served = served(issuer(&jwks, 0)).await;
    let (by_old, by_new) = (old.sign(&claims(json!({}))), new.sign(&claims(json!({}))));
    assert_eq!(served.get(&by_old, "/v1/calls").await.status, 200);
    assert_eq!(served.get(&by_new, "/v1/calls").await.status, 401);
    jwks.keys.lock().unwrap().push(new.jwk.clone());
    assert_eq!(served.get(&by_new, "/v1/calls").await.status, 200, "fetched again");
    assert_eq!(served.get(&by_old, "/v1/calls").await.status, 200, "both, for a while");
    *jwks.keys.lock().unwrap() = vec![new.jwk.clone()];
    let unknown = Pair::ed("none").sign(&claims(json!({})));
    assert_eq!(served.get(&unknown, "/v1/calls").await.status, 401);
    assert_eq!(served.get(&by_old, "/v1/calls").await.status, 401, "withdrawn");
    assert_eq!(served.get(&by_new, "/v1/calls").await.status, 200);
}

#[tokio::test]
async fn unknown_keys_do_not_make_us_ask_all_the_time() {
    let known = Pair::ed("one");
    let jwks = Jwks::serve(vec![known.jwk.clone()]).await;
    let served = Arc::new(served(issuer(&jwks, 3600)).await);
    let strangers: Vec<_> = (0..20)
        .map(|at| {
            let token = Pair::ed(&format!("../../etc/passwd{at}")).sign(&claims(json!({})));
            let served = served.clone();
            tokio::spawn(async move { served.get(&token, "/v1/calls").await.status })
        })
        .collect();
    for one in strangers {
        assert_eq!(one.await.unwrap(), 401);
    }
    assert_eq!(jwks.asked(), 1);
    assert_eq!(served.get(&known.sign(&claims(json!({}))), "/v1/calls").await.status, 200);
}

#[tokio::test]
async fn keys_may_stand_in_a_file() {
    let pair = Pair::ed("one");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("jwks.json");
    std::fs::write(&file, json!({"keys": [pair.jwk]}).to_string()).unwrap();
    let jwks = Jwks::serve(Vec::new()).await;
    let issuer = Issuer { jwks_url: None, jwks_file: Some(file), ..issuer(&jwks, 0) };
    let served = served(issuer).await;
    assert_eq!(served.get(&pair.sign(&claims(json!({}))), "/v1/calls").await.status, 200);
}

#[tokio::test]
async fn an_issuer_that_makes_no_sense_is_refused() {
    let jwks = Jwks::serve(Vec::new()).await;
    let good = issuer(&jwks, 0);
    let mut cases = Vec::new();
    let mut case = |word: &'static str, change: &dyn Fn(&mut Issuer)| {
        let mut issuer = good.clone();
        change(&mut issuer);
        cases.push((word, issuer));
    };
    case("`audience` is needed", &|one| one.audience.clear());
    case("must begin with `https://`", &|one| one.jwks_url = Some("http://login.example/k".into()));
    case("`jwks_url` or `jwks_file`", &|one| one.jwks_url = None);
    case("`HS256` is not an algorithm", &|one| one.algorithms = vec!["HS256".into()]);
    case("`none` is not an algorithm", &|one| one.algorithms = vec!["none".into()]);
    case("at most 300", &|one| one.leeway_s = Some(3600));
    case("say whose it is", &|one| one.claims.tenant = None);
    case("has no name", &|one| one.claims.service = Some(String::new()));
    case("are one claim", &|one| one.claims.service = one.claims.agent.clone());
    for (word, issuer) in cases {
        let why = Issuers::load(&[issuer]).err().unwrap().to_string();
        assert!(why.contains(word), "{why}");
    }
    let twice = Issuers::load(&[good.clone(), good]).err().unwrap().to_string();
    assert!(twice.contains("there twice"), "{twice}");
}

/// Signs in to the console with a text; what the browser then holds, or the status.
async fn signed_in(served: &Served, text: &str) -> Result<String, u16> {
    let form = format!("key={text}");
    let enter = format!(
        "POST /console/sign-in HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n\
         Connection: close\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: {}\r\n\r\n{form}",
        form.len()
    );
    let entered = served.raw(enter.as_bytes()).await;
    match entered.status {
        303 => Ok(entered.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()),
        status => Err(status),
    }
}

#[tokio::test]
async fn a_token_signs_in_to_the_console_as_whoever_it_says() {
    let ed = Pair::ed("one");
    let jwks = Jwks::serve(vec![ed.jwk.clone()]).await;
    let served = served(issuer(&jwks, 10)).await;
    let visit = async |cookie: &str, path: &str| {
        let text = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nCookie: {cookie}\r\n\r\n"
        );
        served.raw(text.as_bytes()).await
    };
    let cookie = signed_in(&served, &ed.sign(&claims(json!({})))).await.unwrap();
    let page = visit(&cookie, "/console").await;
    assert!(page.status == 200 && page.body.contains("user:ann"), "{page:?}");
    assert_eq!(visit(&cookie, "/console/keys").await.status, 403, "an operator, no administrator");
    let agent = ed.sign(&claims(json!({"agent": "helper"})));
    assert_eq!(signed_in(&served, &agent).await, Err(403));
    let stranger = Pair::ed("one").sign(&claims(json!({})));
    assert_eq!(signed_in(&served, &stranger).await, Err(401));
    let over = ed.sign(&claims(json!({"exp": 1_000_000})));
    assert_eq!(signed_in(&served, &over).await, Err(401));
    // What lasts goes on for as long as the token is good.
    let mut stream = served.connect().await;
    let ask = format!(
        "GET /console/events/stream HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\n\r\n"
    );
    stream.write_all(ask.as_bytes()).await.unwrap();
    // It is looked at each second, by a clock that is ahead of the real one here.
    tokio::time::pause();
    tokio::time::sleep(std::time::Duration::from_millis(2_500)).await;
    tokio::time::resume();
    let call = json!({"tool": "echo", "arguments": {"text": "x"}});
    assert_eq!(served.post(&served.agent, "/v1/agents/helper/calls", call).await.status, 200);
    let hear = async {
        let mut heard = String::new();
        while !heard.contains("tool_call") {
            let mut piece = [0; 4096];
            let count = stream.read(&mut piece).await.unwrap();
            assert_ne!(count, 0, "the stream ended: {heard}");
            heard += &String::from_utf8_lossy(&piece[..count]);
        }
    };
    let heard = tokio::time::timeout(std::time::Duration::from_secs(20), hear).await;
    heard.expect("the stream has ended");
}

/// A rule that only users of the second level and above pass.
fn by_level(builder: Builder) -> Builder {
    let text = "@id(\"levels\") forbid (principal, action, resource) \
                unless { context.user has level && context.user.level >= 2 };";
    let rules = Rules {
        allow: vec!["shop__*".into()],
        user: [("level".to_owned(), UserType::Integer)].into(),
        ..Rules::default()
    };
    let cedar = vec![Text { file: "levels.cedar".into(), text: text.into() }];
    builder.source(Source { rules: rules.clone(), cedar, ..Source::default() }).rules(rules)
}

fn ada(id: &str, user: Value) -> (String, Key) {
    let (text, sha256) = mint(id, &[7; 32]);
    let key = json!({"id": id, "sha256": sha256, "tenant": "ours", "principal": "user:ada",
                     "roles": ["administrator"], "user": user});
    (text, serde_json::from_value(key).unwrap())
}

#[tokio::test]
async fn rules_know_of_a_user_what_the_credential_says() {
    let pair = Pair::ed("one");
    let jwks = Jwks::serve(vec![pair.jwk.clone()]).await;
    let mut issuer = issuer(&jwks, 10);
    issuer.claims.user = [("level".to_owned(), "plan.level".to_owned())].into();
    let issuers = Issuers::load(&[issuer]).unwrap();
    let (high, a) = ada("high", json!({"level": 3}));
    let (low, b) = ada("low", json!({"level": 1}));
    let (odd, c) = ada("odd", json!({"level": "3"}));
    let (silent, d) = ada("silent", json!({}));
    let served = Served::build(Arc::new(Memory::new()), Limits::default(), by_level, |mut door| {
        door.keys = Keys::load(&[a, b, c, d]).unwrap();
        door.issuers(issuers)
    })
    .await;
    let wanted = json!({"principal": "agent:helper", "roles": ["agent"], "user": {"level": 2}});
    let made = served.post(&high, "/v1/admin/keys", wanted).await.json();
    assert_eq!(made["entry"]["value"]["user"], json!({"level": 2}), "{made}");
    let stored = made["key"].as_str().unwrap().to_owned();
    let token = |plan: Value| pair.sign(&claims(json!({ "plan": plan })));
    for (key, status) in [
        (high, 200),
        (low, 404),
        (odd, 404),
        (silent, 404),
        (stored, 200),
        (token(json!({"level": 2})), 200),
        (token(json!({"level": 1})), 404),
        // What is not of its type refuses, and so does what nobody says.
        (token(json!({"level": "many"})), 404),
        (token(json!("pro")), 404),
    ] {
        let call = json!({"tool": "echo", "arguments": {"text": "x"}});
        let done = served.post(&key, "/v1/agents/helper/calls", call).await;
        assert_eq!(done.status, status, "{done:?}");
    }
}

#[test]
fn a_key_says_nothing_of_its_user_that_rules_cannot_read() {
    let (_, key) = ada("deep", json!({"plan": {"level": 2}}));
    assert_eq!(key.principal, Principal::user("ada"));
    let refused = Keys::load(&[key]).unwrap_err().to_string();
    assert!(refused.contains("says in `user` what rules cannot read"), "{refused}");
}

#[tokio::test]
async fn nothing_begins_with_a_token_that_is_over_and_its_session_goes_on_with_a_newer_one() {
    let pair = Pair::ed("one");
    let jwks = Jwks::serve(vec![pair.jwk.clone()]).await;
    let served = Arc::new(served(issuer(&jwks, 3600)).await);
    let token = |exp: u64| pair.sign(&claims(json!({"agent": "helper", "exp": exp})));
    let (old, newer) = (token(now() + 3), token(now() + 600));
    let session = mcp::begin(&served, &old).await;
    let send = |text: &str| json!({"tool": "send", "critical": false, "arguments": {"text": text}});
    let asking = tokio::spawn({
        let (served, old) = (served.clone(), old.clone());
        let calls = json!({"calls": [send("wait"), send("2")]});
        let key = [("Idempotency-Key", "k")];
        async move { served.send(&old, "POST", CALLS, &key, Some(calls)).await }
    });
    served.ran(1).await;
    while served.get(&old, "/v1/agents/helper/tools").await.status != 401 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    served.gate()(1);
    let ends = asking.await.unwrap().json();
    assert_eq!((&ends[0]["ok"], &ends[1]["error"]["kind"]), (&json!(true), &json!("denied")));
    assert_eq!(served.runs(), 1, "{ends}");
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "echo", "arguments": {"text": "hi"}}});
    let done = mcp::streamed(&mcp::in_session(&served, &newer, &session, call).await);
    assert_eq!(done["result"]["isError"], false, "{done}");
}
