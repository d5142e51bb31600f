//! Consents that people are asked for, in memory: few, each good once and for a while.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::connection::{Consent as Asked, OAuth};
use tokio::time::Instant;

use super::{Aim, Consent, Standing};
use crate::guard::Credential;
use crate::problem::Problem;
use crate::who::Who;

/// So long a person may take.
const PATIENCE: Duration = Duration::from_secs(10 * 60);
/// So long it is known afterwards how it ended.
const KNOWN: Duration = Duration::from_secs(10 * 60);
/// So many are under way at once, and so many of one tenant.
const MOST: usize = 1_000;
const OF_TENANT: usize = 100;
/// Of so many of one tenant that have ended it is known how: the last ones.
const ENDED: usize = 100;

/// What the answer is waited for with.
pub(super) struct Pending {
    pub(super) who: Who,
    pub(super) credential: Option<Credential>,
    pub(super) aim: Aim,
    pub(super) oauth: Box<OAuth>,
    pub(super) consent: Asked,
}

/// What an answer finds.
pub(super) enum Taken {
    /// It was waited for.
    Now(Pending),
    /// It came before, and this is how that stands.
    Before(Consent),
}

/// By which an answer is known again.
type Mark = [u8; 32];

/// How one ended.
pub(super) struct Seen {
    pub(super) status: Standing,
    pub(super) detail: Option<String>,
}

struct Kept {
    who: Who,
    connection: String,
    renewal: bool,
    began: Instant,
    expires_at_ms: i64,
    stage: Stage,
}

enum Stage {
    Waiting(Box<Pending>),
    Redeeming(Mark),
    Ended(Mark, Seen),
}

/// All of them, by state.
#[derive(Default)]
pub(crate) struct Consents(Mutex<HashMap<String, Kept>>);

impl Consents {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Kept>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, one| one.began.elapsed() < PATIENCE + KNOWN);
        all
    }

    pub(super) fn begin(&self, pending: Pending, now_ms: i64) -> Result<Consent, Problem> {
        let mut all = self.all();
        let open = all.values().filter(|one| one.is_under_way());
        if open.clone().filter(|one| one.who.tenant == pending.who.tenant).count() >= OF_TENANT {
            return Err(Problem::too_many_asked(OF_TENANT));
        }
        if open.count() >= MOST {
            return Err(Problem::overloaded());
        }
        forget_oldest(&mut all, &pending.who.tenant);
        let state = pending.consent.state.clone();
        let patience = i64::try_from(PATIENCE.as_millis()).unwrap_or(i64::MAX);
        let kept = Kept {
            who: pending.who.clone(),
            connection: pending.aim.id().to_owned(),
            renewal: matches!(pending.aim, Aim::Again(_)),
            began: Instant::now(),
            expires_at_ms: now_ms.saturating_add(patience),
            stage: Stage::Waiting(Box::new(pending)),
        };
        let shown = kept.shown(&state);
        all.insert(state, kept);
        Ok(shown)
    }

    /// What a state stands for: once, and in time. Whoever brings the same answer again is told what
    /// came of it, and nobody else.
    pub(super) fn take(&self, state: &str, mark: Mark) -> Option<Taken> {
        let mut all = self.all();
        let kept = all.get_mut(state)?;
        match &kept.stage {
            Stage::Waiting(_) if !kept.is_open() => None,
            Stage::Waiting(_) => match std::mem::replace(&mut kept.stage, Stage::Redeeming(mark)) {
                Stage::Waiting(pending) => Some(Taken::Now(*pending)),
                Stage::Redeeming(_) | Stage::Ended(..) => None,
            },
            Stage::Redeeming(before) | Stage::Ended(before, _) => {
                (*before == mark).then(|| Taken::Before(kept.shown(state)))
            }
        }
    }

    /// How a state stands, for whoever could take it or has.
    pub(super) fn look(&self, state: &str, mark: Mark) -> Option<Consent> {
        let all = self.all();
        let kept = all.get(state)?;
        let fits = match &kept.stage {
            Stage::Waiting(_) => kept.is_open(),
            Stage::Redeeming(before) | Stage::Ended(before, _) => *before == mark,
        };
        fits.then(|| kept.shown(state))
    }

    pub(super) fn settle(&self, state: &str, seen: Seen) {
        if let Some(kept) = self.all().get_mut(state)
            && let Stage::Redeeming(mark) = kept.stage
        {
            kept.stage = Stage::Ended(mark, seen);
        }
    }

    /// One that the same principal of the same tenant has asked for.
    pub(super) fn of(&self, who: &Who, state: &str) -> Option<Consent> {
        let all = self.all();
        all.get(state).filter(|one| one.is_of(who)).map(|one| one.shown(state))
    }

    pub(super) fn cancel(&self, who: &Who, state: &str) -> Result<(), Problem> {
        let mut all = self.all();
        let kept = all.get(state).filter(|one| one.is_of(who));
        match kept.ok_or_else(|| Problem::missing("consent"))?.stage {
            Stage::Waiting(_) => drop(all.remove(state)),
            Stage::Redeeming(_) => {
                return Err(Problem::busy("a person has agreed, and the connection is being made"));
            }
            Stage::Ended(..) => {
                let fix = "see how it ended: `GET /v1/consents/{state}`; a connection that nobody wants is \
                           removed with `DELETE /v1/connections/{id}`";
                return Err(Problem::ended().advise(fix));
            }
        }
        Ok(())
    }
}

