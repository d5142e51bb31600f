//! What outlives a run of an engine: functions that were there when its image was taken.

use rquickjs::{Context, Ctx, Error, Function, Persistent, Runtime};

/// What keeps values of an engine inside of its runs. With the binding's feature `parallel` they could be
/// sent to other threads, and this does not compile.
const _: fn() = || {
    trait OneWay<Marker> {
        fn is_one() {}
    }
    struct Sent;
    impl<T> OneWay<()> for T {}
    impl<T: Send> OneWay<Sent> for T {}
    let _ = <Persistent<Function<'static>> as OneWay<_>>::is_one;
    let _ = <Context as OneWay<_>>::is_one;
    let _ = <Runtime as OneWay<_>>::is_one;
};

/// The functions of an engine that are called from outside, each under a name. Each is held: what a
/// run does to the engine cannot end it, and so nothing that it refers to outside of the engine is gone
/// when the engine is put back.
#[derive(Default)]
pub struct Kept(Vec<(&'static str, Persistent<Function<'static>>)>);

impl Kept {
    /// Holds a function. To be called while an engine is made.
    pub fn hold<'js>(&mut self, ctx: &Ctx<'js>, name: &'static str, function: Function<'js>) {
        self.0.push((name, Persistent::save(ctx, function)));
    }

    /// Whether there is one of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(held, _)| *held == name)
    }

    /// The function of this name.
    ///
    /// # Errors
    ///
    /// Where nothing is held under it.
    pub fn get<'js>(&self, ctx: &Ctx<'js>, name: &'static str) -> Result<Function<'js>, Error> {
        let found = self.0.iter().find(|(held, _)| *held == name);
        found.ok_or(Error::Unknown)?.1.clone().restore(ctx)
    }
}
