//! An allocator that counts, and the time that the processor has spent on us.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::time::Duration;

use mimalloc::MiMalloc;

thread_local! {
    static MADE: Cell<u64> = const { Cell::new(0) };
}

/// What the `haft` binary allocates with, counting for each thread.
pub struct Counting(pub MiMalloc);

fn count() {
    // A thread that is going away has nobody who asks.
    let _ = MADE.try_with(|made| made.set(made.get() + 1));
}

// SAFETY: everything is handed to mimalloc as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        unsafe { self.0.dealloc(block, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        unsafe { self.0.realloc(block, layout, size) }
    }
}

/// How often this thread has asked for memory, growing included.
pub fn allocations() -> u64 {
    MADE.with(Cell::get)
}

/// What the processor has done for all threads that are alive, in Linux's nanoseconds.
pub fn processor() -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let spent = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(spent.sum())
}
