//! Ranking tools by the words of a task: BM25 over several fields, each with a weight of its own.

use std::collections::HashMap;

use super::words::words;

/// How soon more of the same word stops helping.
const K1: f32 = 0.8;

/// What is known about a tool, as far as it helps to find it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// Its id, in whatever case.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The same in other words.
    pub summary: String,
    /// For search.
    pub tags: Vec<String>,
    /// Parameters: name and description.
    pub parameters: Vec<(String, String)>,
}

/// The fields: weight, and how much a long one is held against a word in it. Chosen on one half of a
/// public set of questions and measured on the other: see `docs/search.md`.
const FIELDS: [(f32, f32); 5] = [
    (1.2, 0.5), // name
    (1.0, 0.6), // description and summary
    (1.5, 0.3), // tags
    (0.7, 0.6), // names of parameters
    (0.8, 0.5), // what they say about themselves, and the values that they list
];

/// Where a tool stands: in the list of the index that was asked, or of the one beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// In this index.
    Here(usize),
    /// In the one beside it.
    More(usize),
}

/// An index over tools, by their place in the list that it was made from.
#[derive(Clone, Debug, Default)]
pub struct Index {
    postings: HashMap<String, Vec<(u32, f32)>>,
    documents: usize,
    /// How long each field is on average.
    averages: [f32; 5],
}

impl Index {
    /// Reads all tools.
    #[must_use]
    pub fn new(documents: &[Document]) -> Self {
        let fields: Vec<[Vec<String>; 5]> = documents.iter().map(read).collect();
        let averages = averages(&fields);
        Self::weigh(&fields, averages)
    }

    /// An index over more tools, to be searched [together](Index::search_both) with this one.
    #[must_use]
    pub fn more(&self, documents: &[Document]) -> Self {
        let fields: Vec<[Vec<String>; 5]> = documents.iter().map(read).collect();
        Self::weigh(&fields, self.averages.map(|average| average.max(1.0)))
    }

    fn weigh(fields: &[[Vec<String>; 5]], averages: [f32; 5]) -> Self {
        let mut postings: HashMap<String, Vec<(u32, f32)>> = HashMap::new();
        for (at, document) in (0_u32..).zip(fields) {
            let mut weights: HashMap<&str, f32> = HashMap::new();
            for ((words, average), (weight, by_length)) in document.iter().zip(averages).zip(FIELDS)
            {
                let long = 1.0 - by_length + by_length * words.len() as f32 / average;
                for word in words {
                    *weights.entry(word).or_default() += weight / long;
                }
            }
            for (word, weight) in weights {
                postings.entry(word.to_owned()).or_default().push((at, weight));
            }
        }
        Self { postings, documents: fields.len(), averages }
    }

    /// The places of the best tools that may be shown, best first; equals in the list's order.
    #[must_use]
    pub fn search(&self, query: &str, limit: usize, shown: impl Fn(usize) -> bool) -> Vec<usize> {
        let nothing = Self::default();
        let found = self.search_both(&nothing, query, limit, |at| match at {
            Place::Here(at) => shown(at),
            Place::More(_) => false,
        });
        let here = |place| match place {
            Place::Here(at) => Some(at),
            Place::More(_) => None,
        };
        found.into_iter().filter_map(here).collect()
    }

    /// The same over this index and [more](Index::more), ranked as if they were one.
    #[must_use]
    pub fn search_both(
        &self,
        more: &Self,
        query: &str,
        limit: usize,
        shown: impl Fn(Place) -> bool,
    ) -> Vec<Place> {
        let mut asked = words(query);
        asked.sort_unstable();
        asked.dedup();
        let mut scores: HashMap<Place, f32> = HashMap::new();
        let none = Vec::new();
        for word in &asked {
            let here = self.postings.get(word).unwrap_or(&none);
            let beyond = more.postings.get(word).unwrap_or(&none);
            let rare = rarity(self.documents + more.documents, here.len() + beyond.len());
            let here = here.iter().map(|(at, weight)| (Place::Here(*at as usize), weight));
            let beyond = beyond.iter().map(|(at, weight)| (Place::More(*at as usize), weight));
            for (place, weight) in here.chain(beyond) {
                *scores.entry(place).or_default() += rare * weight * (K1 + 1.0) / (K1 + weight);
            }
        }
        let mut found: Vec<(Place, f32)> =
            scores.into_iter().filter(|(place, _)| shown(*place)).collect();
        found.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        found.into_iter().take(limit).map(|(place, _)| place).collect()
    }
}

fn rarity(all: usize, holders: usize) -> f32 {
    let (all, holders) = (all as f32, holders as f32);
    (1.0 + (all - holders + 0.5) / (holders + 0.5)).ln()
}

fn read(document: &Document) -> [Vec<String>; 5] {
    let mut about = words(&document.description);
    about.extend(words(&document.summary));
    let mut tags = Vec::new();
    document.tags.iter().for_each(|tag| tags.extend(words(tag)));
    let (mut names, mut said) = (Vec::new(), Vec::new());
    for (name, description) in &document.parameters {
        names.extend(words(name));
        said.extend(words(description));
    }
    [words(&document.name), about, tags, names, said]
}

fn averages(documents: &[[Vec<String>; 5]]) -> [f32; 5] {
    let mut sums = [0.0_f32; 5];
    for document in documents {
        for (sum, words) in sums.iter_mut().zip(document) {
            *sum += words.len() as f32;
        }
    }
    sums.map(|sum| (sum / documents.len().max(1) as f32).max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, description: &str, parameters: &[(&str, &str)]) -> Document {
        Document {
            name: name.into(),
            description: description.into(),
            parameters: parameters.iter().map(|(n, d)| ((*n).into(), (*d).into())).collect(),
            ..Document::default()
        }
    }

    fn tools() -> Vec<Document> {
        vec![
            tool(
                "core__convertCurrency",
                "Exchange an amount of money.",
                &[("amount", ""), ("to", "")],
            ),
            tool(
                "core__calendar_create_event",
                "Put a meeting into the calendar.",
                &[("start", "When it begins.")],
            ),
            tool("core__calendar_list_events", "List meetings of a day.", &[("day", "")]),
            tool("core__weather_forecast", "The weather of the next days.", &[("city", "Where.")]),
        ]
    }

    #[track_caller]
    fn check(query: &str, expected: &[usize]) {
        assert_eq!(Index::new(&tools()).search(query, 2, |_| true), expected, "{query}");
    }

    #[test]
    fn the_words_of_a_task_find_its_tool() {
        check("convert 5 euros into another currency", &[0]);
        check("list the meetings of today", &[2, 1]);
        check("create an event", &[1, 2]);
        check("forecasting for the cities", &[3]);
        check("sing a song", &[]);
        check("", &[]);
    }

    #[test]
    fn what_is_not_shown_is_not_found() {
        assert_eq!(Index::new(&tools()).search("calendar event", 5, |at| at != 1), [2]);
        assert_eq!(Index::new(&[]).search("anything", 5, |_| true), [0_usize; 0]);
    }
}
