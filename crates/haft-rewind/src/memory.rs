//! One block of memory with an allocator inside of it.

mod image;

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::Cell;
use std::ptr::{self, NonNull};

use rlsf::{GRANULARITY, Tlsf};

pub(crate) use self::image::Image;
use crate::watch::Watch;

/// What every block is aligned to, and how much lies before it: its size.
const ALIGN: usize = 16;
/// The block grows by this much and what is asked for.
const STEP: usize = 16 << 10;
/// A multiple of every system's pages.
const PAGE: usize = 64 << 10;
/// From here on the system is faster to take memory back than we are to write zeros.
const LARGE: usize = 1 << 20;

/// So many levels that a pool can have any size, and so grow.
const LEVELS: usize = (usize::BITS - GRANULARITY.trailing_zeros()) as usize;

/// The allocator's own memory, which lies at the start of the region: so a copy of the region is a copy
/// of the allocator as well. Two-level segregated fit takes the same few steps for every request: there
/// is nothing that a hostile sequence of them could make slow.
type Pool = Tlsf<'static, usize, u16, LEVELS, 16>;

const HEAD: usize = size_of::<Pool>().next_multiple_of(GRANULARITY);

/// The memory. It is reserved whole and touched as it is needed.
pub(crate) struct Region {
    start: NonNull<u8>,
    layout: Layout,
    /// Where the pool ends. Nothing behind it was written to since it was zero.
    end: Cell<usize>,
    /// Whether the system gives zeros for what it took back.
    gives_back: bool,
    /// What is written to, of an image that was put back again and again.
    watch: Watch,
    /// How often the same was put back in a row.
    in_a_row: Cell<u32>,
}

#[expect(unsafe_code, reason = "this is the memory that everything else stands on")]
impl Region {
    /// Memory for so many bytes; absent where there is not as much.
    pub(crate) fn reserve(bytes: usize) -> Option<Self> {
        let size = bytes.max(HEAD + STEP).checked_next_multiple_of(PAGE)?;
        let layout = Layout::from_size_align(size, PAGE).ok()?;
        // SAFETY: the size is not zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let end = Cell::new(0);
        // SAFETY: the region goes with its watch, and is whole pages of its own.
        let (watch, in_a_row) = (unsafe { Watch::over(start, size) }, Cell::new(0));
        let mut region = Self { start, layout, end, gives_back: false, watch, in_a_row };
        region.gives_back = region.tries_to_give_back();
        if region.gives_back {
            // Some allocators write the zeros themselves, and so touch all of it.
            // SAFETY: nobody uses it yet, and its size is a multiple of pages.
            unsafe { give_back(region.at(0), size) };
        }
        Some(region)
    }

