//! Tantivy without anything of ours around it.

use std::fs;
use std::path::Path;

use frostem::{Algorithm, Stemmer};
use tantivy::collector::{Count, TopDocs};
use tantivy::query::{BooleanQuery, ConstScoreQuery, Occur, Query, RangeQuery, TermQuery};
use tantivy::schema::{
    FAST, Field, IndexRecordOption, STORED, STRING, Schema, TEXT, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{
    LowerCaser, RemoveLongFilter, SimpleTokenizer, TextAnalyzer, Token, TokenFilter, TokenStream,
    Tokenizer,
};
use tantivy::{Index, Searcher, TantivyDocument, Term};

use crate::line::{Line, Watch, asked, peak, size};
use crate::made::{Asked, rows, updated};

/// With the fields and options of its own examples: two fields of text, positions, no stems.
pub(crate) fn as_it_comes(folder: &Path, file: &Path, queries: &[Asked]) -> Line {
    run(folder, file, queries, Work::AsItComes)
}

/// With what makes the job alike: one field of text with English stems and no positions, and how
/// many records match in all.
pub(crate) fn stems(folder: &Path, file: &Path, queries: &[Asked]) -> Line {
    run(folder, file, queries, Work::Alike)
}

#[derive(Clone, Copy, PartialEq)]
enum Work {
    AsItComes,
    Alike,
}

struct Fields {
    title: Field,
    body: Field,
    id: Field,
    kind: Field,
    tag: Field,
    space: Field,
    at: Field,
    stored: Field,
}

fn schema(work: Work) -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let stems = TextFieldIndexing::default()
        .set_tokenizer("stems")
        .set_index_option(IndexRecordOption::WithFreqs);
    let (title, body) = match work {
        Work::AsItComes => {
            (schema.add_text_field("title", TEXT), schema.add_text_field("body", TEXT))
        }
        Work::Alike => {
            let options = TextOptions::default().set_indexing_options(stems);
            let text = schema.add_text_field("text", options);
            (text, text)
        }
    };
    let fields = Fields {
        title,
        body,
        id: schema.add_text_field("id", STRING),
        kind: schema.add_text_field("type", STRING),
        tag: schema.add_text_field("tag", STRING),
        space: schema.add_text_field("namespace", STRING),
        at: schema.add_i64_field("updated", FAST),
        stored: schema.add_text_field("record", STORED),
    };
    (schema.build(), fields)
}

fn analyzer() -> TextAnalyzer {
    TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(40))
        .filter(LowerCaser)
        .filter(Stems)
        .build()
}

fn run(folder: &Path, file: &Path, queries: &[Asked], work: Work) -> Line {
    let path = folder.join("index");
    fs::create_dir_all(&path).unwrap();
    let (schema, fields) = schema(work);
    let watch = Watch::start();
    let index = Index::create_in_dir(&path, schema).unwrap();
    index.tokenizers().register("stems", analyzer());
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4);
    let mut writer = index.writer_with_num_threads(threads, threads * (64 << 20)).unwrap();
    for (record, line) in rows(file) {
        let text = |name: &str| record[name].as_str().unwrap();
        let mut document = TantivyDocument::default();
        document.add_text(fields.title, text("title"));
        document.add_text(fields.body, text("body"));
        document.add_text(fields.id, text("id"));
        document.add_text(fields.kind, text("type"));
        document.add_text(fields.space, text("namespace"));
        for one in record["tags"].as_array().unwrap() {
            document.add_text(fields.tag, one.as_str().unwrap());
        }
        document.add_i64(fields.at, updated(&record));
        document.add_text(fields.stored, line);
        writer.add_document(document).unwrap();
    }
    writer.commit().unwrap();
    writer.wait_merging_threads().unwrap();
    let (index_spent, memory) = (watch.spent(), peak());
    let searcher = index.reader().unwrap().searcher();
    let (times, found) = asked(queries, |asked| ask(&searcher, &fields, asked, work));
    let bytes = size(&path);
    Line { says: String::new(), index: index_spent, memory, bytes, times, found }
}

fn exact(field: Field, value: &str) -> (Occur, Box<dyn Query>) {
    let term = TermQuery::new(Term::from_field_text(field, value), IndexRecordOption::Basic);
    (Occur::Must, Box::new(ConstScoreQuery::new(Box::new(term), 0.0)))
}

fn ask(searcher: &Searcher, fields: &Fields, asked: &Asked, work: Work) -> usize {
    let mut analyzer = analyzer();
    let mut words: Vec<(Occur, Box<dyn Query>)> = Vec::new();
    let mut add = |field, word: &str| {
        let term = Term::from_field_text(field, word);
        let query = TermQuery::new(term, IndexRecordOption::WithFreqs);
        words.push((Occur::Should, Box::new(query)));
    };
    for word in &asked.words {
        match work {
            Work::AsItComes => [fields.title, fields.body].iter().for_each(|to| add(*to, word)),
            Work::Alike => {
                analyzer.token_stream(word).process(&mut |token| add(fields.body, &token.text));
            }
        }
    }
    let mut all: Vec<(Occur, Box<dyn Query>)> =
        vec![(Occur::Must, Box::new(BooleanQuery::new(words))), exact(fields.space, asked.space)];
    all.extend(asked.kind.map(|value| exact(fields.kind, value)));
    all.extend(asked.tag.as_deref().map(|value| exact(fields.tag, value)));
    all.extend(asked.since.map(|since| -> (Occur, Box<dyn Query>) {
        let from = std::ops::Bound::Included(Term::from_field_i64(fields.at, since));
        let range = RangeQuery::new(from, std::ops::Bound::Unbounded);
        (Occur::Must, Box::new(ConstScoreQuery::new(Box::new(range), 0.0)))
    }));
    let (query, top) = (BooleanQuery::new(all), TopDocs::with_limit(10).order_by_score());
    let best = match work {
        Work::AsItComes => searcher.search(&query, &top).unwrap(),
        Work::Alike => searcher.search(&query, &(top, Count)).unwrap().0,
    };
    let read: Vec<TantivyDocument> =
        best.iter().map(|(_, place)| searcher.doc(*place).unwrap()).collect();
    read.len()
}

/// Takes the endings off.
#[derive(Clone)]
struct Stems;

impl TokenFilter for Stems {
    type Tokenizer<T: Tokenizer> = Stemming<T>;

    fn transform<T: Tokenizer>(self, inner: T) -> Stemming<T> {
        Stemming(inner)
    }
}

#[derive(Clone)]
struct Stemming<T>(T);

impl<T: Tokenizer> Tokenizer for Stemming<T> {
    type TokenStream<'a> = Stemmed<T::TokenStream<'a>>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Self::TokenStream<'a> {
        Stemmed { inner: self.0.token_stream(text), stemmer: Stemmer::new(Algorithm::English) }
    }
}

struct Stemmed<S> {
    inner: S,
    stemmer: Stemmer,
}

impl<S: TokenStream> TokenStream for Stemmed<S> {
    fn advance(&mut self) -> bool {
        if !self.inner.advance() {
            return false;
        }
        let token = self.inner.token_mut();
        token.text = self.stemmer.stem(&token.text).into_owned();
        true
    }

    fn token(&self) -> &Token {
        self.inner.token()
    }

    fn token_mut(&mut self) -> &mut Token {
        self.inner.token_mut()
    }
}
