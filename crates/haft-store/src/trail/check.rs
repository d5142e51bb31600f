//! Checks a chain, entry by entry.

use std::collections::BTreeMap;

use haft_core::Digest;
use haft_core::record::{self, AuditEntry};
use haft_core::registry::PublicKey;

use super::{Broken, Checkpoint, Fault, Gap, Link, Verified};

/// Checkpoints by their entries. All of one entry must agree with it: whoever writes on after an older
/// copy was put back comes to the same numbers, and signs them in good faith.
pub(crate) type Signed = BTreeMap<u64, Vec<Checkpoint>>;

pub(crate) fn by_number(checkpoints: Vec<Checkpoint>) -> Signed {
    checkpoints.into_iter().fold(Signed::new(), |mut signed, one| {
        signed.entry(one.number).or_default().push(one);
        signed
    })
}

/// An entry where it lies: most are looked at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written<'a> {
    pub(crate) number: u64,
    pub(crate) at_ms: i64,
    pub(crate) tenant: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) body: &'a str,
    pub(crate) previous: [u8; 32],
    pub(crate) hash: [u8; 32],
}

impl<'a> From<&'a AuditEntry> for Written<'a> {
    fn from(entry: &'a AuditEntry) -> Self {
        let AuditEntry { number, at_ms, tenant, kind, body, previous, hash } = entry;
        let (number, at_ms, previous, hash) = (*number, *at_ms, previous.raw(), hash.raw());
        Self { number, at_ms, tenant, kind, body, previous, hash }
    }
}

impl Written<'_> {
    /// Whether its hash is that of what it says.
    pub(crate) fn is_intact(&self) -> bool {
        let said = [self.tenant, self.kind, self.body];
        record::entry_hash(self.number, self.at_ms, said, &self.previous) == self.hash
    }
}

/// The check of a chain, fed with its entries in order.
pub(crate) struct Chain {
    /// The number and the hash of the last entry.
    last: (u64, [u8; 32]),
    signed: Signed,
    agreed: u64,
    /// By their first entries.
    gaps: BTreeMap<u64, Gap>,
    forgotten: u64,
    /// Entries that were there, signed or not.
    told: Vec<Link>,
}

impl Chain {
    /// A check from the first entry on, of what was signed with this key.
    pub(crate) fn new(
        checkpoints: Vec<Checkpoint>,
        gaps: Vec<Gap>,
        key: &PublicKey,
    ) -> Result<Self, Broken> {
        if let Some(forged) = checkpoints.iter().find(|one| !one.is_signed_by(key)) {
            return Err(broken(forged.number, None, Fault::Checkpoint));
        }
        if let Some(forged) = gaps.iter().find(|gap| !gap.is_signed_by(key)) {
            return Err(broken(forged.first, None, Fault::Forgotten));
        }
        Ok(Self::from(Link::default(), by_number(checkpoints), gaps))
    }

    /// A check of what comes after this. Who signed checkpoints and gaps is for others to check.
    pub(crate) fn from(last: Link, signed: Signed, gaps: Vec<Gap>) -> Self {
        let gaps = gaps.into_iter().map(|gap| (gap.first, gap)).collect();
        let last = (last.number, last.hash.raw());
        Self { last, signed, agreed: 0, gaps, forgotten: 0, told: Vec::new() }
    }

    /// A check from the first entry on, where nothing was signed.
    pub(crate) fn unsigned(gaps: Vec<Gap>) -> Self {
        Self::from(Link::default(), BTreeMap::new(), gaps)
    }

    /// These entries have been there, although nobody may have signed them.
    pub(crate) fn had(&mut self, told: impl IntoIterator<Item = Link>) {
        self.told.extend(told);
    }

    /// Goes on after entries that were forgotten.
    fn pass(&mut self) -> Result<(), Broken> {
        while let Some(gap) = self.gaps.remove(&self.last.0.saturating_add(1)) {
            let linked = gap.previous.raw() == self.last.1;
            self.last = (gap.last, gap.hash.raw());
            self.forgotten += gap.entries();
            if !linked {
                return Err(broken(gap.first, None, Fault::Chain));
            }
            self.agree(gap.last, None)?;
        }
        Ok(())
    }