/// Forgets how the oldest of a tenant ended, where too many have.
fn forget_oldest(all: &mut HashMap<String, Kept>, tenant: &str) {
    let ended = all.iter().filter(|(_, one)| *one.who.tenant == *tenant && !one.is_under_way());
    let mut ended: Vec<_> = ended.map(|(state, one)| (one.began, state.clone())).collect();
    ended.sort();
    let surplus = ended.len().saturating_sub(ENDED);
    for (_, state) in ended.into_iter().take(surplus) {
        all.remove(&state);
    }
}

impl Kept {
    fn is_of(&self, who: &Who) -> bool {
        self.who.shares_tenant(who) && self.who.principal == who.principal
    }

    /// Whether somebody may still answer, or has and it is being made.
    fn is_under_way(&self) -> bool {
        matches!(self.stage, Stage::Redeeming(_)) || self.is_open()
    }

    fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Waiting(_)) && self.began.elapsed() < PATIENCE
    }

    fn shown(&self, state: &str) -> Consent {
        let (status, detail) = match &self.stage {
            Stage::Waiting(_) if !self.is_open() => {
                (Standing::Failed, Some("nobody agreed within ten minutes".to_owned()))
            }
            Stage::Waiting(_) => (Standing::Waiting, None),
            Stage::Redeeming(_) => (Standing::Redeeming, None),
            Stage::Ended(_, seen) => (seen.status, seen.detail.clone()),
        };
        let asked = match &self.stage {
            Stage::Waiting(pending) if self.is_open() => Some(&pending.consent),
            Stage::Waiting(_) | Stage::Redeeming(_) | Stage::Ended(..) => None,
        };
        Consent {
            state: state.to_owned(),
            connection: self.connection.clone(),
            renewal: self.renewal,
            status,
            url: asked.map(|one| one.url.clone()),
            redirect_uri: asked.map(|one| one.redirect.clone()),
            detail,
            expires_at_ms: self.expires_at_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use haft_core::Principal;
    use haft_core::connection::{AuthKind, Credentials};
    use haft_core::secret::SecretText;
    use haft_runtime::connections::{Proof, Wanted};

    use super::*;
    use crate::who::Role;

    fn who(tenant: &str, user: &str) -> Who {
        Who::by_token(
            "issuer",
            tenant,
            Principal::user(user),
            None,
            vec![Role::Administrator],
            &crate::who::facts::Facts::default(),
        )
    }

    fn pending(who: Who, state: &str) -> Pending {
        let wanted = Wanted {
            id: "me".into(),
            provider: "p".into(),
            kind: AuthKind::AuthorizationCode,
            hosts: Vec::new(),
            name: None,
            user: None,
            token_url: Some("https://auth.example/token".into()),
            client_id: Some("c".into()),
            proof: Proof::None,
            scopes: Vec::new(),
            audience: None,
        };
        let Credentials::OAuth(oauth) = wanted.credentials(None).unwrap() else { panic!() };
        let consent = Asked {
            url: "https://auth.example/agree".into(),
            state: state.into(),
            verifier: SecretText::new("v".repeat(43)),
            redirect: "http://localhost/console/consent".into(),
        };
        Pending { who, credential: None, aim: Aim::New(Box::new(wanted)), oauth, consent }
    }

    fn now(desk: &Consents, state: &str) -> bool {
        matches!(desk.take(state, [1; 32]), Some(Taken::Now(_)))
    }

    fn before(desk: &Consents, state: &str, mark: Mark) -> Option<Standing> {
        match desk.take(state, mark)? {
            Taken::Now(_) => panic!("{state}: taken twice"),
            Taken::Before(stands) => Some(stands.status),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_state_is_good_once_in_time_and_known_to_who_asked() {
        let (desk, mara) = (Consents::default(), who("a", "mara"));
        let begin = |who: &Who, state| desk.begin(pending(who.clone(), state), 0);
        assert_eq!(begin(&mara, "one").unwrap().status, Standing::Waiting);
        for other in [who("a", "eve"), who("b", "mara")] {
            assert!(desk.of(&other, "one").is_none());
            assert!(desk.cancel(&other, "one").is_err());
        }
        assert!(!now(&desk, "none"));
        assert!(now(&desk, "one"));
        assert_eq!(before(&desk, "one", [1; 32]), Some(Standing::Redeeming), "twice");
        assert_eq!(before(&desk, "one", [2; 32]), None, "another answer");
        assert_eq!(desk.of(&mara, "one").unwrap().status, Standing::Redeeming);
        assert!(desk.cancel(&mara, "one").is_err(), "it was answered");
        desk.settle("one", Seen { status: Standing::Connected, detail: None });
        assert_eq!(desk.of(&mara, "one").unwrap().status, Standing::Connected);
        assert_eq!(before(&desk, "one", [1; 32]), Some(Standing::Connected), "it is done already");
        assert_eq!(before(&desk, "one", [2; 32]), None, "another answer");
        begin(&mara, "two").unwrap();
        desk.cancel(&mara, "two").unwrap();
        assert!(!now(&desk, "two"), "it was called off");
        begin(&mara, "three").unwrap();
        tokio::time::advance(PATIENCE).await;
        assert!(!now(&desk, "three"), "too late");
        let late = desk.of(&mara, "three").unwrap();
        assert_eq!((late.status, late.url), (Standing::Failed, None));
        tokio::time::advance(KNOWN).await;
        assert!(desk.of(&mara, "three").is_none(), "forgotten");
    }

    #[tokio::test(start_paused = true)]
    async fn no_tenant_takes_the_others_places() {
        let desk = Consents::default();
        let begin = |tenant: &str, at: usize| {
            desk.begin(pending(who(tenant, "mara"), &format!("{tenant}{at}")), 0)
        };
        for at in 0..OF_TENANT {
            begin("a", at).unwrap();
        }
        let full = begin("a", OF_TENANT).unwrap_err();
        assert_eq!(full.code(), "rate_limited");
        assert!(full.detail().contains("100 consents"), "{}", full.detail());
        // One that has ended takes nobody's place, and it is known how it ended.
        assert!(now(&desk, "a0"));
        assert!(begin("a", OF_TENANT).is_err(), "it is being made");
        desk.settle("a0", Seen { status: Standing::Connected, detail: None });
        begin("a", OF_TENANT).unwrap();
        assert_eq!(desk.of(&who("a", "mara"), "a0").unwrap().status, Standing::Connected);
        assert!(begin("a", OF_TENANT + 1).is_err());
        begin("b", 0).unwrap();
        // Nor does one that nobody answered in time.
        tokio::time::advance(PATIENCE).await;
        for at in 0..OF_TENANT {
            begin("a", 1_000 + at).unwrap();
        }
        assert!(begin("a", 2_000).is_err());
        assert!(desk.all().len() <= 2 * OF_TENANT + 1, "of those that have ended few are known");
    }
}
