//! Connections of people, whose consent is asked for again: what they have until then, and what they
//! get.

use haft_core::connection::{Account, Credentials, OAuth, OAuthGrant};
use haft_core::port::{Expect, StoreError};

use super::RACES;
use super::kept::{kept, own, unopened, unsealed};
use crate::door::Door;
use crate::problem::Problem;
use crate::who::Who;

/// A connection of a person, whose consent may be asked for again.
pub(in crate::api) async fn of_person(
    door: &Door,
    who: &Who,
    id: &str,
) -> Result<(Account, Box<OAuth>), Problem> {
    let kept = own(door, who, id).await?;
    match kept.open(&who.tenant, id).await.map_err(unopened)? {
        (account, Credentials::OAuth(oauth)) if oauth.grant == OAuthGrant::AuthorizationCode => {
            Ok((account, oauth))
        }
        (account, _) => {
            let kind = account.kind.as_str();
            let why = format!("the connection is of kind `{kind}`, which takes nobody's consent");
            let fix = "replace its secret: `PUT /v1/connections/{id}/secret`";
            Err(Problem::invalid_configuration(why).advise(fix))
        }
    }
}

/// The same connection as it is now; not another that was made under its id since.
pub(in crate::api) async fn still(
    door: &Door,
    who: &Who,
    before: &Account,
) -> Result<(Account, Box<OAuth>), Problem> {
    let (account, oauth) = match of_person(door, who, &before.id).await {
        Err(problem) if problem.code() == "not_found" => {
            let why = "the connection was removed while the person was asked";
            return Err(Problem::busy(why).advise("make it anew where it is still needed"));
        }
        found => found?,
    };
    match account.made_ms == before.made_ms {
        true => Ok((account, oauth)),
        false => {
            let why = "the connection was removed while the person was asked, and another has its id \
                       by now, which keeps what it has";
            Err(Problem::busy(why).advise("ask again, for the one that there is"))
        }
    }
}

/// Gives a connection the tokens of a new consent; who may use it stays as it is.
pub(in crate::api) async fn agreed(
    door: &Door,
    who: &Who,
    before: &Account,
    fresh: &OAuth,
) -> Result<(), Problem> {
    for _ in 0..RACES {
        let (account, mut oauth) = still(door, who, before).await?;
        if oauth.refresh.is_some() && fresh.refresh.is_none() {
            let why = "the provider gave no refresh token, so the connection has what it had";
            let fix = "have it give one (many want `access_type=offline` or `prompt=consent` in the \
                       address for consent), then ask again";
            return Err(Problem::invalid_configuration(why).advise(fix));
        }
        oauth.authorize_url.clone_from(&fresh.authorize_url);
        oauth.refresh.clone_from(&fresh.refresh);
        oauth.access.clone_from(&fresh.access);
        let expect = Expect::Revision(account.revision);
        let after = Credentials::OAuth(oauth);
        match kept(door)?.put(account, &after, expect, Some(&who.principal)).await {
            // A token was renewed meanwhile, or the client's secret replaced.
            Err(StoreError::Stale) => {}
            Err(why) => return Err(unsealed(why)),
            Ok(_) => {
                door.tests.forget(&who.tenant, &before.id);
                return Ok(());
            }
        }
    }
    let why = "others change the connection at the same time, and it has what it had";
    Err(Problem::busy(why).advise("ask again"))
}
