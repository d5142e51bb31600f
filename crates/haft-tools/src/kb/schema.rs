//! What the index holds of a record.

use sha2::{Digest as _, Sha256};
use tantivy::schema::{
    Field, IndexRecordOption, NumericOptions, STORED, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::{TantivyDocument, Term};

use super::record::Record;

/// Changes whenever an index of before cannot be used any more.
pub(super) const FORMAT: u32 = 2;

/// The name of our words' reader.
pub(super) const READER: &str = "haft";

#[derive(Clone, Copy)]
pub(super) struct Fields {
    /// The words.
    pub(super) text: Field,
    pub(super) id: Field,
    pub(super) namespace: Field,
    pub(super) kind: Field,
    pub(super) tag: Field,
    /// The file that the record is from.
    pub(super) file: Field,
    /// The last update, in seconds.
    pub(super) updated: Field,
    /// The id as a number, to join what is kept beside the index.
    pub(super) key: Field,
    /// The whole record, as JSON.
    pub(super) record: Field,
}

pub(super) const UPDATED: &str = "updated";
pub(super) const KEY: &str = "key";

pub(super) fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    // Frequencies and lengths, no positions: nothing asks for phrases, and they are half of an index.
    let words = TextFieldIndexing::default()
        .set_tokenizer(READER)
        .set_index_option(IndexRecordOption::WithFreqs);
    let exact = TextFieldIndexing::default()
        .set_tokenizer("raw")
        .set_fieldnorms(false)
        .set_index_option(IndexRecordOption::Basic);
    let exact = TextOptions::default().set_indexing_options(exact);
    let number = NumericOptions::default().set_fast();
    let fields = Fields {
        text: schema.add_text_field("text", TextOptions::default().set_indexing_options(words)),
        id: schema.add_text_field("id", exact.clone()),
        namespace: schema.add_text_field("namespace", exact.clone()),
        kind: schema.add_text_field("type", exact.clone()),
        tag: schema.add_text_field("tag", exact.clone()),
        file: schema.add_text_field("file", exact),
        updated: schema.add_i64_field(UPDATED, number.clone()),
        key: schema.add_u64_field(KEY, number),
        record: schema.add_text_field("record", STORED),
    };
    (schema.build(), fields)
}

/// An id as a number.
pub(super) fn key(id: &str) -> u64 {
    let digest: [u8; 32] = Sha256::digest(id.as_bytes()).into();
    digest.first_chunk::<8>().map_or(0, |first| u64::from_be_bytes(*first))
}

impl Fields {
    pub(super) fn document(
        &self,
        record: &Record,
        key: u64,
        file: &str,
    ) -> serde_json::Result<TantivyDocument> {
        let mut document = TantivyDocument::default();
        for text in record.searched() {
            document.add_text(self.text, text);
        }
        document.add_text(self.id, &record.id);
        document.add_text(self.namespace, &record.namespace);
        document.add_text(self.kind, &record.kind);
        for tag in &record.tags {
            document.add_text(self.tag, tag);
        }
        document.add_text(self.file, file);
        document.add_i64(self.updated, record.last_updated.as_second());
        document.add_u64(self.key, key);
        document.add_text(self.record, serde_json::to_string(record)?);
        Ok(document)
    }

    pub(super) fn of_file(&self, file: &str) -> Term {
        Term::from_field_text(self.file, file)
    }

    pub(super) fn of_id(&self, id: &str) -> Term {
        Term::from_field_text(self.id, id)
    }
}
