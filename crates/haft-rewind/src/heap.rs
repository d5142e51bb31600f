//! A region as an engine's allocator.

use std::ptr;
use std::rc::Rc;

use rquickjs::allocator::Allocator;

use crate::memory::{Region, usable};

/// Where an engine takes its memory from. The region lives as long as the engine does.
pub(crate) struct Heap(pub(crate) Rc<Region>);

#[expect(unsafe_code, reason = "an engine takes its memory from a region")]
// SAFETY: blocks are as large as was asked for, aligned to 16 bytes, and nobody else's. An engine is made
// after its region was opened, and runs only while the region holds its memory.
unsafe impl Allocator for Heap {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        // SAFETY: the region is open.
        unsafe { self.0.allocate(size) }
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        let Some(size) = count.checked_mul(size) else { return ptr::null_mut() };
        let block = self.alloc(size);
        if !block.is_null() {
            // SAFETY: the block is as large as was asked for.
            unsafe { block.write_bytes(0, size) };
        }
        block
    }

    unsafe fn dealloc(&mut self, block: *mut u8) {
        // SAFETY: the caller says that it is from here; null was sorted out before.
        unsafe { self.0.free(block) }
    }

    unsafe fn realloc(&mut self, block: *mut u8, size: usize) -> *mut u8 {
        if block.is_null() {
            return self.alloc(size);
        }
        // SAFETY: the caller says that it is from here.
        unsafe { self.0.resize(block, size) }
    }

    unsafe fn usable_size(block: *mut u8) -> usize {
        // SAFETY: the caller says that it is from here.
        unsafe { usable(block) }
    }
}
