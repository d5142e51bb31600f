//! Memory that can be put back as it was, and engines that live in it.
//!
//! An engine (QuickJS) takes all of its memory from one region. When it is made, the region is copied
//! away; after each run it is copied back. So an engine is made once and is new in every run: what a
//! run leaves is not looked for and undone, it is overwritten, and what lies behind it is zero. Of an
//! engine that runs again and again only those pages are copied that were written to.
//!
//! **Knows** memory and the binding to the engine. **Does not know** what is run, nor for whom. It is
//! the only crate with unsafe code.
//!
//! ```
//! use haft_rewind::{Engines, Kept};
//! use rquickjs::{Context, Error, Function};
//!
//! let mut engines = Engines::reserve(16 << 20).ok_or(Error::Allocation)?;
//! let id = engines.make(usize::MAX, |runtime| -> Result<_, Error> {
//!     let context = Context::full(runtime)?;
//!     let mut kept = Kept::default();
//!     context.with(|ctx| {
//!         let count: Function = ctx.eval("let calls = 0; () => ++calls")?;
//!         kept.hold(&ctx, "count", count);
//!         Ok::<_, Error>(())
//!     })?;
//!     Ok((context, kept))
//! })?;
//! for _ in 0..3 {
//!     let counted = engines.run(id, |ctx, kept| kept.get(ctx, "count")?.call::<_, u32>(()));
//!     assert_eq!(counted.ok_or(Error::Unknown)??, 1);
//! }
//! # Ok::<(), Error>(())
//! ```
//!
//! # What this relies on
//!
//! Whoever holds a value of an engine across a rewind would hold a pointer to memory that is something
//! else by then. Nobody can, as far as the compiler can see: a value does not outlive the run that it
//! was made in, and what does outlive it (`Persistent`, `Context`, `Runtime`) cannot be sent to another
//! thread, which everything must that goes into a run or comes out of it:
//!
//! ```compile_fail
//! # use haft_rewind::{Engines, Id};
//! # use rquickjs::Persistent;
//! fn escapes(engines: &mut Engines, id: Id) {
//!     engines.run(id, |ctx, _| Persistent::save(ctx, ctx.globals()));
//! }
//! ```
//!
//! ```compile_fail
//! # use haft_rewind::{Engines, Id};
//! # use rquickjs::{Object, Persistent};
//! fn escapes(engines: &mut Engines, id: Id) {
//!     let mut out: Option<Persistent<Object<'static>>> = None;
//!     engines.run(id, |ctx, _| out = Some(Persistent::save(ctx, ctx.globals())));
//! }
//! ```
//!
//! Three ways are left that only a reader sees. What runs in an engine must not
//!
//! - put a value of the engine into a thread's own variables, nor into the user data of the binding;
//! - give the engine a closure that keeps values of it;
//! - give the engine new closures or classes in a run: what of them lies outside of the region would
//!   be lost each time. They are made with the engine, and functions that call them are [`Kept`].
//!
//! # Which pages were written to
//!
//! The processor says so, on Linux; elsewhere everything is copied. Once an engine was put back some times
//! in a row, the pages of its memory are closed (`mprotect`): they can be read. A write to one raises a
//! signal (`SIGSEGV`), whose handler notes the page and opens it, and the write is done again. Pages that are
//! noted stay open, and are copied from then on, until after many runs all is closed and learned anew.
//! So what is not copied is what nobody can have written to. It relies on this:
//!
//! - A page is closed when the image has just been put there, and until it is opened it holds that.
//! - Only the thread that owns the region writes to it, and only with instructions of its own: a system call
//!   that was to write to a closed page would fail instead. Engines hand none of their memory to the system.
//! - The handler is put up with the first region, before a process confines itself, and for good. What it is
//!   told of that is no closed page of this thread goes to whoever was told before. It takes no lock, asks for
//!   no memory, and needs the calls `mprotect` and `rt_sigreturn`. It runs on the thread's alternate stack,
//!   which the standard library provides.
//! - Where the system refuses to open a page, the write ends the process.
//!
//! # What else an engine is
//!
//! Looked at, in QuickJS-ng as rquickjs 0.14 brings it:
//!
//! - All of its memory comes through the allocator; `malloc` is forbidden in its sources after that.
//!   Runtime, contexts, atoms, shapes, modules, jobs, the exception that is being thrown, the count of
//!   class ids, the limits and the collector's threshold are all in the region, and so is how its own
//!   small blocks are kept. Numbers are written on the stack.
//! - Of its own variables none holds anything of a run: a list of those who wait in `Atomics.wait`, who
//!   are on the stack while they do (and a runtime that may not block has none), its lock, and a mark for
//!   dead weak references, of which only the address counts. The time zone is the C library's, read once.
//! - The stack's top is taken when a runtime is made. An engine may run where the stack is a little
//!   deeper; its limit counts from where it was made.
//! - The binding holds, outside: the allocator, the loader, the interrupt handler, the class ids, a
//!   panic on its way, user data, and the prototypes of its classes. The last are the only values among
//!   them, and [`Engines::make`] sees to it that the one of closures is there before the image is taken.
//! - Shared buffers have an allocator of their own where one is set. Here none is: they are in the
//!   region as well.
//! - A context seeds its hashes and `Math.random` with the time when it is made. They are the same in
//!   every run then. The seed of hashes was no secret before, and a run that is slow ends at its
//!   deadline; whoever needs numbers at random must bring them along.

mod engines;
mod heap;
mod kept;
mod memory;
mod watch;

pub use engines::{Engines, Id, is_at_rest};
pub use kept::Kept;