    /// A pointer to a place in the region.
    fn at(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset <= self.layout.size());
        // SAFETY: no caller goes beyond the end.
        unsafe { self.start.as_ptr().add(offset) }
    }

    fn pool(&self) -> *mut Pool {
        self.start.as_ptr().cast()
    }

    /// Begins with an empty pool.
    ///
    /// # Safety
    ///
    /// Nothing that was handed out is used from now on.
    pub(crate) unsafe fn open(&self) {
        self.watch.open();
        self.in_a_row.set(0);
        // SAFETY: the region belongs to nobody now. Its start is aligned for anything, and the pool and
        // its first step lie within it.
        unsafe {
            self.wipe(0, self.end.get());
            self.pool().write(Pool::new());
            let block = ptr::slice_from_raw_parts_mut(self.at(HEAD), STEP);
            (*self.pool()).insert_free_block_ptr(NonNull::new_unchecked(block));
        }
        self.end.set(HEAD + STEP);
    }

    /// Makes the pool larger; false where nothing is left of the region.
    ///
    /// # Safety
    ///
    /// The pool is open.
    unsafe fn grow(&self, wanted: usize) -> bool {
        let (end, size) = (self.end.get(), self.layout.size());
        // An eighth more: the pool looks for a block in the next larger class.
        let step = wanted.saturating_add(wanted / 8).saturating_add(STEP).min(size - end);
        // SAFETY: the pool is open.
        unsafe { self.append(step & !(GRANULARITY - 1)) }
    }

    /// Makes the pool larger by so much, which is left of the region.
    ///
    /// # Safety
    ///
    /// As for [`Self::grow`].
    unsafe fn append(&self, step: usize) -> bool {
        if step == 0 {
            return false;
        }
        let end = self.end.get();
        let block = ptr::slice_from_raw_parts_mut(self.at(end), step);
        // SAFETY: the block is the region's, follows the pool, and is in nobody's hands.
        let taken = unsafe { (*self.pool()).append_free_block_ptr(NonNull::new_unchecked(block)) };
        self.end.set(end + taken);
        taken > 0
    }

    /// A block of at least `size` bytes, or null.
    ///
    /// # Safety
    ///
    /// The pool is open.
    pub(crate) unsafe fn allocate(&self, size: usize) -> *mut u8 {
        let Some(layout) = with_head(size) else { return ptr::null_mut() };
        // SAFETY: the pool is open, and nobody else holds a reference to it now.
        let found = unsafe {
            match (*self.pool()).allocate(layout) {
                None if self.grow(layout.size()) => (*self.pool()).allocate(layout),
                found => found,
            }
        };
        handed(found, layout)
    }

    /// The same block with another size, perhaps elsewhere, or null.
    ///
    /// # Safety
    ///
    /// The pool is open, and `block` was handed out by it and not taken back.
    pub(crate) unsafe fn resize(&self, block: *mut u8, size: usize) -> *mut u8 {
        let Some(layout) = with_head(size) else { return ptr::null_mut() };
        // SAFETY: what was handed out has its head before it, and was asked for with this alignment.
        let found = unsafe {
            let whole = NonNull::new_unchecked(block.sub(ALIGN));
            match (*self.pool()).reallocate(whole, layout) {
                None if self.grow(layout.size()) => (*self.pool()).reallocate(whole, layout),
                found => found,
            }
        };
        handed(found, layout)
    }

    /// Takes a block back.
    ///
    /// # Safety
    ///
    /// As for [`Self::resize`].
    pub(crate) unsafe fn free(&self, block: *mut u8) {
        // SAFETY: what was handed out has its head before it, and was asked for with this alignment.
        unsafe { (*self.pool()).deallocate(NonNull::new_unchecked(block.sub(ALIGN)), ALIGN) }
    }

    /// How long a copy of what it holds would be.
    pub(crate) fn length(&self) -> usize {
        self.end.get()
    }

    /// Makes a part zero.
    ///
    /// # Safety
    ///
    /// Nobody needs what is there, and `to` lies in the region.
    unsafe fn wipe(&self, from: usize, to: usize) {
        let Some(length) = to.checked_sub(from) else { return };
        let whole = from.next_multiple_of(PAGE);
        // SAFETY: both parts lie in the region, whose size is a multiple of pages. What the second has
        // behind `to` is zero already.
        unsafe {
            if self.gives_back
                && length > LARGE
                && give_back(self.at(whole), to.next_multiple_of(PAGE) - whole)
            {
                self.at(from).write_bytes(0, whole - from);
            } else {
                self.at(from).write_bytes(0, length);
            }
        }
    }

    /// Whether memory that the system took back is zero. It is where the block is the system's own
    /// anonymous memory; which allocators take it from elsewhere is not for us to know.
    fn tries_to_give_back(&self) -> bool {
        let last = self.at(self.layout.size() - PAGE);
        // SAFETY: the page is the region's last, and nobody uses it yet.
        unsafe {
            last.write_volatile(1);
            let is_zero = give_back(last, PAGE) && last.read_volatile() == 0;
            last.write_volatile(0);
            is_zero
        }
    }
}

#[expect(unsafe_code, reason = "the memory was asked for with the same layout")]
impl Drop for Region {
    fn drop(&mut self) {
        // The allocator gets it as it gave it.
        self.watch.open();
        // SAFETY: it came from there, with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

/// What is handed out of a block that the pool found: all of it but its head, which says how much that is.
#[expect(unsafe_code, reason = "the size is written before the block")]
fn handed(found: Option<NonNull<u8>>, layout: Layout) -> *mut u8 {
    let Some(whole) = found else { return ptr::null_mut() };
    // SAFETY: the block is as large as the layout says, and aligned for its head.
    unsafe {
        whole.cast::<usize>().write(layout.size() - ALIGN);
        whole.as_ptr().add(ALIGN)
    }
}

/// The size of a block that was handed out.
///
/// # Safety
///
/// It was handed out by a region and not taken back.
#[expect(unsafe_code, reason = "the size is written before the block")]
pub(crate) unsafe fn usable(block: *const u8) -> usize {
    // SAFETY: the head is part of the block, and aligned.
    unsafe { block.sub(ALIGN).cast::<usize>().read() }
}

/// What is asked of the pool for a block: a head, and sizes in whole steps.
fn with_head(size: usize) -> Option<Layout> {
    let size = size.max(1).checked_next_multiple_of(ALIGN)?.checked_add(ALIGN)?;
    Layout::from_size_align(size, ALIGN).ok()
}

/// Gives pages to the system; false where it does not take them.
///
/// # Safety
///
/// They are whole pages of ours that nobody needs.
#[cfg(all(target_os = "linux", not(miri)))]
#[expect(unsafe_code, reason = "a system call")]
unsafe fn give_back(start: *mut u8, length: usize) -> bool {
    // SAFETY: the caller says so.
    unsafe { libc::madvise(start.cast(), length, libc::MADV_DONTNEED) == 0 }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
#[expect(unsafe_code, reason = "as the other one")]
unsafe fn give_back(_: *mut u8, _: usize) -> bool {
    false
}

#[cfg(test)]
mod tests;
