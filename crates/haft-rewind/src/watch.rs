//! Which pages of a region were written to, as the processor tells it.
//!
//! A page can be closed. Whoever writes to it then is interrupted, the page is noted and opened, and the
//! write goes on as if nothing had been. So a page that is closed holds what it held when it was closed,
//! whatever ran meanwhile, and nobody needs to look.

use std::ops::Range;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

#[cfg(all(target_os = "linux", not(miri)))]
#[expect(unsafe_code, reason = "system calls, and a signal's handler")]
mod system;

use self::system::{page_bytes, protect, watches};

/// What lies behind this is never closed. Engines are smaller.
const MOST_BYTES: usize = 4 << 20;

thread_local! {
    /// Whose pages are closed on this thread. Only the thread that owns a region writes to it. A signal's
    /// handler reads this: it is a plain pointer, there from the start and never torn down.
    static WATCHED: AtomicPtr<Pages> = const { AtomicPtr::new(ptr::null_mut()) };
}

fn watched_here() -> *const Pages {
    WATCHED.with(|watched| watched.load(Ordering::Relaxed))
}

fn watch_here(pages: *const Pages) {
    WATCHED.with(|watched| watched.store(pages.cast_mut(), Ordering::Relaxed));
}

/// The pages of one region.
struct Pages {
    start: NonNull<u8>,
    bytes: usize,
    /// How many are watched, from the start. None is closed where it is zero.
    watched: AtomicUsize,
    /// Of each that can be, whether it is open.
    open: Box<[AtomicBool]>,
    /// Whether one was opened since it was last asked.
    news: AtomicBool,
}

/// Closes pages of a region and says which were opened. It is boxed because a signal's handler finds it
/// by its address.
pub(crate) struct Watch(Box<Pages>);

#[expect(unsafe_code, reason = "pages of memory are closed and opened")]
impl Watch {
    /// A watch over memory that begins here, with nothing closed yet. From the first one on this process
    /// is told of what would otherwise end it; that cannot wait until it is confined.
    ///
    /// # Safety
    ///
    /// The memory is there as long as the watch is, can be read and written to, begins with a page and is
    /// nobody else's. Only this thread writes to it.
    pub(crate) unsafe fn over(start: NonNull<u8>, length: usize) -> Self {
        let bytes = if watches() { page_bytes() } else { 0 };
        let most = length.min(MOST_BYTES).checked_div(bytes).unwrap_or(0);
        let open = (0..most).map(|_| AtomicBool::new(true)).collect();
        let (watched, news) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self(Box::new(Pages { start, bytes, watched, open, news }))
    }

    /// Whether pages are closed.
    pub(crate) fn is_on(&self) -> bool {
        self.0.watched() > 0
    }

    /// Closes the whole pages of the first so many bytes, all but those of which something is in `open`.
    /// Nothing is closed where the system does not help, or another region of this thread is watched.
    pub(crate) fn close(&self, length: usize, open: &[Range<usize>]) {
        self.open();
        let pages = &*self.0;
        let whole = length.checked_div(pages.bytes).unwrap_or(0).min(pages.open.len());
        if whole == 0 || !watched_here().is_null() {
            return;
        }
        for page in pages.open.iter().take(whole) {
            page.store(false, Ordering::Relaxed);
        }
        for range in open {
            let touched = range.start / pages.bytes..range.end.div_ceil(pages.bytes);
            for page in pages.open.iter().take(whole).take(touched.end).skip(touched.start) {
                page.store(true, Ordering::Relaxed);
            }
        }
        pages.news.store(true, Ordering::Relaxed);
        pages.watched.store(whole, Ordering::Relaxed);
        watch_here(&raw const *self.0);
        if !pages.close_what_is_not_open() {
            self.open();
        }
    }

    /// Opens everything.
    pub(crate) fn open(&self) {
        let pages = &*self.0;
        let watched = pages.watched.swap(0, Ordering::Relaxed);
        if watched > 0 {
            watch_here(ptr::null());
            // SAFETY: what is watched is whole pages of the region. Where this fails, the next write to one
            // that is closed ends the process.
            unsafe { protect(pages.at(0), watched * pages.bytes, true) };
        }
    }

    /// What is open of the first so many bytes, if that is not what it was when this was last asked.
    pub(crate) fn news(&self, length: usize) -> Option<Vec<Range<usize>>> {
        let pages = &*self.0;
        pages.news.swap(false, Ordering::Relaxed).then(|| {
            let mut open: Vec<_> = pages.ranges(true).collect();
            let watched = pages.watched() * pages.bytes;
            match open.last_mut() {
                Some(last) if last.end == watched => last.end = length,
                _ if watched < length => open.push(watched..length),
                _ => {}
            }
            open
        })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.open();
    }
}

#[expect(unsafe_code, reason = "pages of memory are closed and opened")]
impl Pages {
    fn watched(&self) -> usize {
        self.watched.load(Ordering::Relaxed)
    }

    fn at(&self, offset: usize) -> *mut u8 {
        self.start.as_ptr().wrapping_add(offset)
    }

    fn close_what_is_not_open(&self) -> bool {
        // SAFETY: what is watched is whole pages of the region, and the handler knows of it by now.
        self.ranges(false).all(|range| unsafe { protect(self.at(range.start), range.len(), false) })
    }

    /// The parts that are open, or those that are not.
    fn ranges(&self, open: bool) -> impl Iterator<Item = Range<usize>> + '_ {
        let is = move |page: &AtomicBool| page.load(Ordering::Relaxed) == open;
        let mut rest = self.open.iter().take(self.watched()).enumerate().peekable();
        std::iter::from_fn(move || {
            let (first, _) = rest.find(|(_, page)| is(page))?;
            let mut next = first + 1;
            while rest.next_if(|(_, page)| is(page)).is_some() {
                next += 1;
            }
            Some(first * self.bytes..next * self.bytes)
        })
    }

    /// Opens the page of an address, if that is one of ours and closed.
    fn open_page_of(&self, address: usize) -> bool {
        let Some(offset) = address.checked_sub(self.start.as_ptr().addr()) else { return false };
        let Some(page) = offset.checked_div(self.bytes).filter(|at| *at < self.watched()) else {
            return false;
        };
        let closed = self.open.get(page).is_some_and(|open| !open.swap(true, Ordering::Relaxed));
        self.news.store(true, Ordering::Relaxed);
        // SAFETY: what is watched is whole pages of the region.
        closed && unsafe { protect(self.at(page * self.bytes), self.bytes, true) }
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod system {
    pub(super) fn page_bytes() -> usize {
        0
    }

    #[expect(unsafe_code, reason = "as the other one")]
    pub(super) unsafe fn protect(_: *mut u8, _: usize, _: bool) -> bool {
        false
    }

    pub(super) fn watches() -> bool {
        false
    }
}
