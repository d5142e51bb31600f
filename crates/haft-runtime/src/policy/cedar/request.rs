//! A question in Cedar's words: principal, action, tool and context.

use std::collections::{HashMap, HashSet};
use std::str::FromStr;

use cedar_policy::{
    Context, Entities, Entity, EntityId, EntityTypeName, EntityUid, Request,
    RestrictedExpression as Expr,
};
use haft_core::call::{Principal, PrincipalKind};
use haft_core::names::SEPARATOR;
use haft_core::port::Ask;
use haft_core::registry::Tool;

use super::schema::CALL;

/// The names of our entity types, read once.
#[derive(Debug)]
pub(crate) struct Names {
    user: EntityTypeName,
    agent: EntityTypeName,
    service: EntityTypeName,
    tenant: EntityTypeName,
    tool: EntityTypeName,
    action: EntityTypeName,
}

impl Names {
    pub(crate) fn new() -> Result<Self, String> {
        let name = |text: &str| EntityTypeName::from_str(text).map_err(|error| error.to_string());
        Ok(Self {
            user: name("Haft::User")?,
            agent: name("Haft::Agent")?,
            service: name("Haft::Service")?,
            tenant: name("Haft::Tenant")?,
            tool: name("Haft::Tool")?,
            action: name("Haft::Action")?,
        })
    }

    pub(crate) fn is_tool(&self, name: &EntityTypeName) -> bool {
        *name == self.tool
    }

    pub(crate) fn is_action(&self, name: &EntityTypeName) -> bool {
        *name == self.action
    }

    fn principal(&self, principal: &Principal) -> EntityUid {
        let name = match principal.kind {
            PrincipalKind::User => &self.user,
            PrincipalKind::Agent => &self.agent,
            PrincipalKind::Service => &self.service,
        };
        uid(name, &principal.id)
    }

    /// The question whether a principal may do this.
    pub(crate) fn request(
        &self,
        principal: &Principal,
        action: &str,
        ask: &Ask<'_>,
        context: Context,
    ) -> Result<(Request, Entities), String> {
        let who = self.principal(principal);
        let what = uid(&self.action, action);
        let tool = uid(&self.tool, &ask.tool.id);
        let tenant = uid(&self.tenant, &ask.caller.tenant);
        let call = uid(&self.action, CALL);
        let entities = [
            Entity::new_no_attrs(who.clone(), HashSet::from([tenant])),
            Entity::new_no_attrs(what.clone(), HashSet::from([call])),
            Entity::new(tool.clone(), shape(ask.tool), HashSet::new())
                .map_err(|e| e.to_string())?,
        ];
        let entities = Entities::from_entities(entities, None).map_err(|e| e.to_string())?;
        let request =
            Request::new(who, what, tool, context, None).map_err(|error| error.to_string())?;
        Ok((request, entities))
    }
}

fn uid(name: &EntityTypeName, id: &str) -> EntityUid {
    EntityUid::from_type_name_and_id(name.clone(), EntityId::new(id))
}

/// The attributes of a tool.
fn shape(tool: &Tool) -> HashMap<String, Expr> {
    let text = |it: &str| Expr::new_string(it.to_owned());
    let contract = &tool.contract;
    let namespace = tool.id.rsplit_once(SEPARATOR).map_or("", |(namespace, _)| namespace);
    let modes = contract.allowed_modes.iter().map(|mode| text(mode.as_str()));
    HashMap::from([
        ("id".into(), text(&tool.id)),
        ("namespace".into(), text(namespace)),
        ("category".into(), text(contract.category.as_str())),
        ("effect".into(), text(contract.effect.as_str())),
        ("policy".into(), text(contract.side_effect_policy.as_str())),
        ("tags".into(), Expr::new_set(contract.tags.iter().map(|tag| text(tag)))),
        ("modes".into(), Expr::new_set(modes)),
    ])
}

/// What every question says about its call.
pub(crate) fn context(
    ask: &Ask<'_>,
    user: Expr,
    arguments: Option<Expr>,
) -> Result<Context, String> {
    let text = |it: &str| Expr::new_string(it.to_owned());
    let caller = ask.caller;
    let mut pairs = vec![
        ("tenant".to_owned(), text(&caller.tenant)),
        ("agent".into(), text(&caller.agent)),
        ("actor".into(), text(&caller.actor.to_string())),
        ("mode".into(), text(ask.mode.as_str())),
        ("user".into(), user),
        ("now".into(), now(ask.now_ms)?),
    ];
    let subject = caller.subject.as_ref().map(|subject| text(&subject.to_string()));
    // A connection that the tool does not take is none of its business.
    let connection = ask.connection.filter(|_| ask.tool.contract.connection.is_some());
    let optional = [
        ("subject", subject),
        ("session", ask.session.map(text)),
        ("connection", connection.map(text)),
        ("arguments", arguments),
    ];
    pairs.extend(optional.into_iter().filter_map(|(name, it)| Some((name.to_owned(), it?))));
    Context::from_pairs(pairs).map_err(|error| error.to_string())
}

fn now(ms: i64) -> Result<Expr, String> {
    let at = jiff::Timestamp::from_millisecond(ms).map_err(|error| error.to_string())?;
    Ok(Expr::new_datetime(at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()))
}
