//! Which item an event speaks of.
//!
//! By the book an item has one id and one place. In practice all items are in place 0, or an item has
//! another id in each event, or all have the same.

use std::collections::HashMap;

use serde_json::value::RawValue;

use super::item::{Id, Item, Kind};
use crate::decode::fault;
use crate::decode::notes::{Notes, Pen};
use crate::said::Fault;

/// The items of one response, as far as they have come.
#[derive(Default)]
pub(super) struct Items(Vec<Item>);

impl Items {
    /// All of them, in the provider's order: by place, then as they came.
    pub(super) fn take(&mut self) -> Vec<Item> {
        let mut items = std::mem::take(&mut self.0);
        items.sort_by_key(|item| item.index);
        items
    }

    /// The item's words have been said: its end does not say them again.
    pub(super) fn mark(
        &mut self,
        index: Option<u64>,
        id: &str,
        kind: Kind,
        notes: &mut Notes,
    ) -> Result<(), Fault> {
        match self.find(index, id, |item| item.kind == kind) {
            Some(item) => item.told = true,
            None => self.add(index, id, kind, notes)?.told = true,
        }
        Ok(())
    }

    /// The call that a delta belongs to. The SDKs fail where there is none, and so do we.
    pub(super) fn call(&mut self, index: Option<u64>, id: &str) -> Result<&mut Item, Fault> {
        self.find(index, id, Item::is_call)
            .ok_or_else(|| fault("contradiction", "arguments came for a call that was never begun"))
    }

    /// What an event speaks of by index and id.
    fn find(
        &mut self,
        index: Option<u64>,
        id: &str,
        fits: impl Fn(&Item) -> bool,
    ) -> Option<&mut Item> {
        let named = |item: &Item| !id.is_empty() && item.id == id && fits(item);
        let unnamed = |item: &Item| (index.is_some() || id.is_empty()) && fits(item);
        let at = self.position(index, &named, &unnamed)?;
        self.0.get_mut(at)
    }

    /// An item that begins.
    pub(super) fn begun(
        &mut self,
        index: Option<u64>,
        raw: &RawValue,
        notes: &mut Notes,
    ) -> Result<&mut Item, Fault> {
        let id = Id::of(raw)?;
        let begins = |item: &Item| item.may_begin_as(&id);
        match self.position(index, &|item| begins(item) && item.is_named(&id), &begins) {
            Some(at) => self.0.get_mut(at).ok_or_else(lost),
            None => self.add(index, &id.id, id.kind, notes),
        }
    }

    /// An item that ends: the one with its ids, else the open one in its place.
    pub(super) fn over(
        &mut self,
        index: Option<u64>,
        raw: &RawValue,
        notes: &mut Notes,
    ) -> Result<&mut Item, Fault> {
        let id = Id::of(raw)?;
        let open = |item: &Item| item.kind == id.kind && !item.over;
        match self.position(index, &|item| item.is_named(&id), &open) {
            Some(at) => self.0.get_mut(at).ok_or_else(lost),
            None => self.add(index, &id.id, id.kind, notes),
        }
    }

    /// The latest item by its id, and by its place where no id says more: some number all of their
    /// items 0, some give an item another id with each event, and some all items the same.
    fn position(
        &self,
        index: Option<u64>,
        named: &dyn Fn(&Item) -> bool,
        fits: &dyn Fn(&Item) -> bool,
    ) -> Option<usize> {
        let placed = |item: &Item| index.is_none_or(|index| item.index == index);
        let items = || self.0.iter();
        items()
            .rposition(|item| named(item) && placed(item))
            .or_else(|| items().rposition(named))
            .or_else(|| items().rposition(|item| placed(item) && fits(item)))
    }

    pub(super) fn add(
        &mut self,
        index: Option<u64>,
        id: &str,
        kind: Kind,
        notes: &mut Notes,
    ) -> Result<&mut Item, Fault> {
        notes.part()?;
        notes.hold(id.len())?;
        let last = self.0.iter().map(|item| item.index).max();
        let next = last.map_or(0, |last| last.saturating_add(1));
        self.0.push(Item::new(index.unwrap_or(next), id, kind));
        self.0.last_mut().ok_or_else(lost)
    }

    /// Refuses more calls than allowed.
    pub(super) fn fit(&self, notes: &Notes) -> Result<(), Fault> {
        notes.calls_fit(self.0.iter().filter(|item| item.is_call()).count())
    }

    /// The list of all items has the last word on what there is, and in which order.
    pub(super) fn agree(&mut self, output: &[&RawValue], pen: &mut Pen<'_>) -> Result<(), Fault> {
        let ids = output.iter().map(|raw| Id::of(raw)).collect::<Result<Vec<_>, _>>()?;
        let streamed = self.take();
        let claims = claims(&streamed, &ids);
        let mut streamed: Vec<Option<Item>> = streamed.into_iter().map(Some).collect();
        for (place, (raw, (id, claim))) in (0..).zip(output.iter().zip(ids.iter().zip(claims))) {
            let known = claim.and_then(|at| streamed.get_mut(at)?.take());
            let mut item = match known {
                Some(item) => item,
                None => {
                    pen.notes.part()?;
                    Item::new(place, "", id.kind)
                }
            };
            item.index = place;
            item.state(raw, pen)?;
            self.0.push(item);
        }
        let after = output.len().try_into().unwrap_or(u64::MAX);
        for mut item in streamed.into_iter().flatten().filter(Item::is_call) {
            item.forgotten(after);
            self.0.push(item);
        }
        self.fit(pen.notes)
    }
}

/// Which of the streamed items each of the listed ones is: the one with its ids, else the first of its
/// kind that is no other's, because ids may have changed since.
fn claims(streamed: &[Item], listed: &[Id<'_>]) -> Vec<Option<usize>> {
    let mut named: HashMap<(Kind, &str), Vec<usize>> = HashMap::new();
    for (at, item) in streamed.iter().enumerate().rev() {
        for id in [&item.id, &item.call] {
            named.entry((item.kind, id)).or_default().push(at);
        }
    }
    let mut free = vec![true; streamed.len()];
    let mut claim = |at: usize| free.get_mut(at).is_some_and(std::mem::take).then_some(at);
    let by_id = listed.iter().map(|one| {
        [&one.id, &one.call].into_iter().filter(|id| !id.is_empty()).find_map(|id| {
            let found = named.get_mut(&(one.kind, &**id))?;
            std::iter::from_fn(|| found.pop()).find_map(&mut claim)
        })
    });
    let by_id: Vec<Option<usize>> = by_id.collect();
    let mut next: HashMap<Kind, usize> = HashMap::new();
    let in_order = listed.iter().zip(by_id).map(|(one, found)| {
        found.or_else(|| {
            let from = next.entry(one.kind).or_default();
            let of_kind = |at: &usize| streamed.get(*at).is_some_and(|item| item.kind == one.kind);
            let at = (*from..streamed.len()).filter(of_kind).find_map(&mut claim);
            *from = at.map_or(streamed.len(), |at| at + 1);
            at
        })
    });
    in_order.collect()
}

fn lost() -> Fault {
    fault("bug", "an item was lost")
}
