#![expect(unsafe_code, reason = "blocks are written to and read")]

use std::ops::Range;

use super::image::{FORGET, PATIENCE};
use super::*;

/// Numbers without a pattern, the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }
}

/// What should be in the region: blocks, each full of one byte.
#[derive(Clone, Default)]
struct Model(Vec<(*mut u8, usize, u8)>);

impl Model {
    fn step(&mut self, region: &Region, dice: &mut Dice) {
        let size = 1 << dice.roll(if cfg!(miri) { 7 } else { 12 });
        let size = size + dice.roll(size);
        let byte = dice.roll(256) as u8;
        match dice.roll(3) {
            0 if !self.0.is_empty() => {
                let (block, ..) = self.0.swap_remove(dice.roll(self.0.len()));
                // SAFETY: the model holds what was handed out.
                unsafe { region.free(block) };
            }
            1 if !self.0.is_empty() => {
                let (block, before, old) = self.0.swap_remove(dice.roll(self.0.len()));
                // SAFETY: the model holds what was handed out.
                let moved = unsafe { region.resize(block, size) };
                assert!(!moved.is_null());
                assert!(read(moved, before.min(size)).iter().all(|byte| *byte == old));
                self.push(moved, size, byte);
            }
            _ => {
                // SAFETY: the region is open.
                let block = unsafe { region.allocate(size) };
                assert!(!block.is_null());
                self.push(block, size, byte);
            }
        }
    }

    fn push(&mut self, block: *mut u8, size: usize, byte: u8) {
        assert_eq!(block.addr() % ALIGN, 0);
        // SAFETY: the block was just handed out. All of what it says it has is written.
        unsafe {
            assert!(usable(block) >= size);
            block.write_bytes(byte, usable(block));
        }
        self.0.push((block, size, byte));
    }

    #[track_caller]
    fn check(&self) {
        for (block, size, byte) in &self.0 {
            assert!(read(*block, *size).iter().all(|found| found == byte));
        }
    }
}

fn read<'a>(block: *const u8, size: usize) -> &'a [u8] {
    // SAFETY: only blocks that were written to are read.
    unsafe { std::slice::from_raw_parts(block, size) }
}

fn region(bytes: usize) -> Region {
    let region = Region::reserve(bytes).unwrap();
    // SAFETY: it is new.
    unsafe { region.open() };
    region
}

impl Region {
    /// Whether these bytes stand anywhere in the region.
    pub(crate) fn holds(&self, bytes: &[u8]) -> bool {
        let all = read(self.at(0), self.layout.size());
        all.windows(bytes.len()).any(|found| found == bytes)
    }
}

/// Whether everything behind the pool is zero.
fn is_clean(region: &Region) -> bool {
    let (end, size) = (region.end.get(), region.layout.size());
    // An interpreter looks at every hundredth place only: it takes minutes for all of them.
    let step = if cfg!(miri) { 100 } else { 1 };
    read(region.at(end), size - end).iter().step_by(step).all(|byte| *byte == 0)
}

const ROUNDS: u64 = if cfg!(miri) { 2 } else { 10 };
const STEPS: usize = if cfg!(miri) { 40 } else { 600 };

#[test]
fn what_was_there_is_there_again() {
    for round in 1..=ROUNDS {
        let mut dice = Dice(round * 0x9e37_79b9);
        let region = region(if cfg!(miri) { 1 << 17 } else { 4 << 20 });
        let mut model = Model::default();
        for _ in 0..STEPS {
            model.step(&region, &mut dice);
        }
        // SAFETY: the region is open.
        let (kept, image) = (model.clone(), unsafe { region.image() });
        for _ in 0..5 {
            for _ in 0..STEPS {
                model.step(&region, &mut dice);
            }
            model.check();
            // SAFETY: what was made since the image is forgotten here.
            unsafe { region.put(&image) };
            model = kept.clone();
            model.check();
            assert!(is_clean(&region));
            assert!(image.bytes.len() == region.end.get());
        }
    }
}

