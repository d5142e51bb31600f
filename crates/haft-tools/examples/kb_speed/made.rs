//! Made-up records and queries, the same every time.

use std::fs;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::Path;

use serde_json::{Value, json};

const KINDS: [&str; 5] = ["project", "person", "process", "link", "doc"];
const SPACES: [&str; 3] = ["studio", "personal", "public"];
const FIRST_DAY: i64 = 1_600_000_000;

/// Numbers that are the same every time.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }

    /// Few words are used often and most of them rarely, as in every language.
    fn word(&mut self) -> u64 {
        let part = (self.next() % 1_000_000) as f64 / 1_000_000.0;
        (50_000_f64.powf(part) - 1.0) as u64
    }
}

fn spelled(number: u64) -> String {
    let syllables = [
        "ba", "co", "di", "fu", "ga", "hel", "ki", "lor", "mu", "nes", "po", "ra", "si", "tu",
        "ver", "zo",
    ];
    let mut left = number + 16;
    let mut word = String::new();
    while left > 0 {
        word.push_str(syllables[(left % 16) as usize]);
        left /= 16;
    }
    word
}

fn text(dice: &mut Dice, words: u64) -> String {
    (0..words).map(|_| spelled(dice.word())).collect::<Vec<_>>().join(" ")
}

pub(crate) fn write_records(path: &Path, records: u64) {
    let mut dice = Dice(88_172_645_463_325_252);
    let mut out = BufWriter::new(fs::File::create(path).unwrap());
    for number in 0..records {
        let words = 15 + dice.below(30);
        let record = json!({
            "id": format!("r:{number}"),
            "type": KINDS[dice.below(5) as usize],
            "title": text(&mut dice, 4),
            "body": text(&mut dice, words),
            "tags": [format!("t{}", dice.below(50)), format!("u{}", dice.below(200))],
            "namespace": SPACES[dice.below(3) as usize],
            "last_updated": jiff::Timestamp::from_second(FIRST_DAY + dice.below(150_000_000) as i64).unwrap().to_string(),
        });
        writeln!(out, "{record}").unwrap();
    }
}

pub(crate) struct Asked {
    pub(crate) words: Vec<String>,
    pub(crate) kind: Option<&'static str>,
    pub(crate) tag: Option<String>,
    pub(crate) since: Option<i64>,
    pub(crate) space: &'static str,
}

/// Every query is filtered: all by namespace, some by type, tag or date as well.
pub(crate) fn queries(count: u64) -> Vec<Asked> {
    let mut dice = Dice(4_101_842_887_655_102_017);
    (0..count)
        .map(|number| Asked {
            words: (0..2 + dice.below(3)).map(|_| spelled(20 + dice.word() % 5_000)).collect(),
            kind: (number % 2 == 0).then(|| KINDS[dice.below(5) as usize]),
            tag: (number % 3 == 0).then(|| format!("t{}", dice.below(50))),
            since: (number % 4 == 0).then(|| FIRST_DAY + dice.below(150_000_000) as i64),
            space: SPACES[dice.below(3) as usize],
        })
        .collect()
}

/// The records of a file with the lines that they are.
pub(crate) fn rows(file: &Path) -> impl Iterator<Item = (Value, String)> {
    BufReader::new(fs::File::open(file).unwrap()).lines().map(|line| {
        let line = line.unwrap();
        (serde_json::from_str(&line).unwrap(), line)
    })
}

pub(crate) fn updated(record: &Value) -> i64 {
    record["last_updated"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_second()
}
