//! Copies of what a region held, and how they are put back.

use std::iter;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;

use rlsf::GRANULARITY;

use super::Region;

/// So much more than what was asked for is in an image. Most runs need no more, so that nothing that
/// they do lies behind the image, where all of it has to be made zero; and of this only the pages are
/// copied that they wrote to.
const ROOM: usize = 32 << 10;
/// Who is put back so often in a row is watched from then on. To close its pages costs about as much as
/// it saves in so many runs, so that two who take turns lose little by it.
pub(super) const PATIENCE: u32 = 4;
/// After so many runs what is known of written pages is forgotten: a run that wrote to all of them need not
/// make every later one slower.
pub(super) const FORGET: u32 = 2048;

/// What a region held.
pub(crate) struct Image {
    // Not plain bytes: structures have gaps, which nobody wrote.
    pub(super) bytes: Vec<MaybeUninit<u8>>,
    /// Where runs have written to it, as far as somebody watched.
    pub(super) written: Vec<Range<usize>>,
    /// How often it was put back.
    runs: u32,
}

impl Image {
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }
}

#[expect(unsafe_code, reason = "memory is copied as it lies there")]
impl Region {
    /// A copy of what the region holds, with some room for what will be asked for.
    ///
    /// # Safety
    ///
    /// The pool is open.
    pub(crate) unsafe fn image(&self) -> Image {
        // SAFETY: the pool is open, and no more is taken than there is.
        unsafe { self.append(ROOM.min(self.layout.size() - self.end.get()) & !(GRANULARITY - 1)) };
        let length = self.end.get();
        let mut bytes: Vec<MaybeUninit<u8>> = Vec::with_capacity(length);
        // SAFETY: so much lies in the region, and there is room for it. What is copied keeps its gaps, and
        // its pointers stay pointers.
        unsafe {
            ptr::copy_nonoverlapping(self.at(0), bytes.as_mut_ptr().cast(), length);
            bytes.set_len(length);
        }
        Image { bytes, written: Vec::new(), runs: 0 }
    }

    /// Puts back what the region held; what lies behind that becomes zero.
    ///
    /// # Safety
    ///
    /// The image is one of this region. Whatever still points into the region did so when the image was
    /// taken, and expects what was there then.
    pub(crate) unsafe fn put(&self, image: &Image) {
        self.watch.open();
        self.in_a_row.set(0);
        // SAFETY: the caller says that the image can be put here.
        unsafe { self.copy(image, iter::once(0..image.len())) };
    }

    /// The same for the image that was put here last: only what was written to since is copied, as far as
    /// that is known.
    ///
    /// # Safety
    ///
    /// As for [`Self::put`]; and it was this image that was put here or taken last.
    pub(crate) unsafe fn put_back(&self, image: &mut Image) {
        let length = image.len();
        if self.watch.is_on() {
            if let Some(written) = self.watch.news(length) {
                image.written = written;
            }
            // SAFETY: the caller says that the image can be put here. What is not written to holds what
            // it held when it was closed, and it was closed when the image had just been put here.
            unsafe { self.copy(image, image.written.iter().cloned()) };
        } else {
            // SAFETY: the caller says that the image can be put here.
            unsafe { self.copy(image, iter::once(0..length)) };
        }
        self.look_again(image);
    }

    /// Closes the pages of an image that was just put here, where it is time for that.
    fn look_again(&self, image: &mut Image) {
        self.in_a_row.set(self.in_a_row.get().saturating_add(1));
        image.runs = image.runs.wrapping_add(1);
        let forgets = image.runs.is_multiple_of(FORGET);
        if forgets {
            image.written.clear();
        }
        if self.in_a_row.get() == PATIENCE || (forgets && self.watch.is_on()) {
            self.watch.close(image.len(), &image.written);
        }
    }

    /// Copies parts of an image to where they were; what lies behind the image becomes zero.
    ///
    /// # Safety
    ///
    /// As for [`Self::put`]; and whatever is not in one of the parts is as it was.
    unsafe fn copy(&self, image: &Image, parts: impl Iterator<Item = Range<usize>>) {
        let length = image.len();
        for part in parts {
            debug_assert!(part.end <= length);
            // SAFETY: the image came from here, so it fits, and no part goes beyond its end.
            unsafe {
                let from = image.bytes.as_ptr().add(part.start).cast();
                ptr::copy_nonoverlapping(from, self.at(part.start), part.len());
            }
        }
        // SAFETY: nobody needs what lies behind the image.
        unsafe { self.wipe(length, self.end.replace(length)) };
    }
}
