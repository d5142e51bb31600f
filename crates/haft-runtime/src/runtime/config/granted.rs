//! Connections that were granted by a command, beside what is declared and configured.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use haft_core::port::StoreError;

use super::Office;
use crate::config::{Merged, is_listed};
use crate::policy::{Grant, Problem};
use crate::toolbox::Stocks;

impl Office {
    /// The grants of connections as they are kept now; nothing where they are as they were.
    pub(super) async fn newly_granted(&self) -> Result<Option<Vec<Grant>>, StoreError> {
        let Some(connections) = &self.connections else { return Ok(None) };
        let mut providers: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        let mut all = Vec::new();
        for kept in connections.grants().await? {
            if !providers.contains_key(&kept.tenant) {
                let accounts = connections.accounts(&kept.tenant).await?;
                let accounts = accounts.into_iter().map(|one| (one.id, one.provider)).collect();
                providers.insert(kept.tenant.clone(), accounts);
            }
            let of_tenant = providers.get(&kept.tenant);
            // Of a connection that is gone there is nothing to grant.
            let Some(provider) = of_tenant.and_then(|all| all.get(&kept.connection)) else {
                continue;
            };
            all.push(Grant {
                provider: provider.clone(),
                connection: kept.connection,
                tenant: kept.tenant,
                principals: kept.principals,
                tools: kept.tools,
            });
        }
        Ok((all != **self.granted.load()).then_some(all))
    }
}

/// Adds what was granted. What fits no tool, or contradicts what is declared, grants nothing and is
/// reported: it must not take the rest of its tenant down.
pub(super) fn add(merged: &mut Merged, granted: &[Grant], stocks: &Stocks<'_>) {
    let tenants: HashSet<String> =
        merged.records.tenants.iter().map(|one| one.id.clone()).collect();
    // What each connection is an account of; looked up, since there may be many grants.
    let mut providers: HashMap<(String, String), BTreeSet<String>> = HashMap::new();
    for one in &merged.records.grants {
        providers.entry(account(one)).or_default().insert(one.provider.clone());
    }
    for grant in granted.iter().filter(|one| tenants.contains(&one.tenant)) {
        let place = format!("grant of connection `{}`", grant.connection);
        let others = providers.entry(account(grant)).or_default();
        if let Some(other) = others.iter().find(|other| **other != grant.provider) {
            let message = format!(
                "{place}: it is an account of `{}` here and of `{other}` elsewhere, so this grant does not count",
                grant.provider
            );
            merged.problems.push(Problem::warning("connections", message));
            continue;
        }
        let stock = stocks.of(&grant.tenant);
        let mut grant = grant.clone();
        grant.tools.retain(|name| {
            let known = name.contains('*') || is_listed(stock, name);
            if !known {
                let message = format!("{place}: there is no tool `{name}` now");
                merged.problems.push(Problem::warning("connections", message));
            }
            known
        });
        if !grant.tools.is_empty() {
            others.insert(grant.provider.clone());
            merged.records.grants.push(grant);
        }
    }
}

fn account(grant: &Grant) -> (String, String) {
    (grant.tenant.clone(), grant.connection.clone())
}
