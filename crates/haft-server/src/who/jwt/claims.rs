//! From what a token says to who its bearer is.

use haft_core::call::{Principal, PrincipalKind};
use serde_json::{Map, Value};

use super::Issuer;
use crate::who::facts::Facts;
use crate::who::{Role, Who, looks_like_another};

type Claims = Map<String, Value>;

/// Whoever an issuer says the bearer is. The claims have been checked.
pub(super) fn who(issuer: &Issuer, claims: &Claims) -> Result<Who, String> {
    let tenant = tenant(issuer, claims)?;
    let subject = match named(claims, issuer.claims.subject.as_deref())? {
        Some(id) => Some(of_kind(PrincipalKind::User, id)?),
        None => None,
    };
    let (actor, roles) = actor(issuer, claims)?;
    let said = user(issuer, claims);
    let who = Who::by_token(&issuer.issuer, tenant, actor, subject, roles, &said);
    Ok(match last_s(issuer, claims) {
        Some(last) => who.until(last),
        None => who,
    })
}

/// The last second in which a token is good, with what clocks may differ by.
fn last_s(issuer: &Issuer, claims: &Claims) -> Option<u64> {
    let exp = claims.get("exp")?;
    let exp = exp.as_u64().or_else(|| exp.as_f64().map(|s| s.round() as u64))?;
    Some(exp.saturating_add(issuer.leeway()))
}

/// Who acts, and what they may: whatever a token says, an agent holds no other role, and no program
/// approves.
fn actor(issuer: &Issuer, claims: &Claims) -> Result<(Principal, Vec<Role>), String> {
    let names = &issuer.claims;
    if let Some(agent) = named(claims, names.agent.as_deref())? {
        return Ok((of_kind(PrincipalKind::Agent, agent)?, vec![Role::Agent]));
    }
    let mut roles = roles(issuer, claims);
    let actor = match named(claims, names.service.as_deref())? {
        Some(service) => of_kind(PrincipalKind::Service, service)?,
        None => {
            let name = names.principal.as_deref().unwrap_or("sub");
            anybody(text(claims, name).ok_or_else(|| format!("no claim `{name}`"))?)?
        }
    };
    match actor.kind {
        PrincipalKind::User => {}
        // A name makes nobody an agent who may act: the roles must say so, too.
        PrincipalKind::Agent => roles.retain(|role| *role == Role::Agent),
        PrincipalKind::Service => roles.retain(|role| *role != Role::Approver),
    }
    Ok((actor, roles))
}

/// Somebody of whatever kind the name says; a person where it says none. So `jo` and `user:jo` are one,
/// and `agent:helper` is no person who could approve what it asked for.
fn anybody(name: &str) -> Result<Principal, String> {
    match Principal::parse(name) {
        Ok(said) => principal(said.kind.as_str(), &said.id),
        Err(_) => principal("user", name),
    }
}

/// Somebody of this kind, whether or not the name says so.
fn of_kind(kind: PrincipalKind, name: &str) -> Result<Principal, String> {
    let own = name.strip_prefix(kind.as_str()).and_then(|rest| rest.strip_prefix(':'));
    principal(kind.as_str(), own.unwrap_or(name))
}

/// What the token says about its user. A claim of a kind that the rules do not expect is handed on
/// as it is: what reads it cannot be evaluated, and that refuses.
fn user(issuer: &Issuer, claims: &Claims) -> Facts {
    let said = issuer.claims.user.iter().filter_map(|(member, claim)| {
        find(claims, claim).map(|value| (member.clone(), value.clone()))
    });
    said.collect()
}

fn tenant<'a>(issuer: &'a Issuer, claims: &'a Claims) -> Result<&'a str, String> {
    let said = match &issuer.claims.tenant {
        Some(name) => text(claims, name).or(issuer.tenant.as_deref()),
        None => issuer.tenant.as_deref(),
    };
    let said = said.ok_or("no claim says which tenant")?;
    let allowed = issuer.tenants.as_ref().is_none_or(|all| all.iter().any(|one| one == said));
    let named = principal("agent", said).is_ok();
    match allowed && named {
        true => Ok(said),
        false => Err("it names a tenant that this issuer does not speak for".to_owned()),
    }
}

/// A principal of this kind, whose name is read as nobody else's.
fn principal(kind: &str, id: &str) -> Result<Principal, String> {
    let principal = Principal::parse(&format!("{kind}:{id}"))?;
    match looks_like_another(&principal) {
        Some(why) => Err(format!("it {why}")),
        None => Ok(principal),
    }
}

fn roles(issuer: &Issuer, claims: &Claims) -> Vec<Role> {
    let said = issuer.claims.roles.as_deref().and_then(|name| find(claims, name));
    let words: Vec<&str> = match said {
        Some(Value::String(text)) => text.split_whitespace().collect(),
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
            Vec::new()
        }
    };
    let role = |word: &&str| match issuer.roles.is_empty() {
        true => serde_json::from_value(Value::from(*word)).ok(),
        false => issuer.roles.get(*word).copied(),
    };
    let mut roles: Vec<Role> = words.iter().filter_map(role).collect();
    roles.sort_unstable();
    roles.dedup();
    roles
}

/// A claim that decides who somebody is. One that is there and is no text is not passed over: its
/// bearer would be taken for somebody else.
fn named<'a>(claims: &'a Claims, name: Option<&str>) -> Result<Option<&'a str>, String> {
    let Some(name) = name else { return Ok(None) };
    match find(claims, name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if !text.is_empty() => Ok(Some(text)),
        Some(_) => Err(format!("the claim `{name}` is no text")),
    }
}

fn text<'a>(claims: &'a Claims, name: &str) -> Option<&'a str> {
    find(claims, name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// A claim by its name, or by a way into objects. Names with dots in them, as addresses have, come
/// first.
fn find<'a>(claims: &'a Claims, name: &str) -> Option<&'a Value> {
    if let Some(value) = claims.get(name) {
        return Some(value);
    }
    let mut parts = name.split('.');
    let first = claims.get(parts.next()?)?;
    parts.try_fold(first, |value, part| value.get(part))
}
