//! Bodies that are on their way while their requests have no place: so many bytes for all, and no
//! tenant has more than half of them. Their number is that of the connections.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::problem::Problem;

/// So many bytes of them are kept.
const BYTES: usize = 64 << 20;

/// All of them.
#[derive(Clone, Default)]
pub(crate) struct Arriving(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    all: usize,
    tenants: HashMap<Option<Arc<str>>, usize>,
}

/// What is there of one body, until this is dropped.
pub(crate) struct Part {
    of: Arriving,
    tenant: Option<Arc<str>>,
    bytes: usize,
}

impl Arriving {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A body of which nothing is there yet.
    pub(crate) fn begin(&self, tenant: Option<Arc<str>>) -> Part {
        Part { of: self.clone(), tenant, bytes: 0 }
    }
}

impl Part {
    /// More of it has come.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), Problem> {
        let mut kept = self.of.kept();
        let own = kept.tenants.get(&self.tenant).copied().unwrap_or_default();
        if kept.all + bytes > BYTES {
            return Err(Problem::overloaded());
        }
        if own + bytes > BYTES / 2 {
            return Err(Problem::too_much_at_once());
        }
        kept.all += bytes;
        kept.tenants.insert(self.tenant.clone(), own + bytes);
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        let mut kept = self.of.kept();
        kept.all = kept.all.saturating_sub(self.bytes);
        if let Some(own) = kept.tenants.get_mut(&self.tenant) {
            *own = own.saturating_sub(self.bytes);
            if *own == 0 {
                kept.tenants.remove(&self.tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tenant_keeps_the_others_bodies_out() {
        let arriving = Arriving::default();
        let of = |tenant: &str| arriving.begin(Some(Arc::from(tenant)));
        let (mut ours, mut again, mut theirs, mut third) = (of("a"), of("a"), of("b"), of("c"));
        ours.grow(BYTES / 2 - 1).unwrap();
        assert_eq!(again.grow(2).unwrap_err().code(), "rate_limited");
        again.grow(1).unwrap();
        theirs.grow(BYTES / 2).unwrap();
        assert_eq!(third.grow(1).unwrap_err().code(), "overloaded");
        drop(ours);
        third.grow(1).unwrap();
        drop((again, theirs, third));
        let kept = arriving.kept();
        assert_eq!((kept.all, kept.tenants.len()), (0, 0));
    }
}