    /// Compares the last entry with what was signed of it.
    fn agree(&mut self, number: u64, tenant: Option<&str>) -> Result<(), Broken> {
        if self.told.iter().any(|it| it.number == number && it.hash.raw() != self.last.1) {
            return Err(broken(number, tenant.map(str::to_owned), Fault::Rewritten));
        }
        match self.signed.remove(&number) {
            Some(signed) if signed.iter().any(|one| one.hash.raw() != self.last.1) => {
                Err(broken(number, tenant.map(str::to_owned), Fault::Rewritten))
            }
            Some(_) => {
                self.agreed += 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Takes the next entry, and goes on after it whatever is wrong with it.
    pub(crate) fn take(&mut self, entry: &AuditEntry) -> Result<(), Broken> {
        let entry = Written::from(entry);
        self.follow(&entry, entry.is_intact())
    }

    /// The same, where somebody has looked whether it is intact.
    pub(crate) fn follow(&mut self, entry: &Written<'_>, is_intact: bool) -> Result<(), Broken> {
        let passed = self.pass();
        let (number, hash) = self.last;
        let (expected, linked) = (number.saturating_add(1), entry.previous == hash);
        self.last = (entry.number, entry.hash);
        passed?;
        let wrong = |fault| Err(broken(entry.number, Some(entry.tenant.to_owned()), fault));
        if entry.number != expected {
            return Err(broken(expected, None, Fault::Gap));
        }
        if !linked {
            return wrong(Fault::Chain);
        }
        if !is_intact {
            return wrong(Fault::Hash);
        }
        self.agree(entry.number, Some(entry.tenant))
    }

    /// The last entry that was taken.
    pub(crate) fn last(&self) -> Link {
        let (number, hash) = &self.last;
        Link { number: *number, hash: Digest::from_raw(hash) }
    }

    /// Ends the check: what was signed must have been there.
    pub(crate) fn end(self) -> Result<Verified, Broken> {
        let told = self.told.iter().map(|told| &told.number);
        let mut known = self.signed.keys().chain(told);
        match known.find(|number| **number > self.last.0) {
            Some(number) => Err(broken(*number, None, Fault::CutTail)),
            None => Ok(Verified {
                entries: self.last.0.saturating_sub(self.forgotten),
                forgotten: self.forgotten,
                head: self.last().hash,
                checkpoints: self.agreed,
            }),
        }
    }
}

fn broken(number: u64, tenant: Option<String>, fault: Fault) -> Broken {
    Broken { number, tenant, fault }
}

#[cfg(test)]
mod tests {
    use haft_core::registry::SigningKey;

    use super::*;

    fn key() -> SigningKey {
        SigningKey::from_seed(&[7; 32])
    }

    fn chain() -> (Vec<AuditEntry>, Vec<Checkpoint>) {
        let mut link = Link::default();
        let mut entries = Vec::new();
        let mut checkpoints = Vec::new();
        for number in 1..=6 {
            entries.push(link.next(number, "acme", "note", format!("{{\"n\":{number}}}")));
            if number % 2 == 0 {
                checkpoints.push(Checkpoint::sign(&link, number, &key()));
            }
        }
        (entries, checkpoints)
    }

    fn verdict(entries: &[AuditEntry], checkpoints: Vec<Checkpoint>) -> Result<Verified, Broken> {
        let mut chain = Chain::new(checkpoints, Vec::new(), &key().public())?;
        entries.iter().try_for_each(|entry| chain.take(entry))?;
        chain.end()
    }

    #[track_caller]
    fn check(touch: impl FnOnce(&mut Vec<AuditEntry>, &mut Vec<Checkpoint>), words: &str) {
        let (mut entries, mut checkpoints) = chain();
        touch(&mut entries, &mut checkpoints);
        assert_eq!(verdict(&entries, checkpoints).unwrap_err().to_string(), words);
    }

    fn seal(entries: &mut [AuditEntry], from: usize) {
        for at in from..entries.len() {
            if at > 0 {
                entries[at].previous = entries[at - 1].hash.clone();
            }
            entries[at].hash = entries[at].expected_hash();
        }
    }

    #[test]
    fn a_chain_that_nobody_touched_is_verified() {
        let (entries, checkpoints) = chain();
        let verified = verdict(&entries, checkpoints).unwrap();
        assert_eq!((verified.entries, verified.checkpoints), (6, 3));
    }

    #[test]
    fn a_changed_entry_is_named() {
        check(
            |entries, _| entries[2].body = "{}".into(),
            "entry 3 was changed: its hash does not fit",
        );
        check(
            |entries, _| entries[4].tenant = "other".into(),
            "entry 5 was changed: its hash does not fit",
        );
        check(
            |entries, _| {
                entries[2].body = "{}".into();
                entries[2].hash = entries[2].expected_hash();
            },
            "entry 4 does not follow from the one before: one was rewritten",
        );
    }

    #[test]
    fn a_missing_entry_is_named() {
        check(|entries, _| drop(entries.remove(3)), "entry 4 is missing");
        check(|entries, _| drop(entries.remove(0)), "entry 1 is missing");
    }

    #[test]
    fn a_chain_that_was_written_anew_is_not_the_one_that_was_signed() {
        check(
            |entries, _| {
                entries[2].body = "{}".into();
                seal(entries, 2);
            },
            "entry 4 is not the one that was signed; the trail was written anew, or an older copy of \
             the store was put back",
        );
    }

    #[test]
    fn what_was_signed_of_an_entry_is_not_taken_back_by_what_was_signed_later() {
        let words = "entry 4 is not the one that was signed; the trail was written anew, or an older \
                     copy of the store was put back";
        let lost = Link { number: 4, hash: Digest::of_bytes(b"lost") };
        let lost = Checkpoint::sign(&lost, 4, &key());
        // Wherever in the file.
        for at in [0, 1, 2, 3] {
            check(|_, checkpoints| checkpoints.insert(at, lost.clone()), words);
        }
        let (entries, mut checkpoints) = chain();
        checkpoints.extend(checkpoints.clone());
        assert_eq!(verdict(&entries, checkpoints).unwrap().checkpoints, 3, "said twice");
    }

    #[test]
    fn a_cut_tail_is_noticed() {
        check(
            |entries, _| entries.truncate(4),
            "the trail was cut: entry 6 was signed and is not there; its end was removed, or an older \
             copy of the store was put back",
        );
    }

    #[test]
    fn a_forged_checkpoint_is_refused() {
        check(
            |_, checkpoints| checkpoints[1].number = 5,
            "the checkpoint of entry 5 is not signed with this key",
        );
        check(
            |_, checkpoints| {
                let link = Link { number: 6, hash: checkpoints[2].hash.clone() };
                checkpoints[2] = Checkpoint::sign(&link, 6, &SigningKey::from_seed(&[8; 32]));
            },
            "the checkpoint of entry 6 is not signed with this key",
        );
    }
}