/// One region serves several in turn.
#[test]
fn another_image_can_take_the_place() {
    let region = region(1 << 20);
    let fill = |size: usize, byte: u8| {
        // SAFETY: what was handed out before is not used any more, or is used again when its image is
        // back.
        unsafe {
            region.open();
            let mut model = Model::default();
            model.push(region.allocate(size), size, byte);
            (model, region.image())
        }
    };
    let (small, small_image) = fill(100, 1);
    let (large, large_image) = fill(if cfg!(miri) { 20_000 } else { 200_000 }, 2);
    for _ in 0..3 {
        // SAFETY: each model is checked while its image is there.
        unsafe { region.put(&small_image) };
        small.check();
        assert!(is_clean(&region));
        // SAFETY: the same.
        unsafe { region.put(&large_image) };
        large.check();
    }
}

#[test]
fn a_region_has_an_end() {
    let region = region(1 << 20);
    // SAFETY: the region is open.
    let image = unsafe { region.image() };
    for size in [usize::MAX, usize::MAX / 2, isize::MAX as usize, 2 << 20] {
        // SAFETY: the region is open.
        assert!(unsafe { region.allocate(size) }.is_null(), "{size}");
    }
    let mut blocks = 0;
    // SAFETY: the region is open.
    while !unsafe { region.allocate(10_000) }.is_null() {
        blocks += 1;
    }
    assert!((95..=105).contains(&blocks), "{blocks}");
    // SAFETY: none of the blocks is used.
    unsafe { region.put(&image) };
    assert!(is_clean(&region));
    // SAFETY: the region is open.
    assert!(!unsafe { region.allocate(500_000) }.is_null());
}

/// More than is written over by hand: the system takes it back.
#[test]
#[cfg_attr(miri, ignore = "an interpreter has no system to give memory to")]
fn what_is_large_is_gone_as_well() {
    let region = region(8 << 20);
    // SAFETY: the region is open.
    let image = unsafe { region.image() };
    for byte in 1..4 {
        // SAFETY: the block is as large as was asked for.
        unsafe {
            let block = region.allocate(6 << 20);
            block.write_bytes(byte, 6 << 20);
            region.put(&image);
        }
        assert!(is_clean(&region));
    }
    assert_eq!(region.gives_back, cfg!(target_os = "linux"));
}

/// Whether the region holds an image, byte for byte, and nothing behind it.
fn is_as(region: &Region, image: &Image) -> bool {
    let bytes = read(image.bytes.as_ptr().cast(), image.len());
    // Not all that there is: a debug build takes a minute for that.
    let behind = read(region.at(image.len()), 256 << 10);
    read(region.at(0), image.len()) == bytes && behind.iter().all(|byte| *byte == 0)
}

/// A region with some blocks, and its image.
fn filled(dice: &mut Dice) -> (Region, Model, Image) {
    let region = region(4 << 20);
    let mut model = Model::default();
    for _ in 0..STEPS {
        model.step(&region, dice);
    }
    // SAFETY: the region is open.
    let image = unsafe { region.image() };
    (region, model, image)
}

