//! What agents asked for and did not have, counted for administrators.

use std::collections::HashMap;

use parking_lot::Mutex;
use serde::Serialize;

/// How many different wishes of one tenant are counted.
const MOST: usize = 1000;
/// How many tenants have wishes.
const MOST_TENANTS: usize = 10_000;
/// Longer names are no tools.
const LONGEST: usize = 128;

/// A tool that an agent asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Suggestion {
    /// The agent.
    pub agent: String,
    /// The name that it asked for.
    pub tool: String,
    /// How often.
    pub calls: u64,
}

/// Calls that were refused for want of a tool. Bounded: models make names up.
#[derive(Debug, Default)]
pub struct Suggestions(Mutex<HashMap<String, Wishes>>);

/// By agent and tool.
type Wishes = HashMap<(String, String), u64>;

impl Suggestions {
    /// Counts a call that was refused for want of a tool.
    pub fn note(&self, tenant: &str, agent: &str, tool: &str) {
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        if tool.is_empty() || tool.len() > LONGEST || !tool.chars().all(is_name) {
            return;
        }
        let mut all = self.0.lock();
        if all.len() >= MOST_TENANTS && !all.contains_key(tenant) {
            return;
        }
        let wishes = all.entry(tenant.to_owned()).or_default();
        let key = (agent.to_owned(), tool.to_owned());
        if let Some(calls) = wishes.get_mut(&key) {
            *calls = calls.saturating_add(1);
            return;
        }
        if wishes.len() >= MOST {
            make_room(wishes);
        }
        wishes.insert(key, 1);
    }

    /// Forgets wishes of an agent that were granted.
    pub fn settle(&self, tenant: &str, agent: &str, tools: &[&str]) {
        if let Some(wishes) = self.0.lock().get_mut(tenant) {
            wishes.retain(|(who, tool), _| who != agent || !tools.contains(&tool.as_str()));
        }
    }

    /// Forgets the wishes of a tenant that was removed: whoever is called so later has wishes of its own.
    pub fn forget(&self, tenant: &str) {
        self.0.lock().remove(tenant);
    }

    /// What a tenant's agents asked for, the most wanted first.
    #[must_use]
    pub fn of(&self, tenant: &str) -> Vec<Suggestion> {
        let all = self.0.lock();
        let wishes = all.get(tenant).into_iter().flatten();
        let mut wishes: Vec<Suggestion> = wishes
            .map(|((agent, tool), calls)| Suggestion {
                agent: agent.clone(),
                tool: tool.clone(),
                calls: *calls,
            })
            .collect();
        wishes.sort_by(|one, other| {
            other
                .calls
                .cmp(&one.calls)
                .then_with(|| (&one.tool, &one.agent).cmp(&(&other.tool, &other.agent)))
        });
        wishes
    }
}

/// What was asked for least makes room, half of it all: a model that makes names up is not in the way of what is
/// asked for often.
fn make_room(wishes: &mut Wishes) {
    let mut often: Vec<u64> = wishes.values().copied().collect();
    let (_, middle, _) = often.select_nth_unstable(MOST / 2 - 1);
    let (middle, mut going) = (*middle, MOST / 2);
    wishes.retain(|_, calls| {
        let goes = going > 0 && *calls <= middle;
        going -= usize::from(goes);
        !goes
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_names_leave_room_for_what_is_asked_for_often() {
        let all = Suggestions::default();
        for round in 0..3 {
            for at in 0..MOST {
                // Each of them twice, as a model does that does not give up.
                for _ in 0..2 {
                    all.note("acme", "support", &format!("made_up_{round}_{at}"));
                }
                if at % 100 == 0 {
                    all.note("acme", "support", "refund");
                }
            }
        }
        let wishes = all.of("acme");
        assert!(wishes.len() <= MOST, "{}", wishes.len());
        assert_eq!((wishes[0].tool.as_str(), wishes[0].calls), ("refund", 30));
    }
}
