//! Engines that share one region: each is put into it to run, and as it was when it was made.

use std::rc::Rc;

use rquickjs::{Context, Ctx, Error, Function, Runtime, qjs};

use crate::heap::Heap;
use crate::kept::Kept;
use crate::memory::{Image, Region};

/// Which engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id(u64);

/// Engines in one region, of which one is there at a time.
pub struct Engines {
    region: Rc<Region>,
    all: Vec<Engine>,
    /// Whose memory is in the region.
    placed: Option<Id>,
    /// Whether it has run since it was put there.
    touched: bool,
    made: u64,
}

struct Engine {
    id: Id,
    image: Image,
    // Dropped in this order: values, realm, engine.
    kept: Kept,
    context: Context,
    _runtime: Runtime,
}

impl Engines {
    /// Reserves the region: what an engine may use at most, bookkeeping and waste included.
    #[must_use]
    pub fn reserve(bytes: usize) -> Option<Self> {
        let region = Rc::new(Region::reserve(bytes)?);
        Some(Self { region, all: Vec::new(), placed: None, touched: false, made: 0 })
    }

    /// Makes an engine and takes its image, of at most so many bytes. What is captured and returned can be
    /// sent to other threads, which nothing of an engine can: so none of it gets out. The context must be
    /// one of the runtime that `build` is given: another would not be put back.
    ///
    /// # Errors
    ///
    /// What `build` says, that there is no memory, or that the image would be larger.
    #[expect(unsafe_code, reason = "the region is given to a new engine")]
    pub fn make<E: From<Error> + Send>(
        &mut self,
        most: usize,
        build: impl FnOnce(&Runtime) -> Result<(Context, Kept), E> + Send,
    ) -> Result<Id, E> {
        (self.placed, self.touched) = (None, false);
        // SAFETY: the engines have their images, and do not run before these are put back.
        unsafe { self.region.open() };
        let runtime = Runtime::new_with_alloc(Heap(self.region.clone()))?;
        let (context, kept) = build(&runtime)?;
        // With the first closure that an engine is given, the binding remembers a value of it, outside of
        // the region. That must not be while it runs.
        context.with(|ctx| Function::new(ctx, || ()).map(drop))?;
        if self.region.length() > most {
            return Err(Error::Allocation.into());
        }
        self.made += 1;
        let id = Id(self.made);
        // SAFETY: the region was opened above.
        let image = unsafe { self.region.image() };
        self.all.push(Engine { id, image, kept, context, _runtime: runtime });
        self.placed = Some(id);
        Ok(id)
    }

    /// Runs something in an engine, which is as it was made, whatever ran in it before. Nothing comes
    /// of it where there is no such engine. As with [`Self::make`], nothing of the engine gets out.
    pub fn run<R: Send>(
        &mut self,
        id: Id,
        run: impl for<'js> FnOnce(&Ctx<'js>, &Kept) -> R + Send,
    ) -> Option<R> {
        let at = self.place(id)?;
        let engine = self.all.get(at)?;
        self.touched = true;
        Some(engine.context.with(|ctx| run(&ctx, &engine.kept)))
    }

    /// Puts the engine that ran last back as it was made. The next run would do it, while somebody
    /// waits.
    pub fn rewind(&mut self) {
        if let Some(id) = self.placed {
            self.place(id);
        }
    }

    /// Ends an engine.
    pub fn end(&mut self, id: Id) {
        // As it was made, so that everything that it holds is there to be let go.
        if let Some(at) = self.place(id) {
            drop(self.all.swap_remove(at));
            self.placed = None;
        }
    }

    /// How much memory the engine that is in the region now has used at once since it was put there, with
    /// what lay unused in between.
    #[must_use]
    pub fn peak_bytes(&self) -> usize {
        self.region.length()
    }

    /// How much is copied when an engine is put back, at most: all of it, with the room for its calls.
    #[must_use]
    pub fn image_bytes(&self, id: Id) -> usize {
        self.all.iter().find(|engine| engine.id == id).map_or(0, |engine| engine.image.len())
    }

    /// Puts an engine into the region as it was made, and says where it is in the list.
    #[expect(unsafe_code, reason = "memory is put back under an engine")]
    fn place(&mut self, id: Id) -> Option<usize> {
        let at = self.all.iter().position(|engine| engine.id == id)?;
        let is_there = self.placed == Some(id);
        if !is_there || self.touched {
            let engine = self.all.get_mut(at)?;
            // SAFETY: nothing runs in the region: whatever does holds on to `self`. The image is one of
            // this region, and the last that was put there or taken if it is said to be there. What points
            // into it from outside and is used after this is the engine's own
            // `kept`, `context` and runtime, all of which were there when the image was taken and have
            // not changed since. What was made in a run is gone with it (see the crate's words on what
            // that relies on).
            unsafe {
                if is_there {
                    self.region.put_back(&mut engine.image);
                } else {
                    self.region.put(&engine.image);
                }
            }
            (self.placed, self.touched) = (Some(id), false);
        }
        Some(at)
    }
}

impl Drop for Engines {
    fn drop(&mut self) {
        while let Some(last) = self.all.last() {
            self.end(last.id);
        }
    }
}

/// Whether no job waits to be run.
#[must_use]
#[expect(unsafe_code, reason = "the binding asks this of a runtime, which is borrowed in a run")]
pub fn is_at_rest(ctx: &Ctx<'_>) -> bool {
    // SAFETY: a `Ctx` is a living context of a living runtime. The question changes nothing.
    unsafe { !qjs::JS_IsJobPending(qjs::JS_GetRuntime(ctx.as_raw().as_ptr())) }
}

#[cfg(test)]
mod tests;