#[test]
#[cfg_attr(miri, ignore = "an interpreter does not let gaps be compared, and has no pages")]
fn what_was_written_to_is_put_back_to_the_byte() {
    for round in 1..=ROUNDS {
        let mut dice = Dice(round * 0x9e37_79b9);
        let (region, kept, mut image) = filled(&mut dice);
        for run in 0..50 {
            let mut model = kept.clone();
            for _ in 0..dice.roll(40) {
                model.step(&region, &mut dice);
            }
            // SAFETY: it is the only image, and what was made since is forgotten here.
            unsafe { region.put_back(&mut image) };
            assert!(is_as(&region, &image), "run {run} of round {round}");
            kept.check();
        }
        assert_eq!(region.watch.is_on(), cfg!(target_os = "linux"));
    }
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "nothing is watched elsewhere")]
#[cfg_attr(miri, ignore = "an interpreter has no pages")]
fn what_nobody_writes_to_is_not_copied() {
    let (region, model, mut image) = filled(&mut Dice(1));
    let (one, ..) = model.0[0];
    let write = |image: &mut Image, block: *mut u8| {
        // SAFETY: the block is there in the image, and nothing else was made since.
        unsafe {
            block.write_volatile(block.read_volatile().wrapping_add(1));
            region.put_back(image);
        }
        assert!(is_as(&region, image));
    };
    let copied = |image: &Image| image.written.iter().map(Range::len).sum::<usize>();
    for _ in 0..=PATIENCE {
        write(&mut image, one);
    }
    let few = copied(&image);
    assert!(few > 0 && few <= 2 * 4096 && image.len() > 10 * 4096, "{few} of {}", image.len());
    // Whoever writes everywhere is seen everywhere, and is forgotten in time.
    for (block, ..) in &model.0 {
        // SAFETY: as above.
        unsafe { block.write_volatile(!block.read_volatile()) };
    }
    write(&mut image, one);
    assert!(copied(&image) > 5 * 4096);
    for _ in 0..=FORGET {
        write(&mut image, one);
    }
    assert_eq!(copied(&image), few);
}

#[test]
#[cfg_attr(miri, ignore = "an interpreter has no pages")]
fn who_takes_turns_is_not_watched_and_finds_everything() {
    let (region, model, mut first) = filled(&mut Dice(1));
    // SAFETY: the region is open.
    let mut second = unsafe { region.image() };
    for round in 0..40 {
        let image = if round % 7 < 5 { &mut first } else { &mut second };
        // SAFETY: the images are the same, and what was made since them is forgotten.
        unsafe {
            region.put(image);
            for _ in 0..round % 7 {
                model.clone().step(&region, &mut Dice(round + 1));
                region.put_back(image);
                assert!(is_as(&region, image));
            }
        }
    }
}

/// There can be two on a thread, of which one is watched, and both can go while pages are closed.
#[test]
#[cfg_attr(miri, ignore = "an interpreter has no pages")]
fn regions_do_not_mind_each_other() {
    for last in [true, false] {
        let (one, _, mut one_image) = filled(&mut Dice(1));
        let (other, _, mut other_image) = filled(&mut Dice(2));
        for _ in 0..2 * PATIENCE {
            // SAFETY: each image is the only one of its region.
            unsafe {
                one.allocate(10_000).write_bytes(1, 10_000);
                other.allocate(10_000).write_bytes(2, 10_000);
                one.put_back(&mut one_image);
                other.put_back(&mut other_image);
            }
            assert!(is_as(&one, &one_image) && is_as(&other, &other_image));
        }
        assert!(!other.watch.is_on());
        if last {
            drop(one);
        }
    }
}

const TRY: &str = "HAFT_REWIND_TRY";

/// A fault that has nothing to do with closed pages ends the process, as it would without them.
#[test]
#[cfg(all(target_os = "linux", not(miri)))]
fn a_fault_that_is_not_ours_is_one() {
    use std::os::unix::process::ExitStatusExt as _;

    if std::env::var_os(TRY).is_some() {
        let (region, _, mut image) = filled(&mut Dice(1));
        for _ in 0..2 * PATIENCE {
            // SAFETY: it is the only image.
            unsafe { region.put_back(&mut image) };
        }
        assert!(region.watch.is_on());
        // SAFETY: none. Nothing lies there, and that is what is tried.
        unsafe { ptr::without_provenance_mut::<u8>(4096).write_volatile(1) };
        return;
    }
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "memory::tests::a_fault_that_is_not_ours_is_one", "--nocapture"])
        .env(TRY, "1")
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.signal(), Some(libc::SIGSEGV), "{status}");
}
