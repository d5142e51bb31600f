//! What stores do, step by step, each inside one transaction on [`Tables`](crate::tables::Tables).

pub(crate) mod configs;
pub(crate) mod confirmations;
pub(crate) mod forget;
pub(crate) mod journal;
pub(crate) mod ledger;
pub(crate) mod proof;
pub(crate) mod sessions;
