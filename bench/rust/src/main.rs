//! haft's own part of `bench/calls`: each subject is timed for a while and printed as one line of
//! JSON. `bench/README.md` says what is and what is not measured.
//!
//! ```text
//! haft-bench FIXTURE_FOLDER SECONDS [SUBJECT…]
//! ```

mod count;
mod durable;
mod pure;
mod report;

use std::path::Path;
use std::time::Duration;

use haft_bench::fixture::Fixture;

#[global_allocator]
static ALLOCATOR: count::Counting = count::Counting(mimalloc::MiMalloc);

type Subject = fn(&Fixture, Duration);

const SUBJECTS: [(&str, Subject); 7] = [
    ("schema", pure::schema),
    ("pure", pure::ten_tools),
    ("pure-10000", pure::ten_thousand_tools),
    ("pure-checked", pure::checked),
    ("sqlite-bare", durable::bare),
    ("sqlite-1", durable::one_caller),
    ("sqlite-64", durable::many_callers),
];

fn main() {
    let mut words = std::env::args().skip(1);
    let usage = "usage: haft-bench FIXTURE_FOLDER SECONDS [SUBJECT…]";
    let (Some(folder), Some(seconds)) = (words.next(), words.next()) else {
        eprintln!("{usage}");
        std::process::exit(2);
    };
    let fixture = Fixture::read(Path::new(&folder));
    let time = Duration::from_secs_f64(seconds.parse().expect(usage));
    let asked: Vec<String> = words.collect();
    for (name, subject) in SUBJECTS {
        if asked.is_empty() || asked.iter().any(|one| one == name) {
            subject(&fixture, time);
        }
    }
}
