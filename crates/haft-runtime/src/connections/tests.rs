use super::*;

fn wanted(kind: AuthKind) -> Wanted {
    let text = |text: &str| Some(text.to_owned());
    Wanted {
        id: "work".to_owned(),
        provider: "p".to_owned(),
        kind,
        hosts: Vec::new(),
        name: text("X-Api-Key"),
        user: text("mara"),
        token_url: text("https://auth.example.com/token"),
        client_id: text("me"),
        proof: Proof::Header,
        scopes: Vec::new(),
        audience: None,
    }
}

/// What is wrong with a connection that is changed in one place; nothing where `expected` is empty.
#[track_caller]
fn check(kind: AuthKind, change: impl FnOnce(&mut Wanted), expected: &str) {
    let mut one = wanted(kind);
    change(&mut one);
    let found = one.credentials(one.needs_secret().then(|| SecretText::new("s3cret-secret")));
    let found = found.err().map(|wrong| wrong.to_string()).unwrap_or_default();
    match expected {
        "" => assert_eq!(found, ""),
        expected => assert!(found.starts_with(expected), "{found}"),
    }
}

#[test]
fn every_kind_needs_what_it_sends() {
    for kind in [
        AuthKind::Bearer,
        AuthKind::Header,
        AuthKind::Query,
        AuthKind::Basic,
        AuthKind::ClientCredentials,
        AuthKind::AuthorizationCode,
    ] {
        check(kind, |_| {}, "");
    }
    check(AuthKind::Header, |one| one.name = None, "name: this kind needs it");
    check(AuthKind::Query, |one| one.name = None, "name: this kind needs it");
    check(AuthKind::Basic, |one| one.user = None, "user: this kind needs it");
    check(AuthKind::Basic, |one| one.user = Some("a:b".into()), "user: a name cannot hold `:`");
    check(AuthKind::ClientCredentials, |one| one.token_url = None, "token_url: this kind");
    check(AuthKind::ClientCredentials, |one| one.client_id = None, "client_id: this kind");
    check(AuthKind::ClientCredentials, |one| one.proof = Proof::None, "");
    check(AuthKind::Bearer, |one| one.id = "a b".into(), "id: `a b` is not an id");
    check(AuthKind::Bearer, |one| one.provider = String::new(), "provider: it is empty");
}

#[test]
fn a_secret_goes_into_a_header_that_is_not_ours() {
    for (name, expected) in [
        ("X-Api-Key", ""),
        ("Authorization", ""),
        ("Host", "name: `Host` is a header that haft writes itself"),
        ("content-length", "name: `content-length` is a header"),
        ("Transfer-Encoding", "name: `Transfer-Encoding` is a header"),
        ("CONNECTION", "name: `CONNECTION` is a header"),
        ("a b", "name: a header's name"),
        ("", "name: this kind needs it"),
    ] {
        check(AuthKind::Header, |one| one.name = Some(name.to_owned()), expected);
    }
}

#[test]
fn hosts_are_names_of_one_host_each() {
    for host in ["*.example.com", "https://example.com", "example.com:443", "a@b", "", "a b", "a#b"]
    {
        let why = "hosts: `";
        check(AuthKind::Bearer, |one| one.hosts = vec![host.to_owned()], why);
    }
    check(AuthKind::Bearer, |one| one.hosts = vec!["API.example.com".to_owned()], "");
    let account = Wanted { hosts: vec!["API.example.com".to_owned()], ..wanted(AuthKind::Bearer) };
    assert_eq!(account.account("t", Origin::Tenant).hosts, ["api.example.com"]);
}

#[test]
fn tokens_are_asked_for_encrypted_or_on_this_machine() {
    for (url, expected) in [
        ("https://auth.example.com/token", ""),
        ("http://127.0.0.1:8080/token", ""),
        ("http://localhost/token", ""),
        ("http://[::1]:8080/token", ""),
        ("http://auth.example.com/token", "token_url: a secret is not sent unencrypted"),
        ("http://127.0.0.1.example.com/", "token_url: a secret is not sent unencrypted"),
        ("http://10.0.0.1/token", "token_url: a secret is not sent unencrypted"),
        ("ftp://auth.example.com/", "token_url: only `https`"),
        ("auth.example.com/token", "token_url: it is not a URL"),
        ("https://me:pw@auth.example.com/", "token_url: it has no host, or a password"),
        ("https:///token", "token_url: it has no host"),
        ("https://a.example/#x", "token_url: it has no host, or a password or fragment"),
        ("https://a.example/ x", "token_url: it is not a URL"),
    ] {
        check(AuthKind::ClientCredentials, |one| one.token_url = Some(url.to_owned()), expected);
    }
}

#[test]
fn what_is_said_about_a_secret_never_holds_it() {
    let long = "x".repeat(LONGEST_SECRET + 1);
    for secret in ["12345", "two\nlines-of-it", long.as_str()] {
        let found = wanted(AuthKind::Bearer).credentials(Some(SecretText::new(secret)));
        let said = found.err().map(|wrong| wrong.to_string()).unwrap();
        assert!(said.starts_with("secret: ") && !said.contains(secret), "{said}");
    }
    let none = wanted(AuthKind::Bearer).credentials(None).err().unwrap();
    assert_eq!(none.to_string(), "secret: this kind needs one");
    let mut public = wanted(AuthKind::ClientCredentials);
    public.proof = Proof::None;
    assert!(public.credentials(Some(SecretText::new("s3cret-secret"))).is_err());
}

#[test]
fn grants_name_somebody_and_some_tools() {
    let check = |who: &str, tool: &str, expected: &str| {
        let found = check_grant(&[who.to_owned()], &[tool.to_owned()]);
        let found = found.err().map(|wrong| wrong.to_string()).unwrap_or_default();
        assert!(found.starts_with(expected) && found.is_empty() == expected.is_empty(), "{found}");
    };
    check("agent:*", "core__*", "");
    check("user:mara", "core__x", "");
    check("*", "*", "");
    check("mara", "core__x", "principals: `mara` is nobody");
    check("agent:b*", "core__x", "principals: `agent:b*` is nobody");
    check("*", "core x", "tools: `core x` is not a tool");
    check("*", "", "tools: `` is not a tool");
    assert!(check_grant(&[], &["*".to_owned()]).is_err());
}
