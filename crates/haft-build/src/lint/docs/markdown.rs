//! The parts of a Markdown document that the checks look at, with their places.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// A document's sections, fenced JSON and code words.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) sections: Vec<Section>,
    pub(super) blocks: Vec<Block>,
    pub(super) words: Vec<Word>,
    /// HTML comments, which a page does not show.
    pub(super) comments: Vec<Range<usize>>,
}

/// A second-level heading and what follows it.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) title: String,
    pub(super) heading: Range<usize>,
    pub(super) body: Range<usize>,
}

/// A fenced block of JSON: one that is marked as such, or an unmarked one that looks like an
/// object, which models copy all the same.
#[derive(Debug)]
pub(super) struct Block {
    /// What stands after `json` on the fence.
    pub(super) info: String,
    /// The paragraph, list item or heading before it.
    pub(super) intro: String,
    pub(super) text: String,
    /// Where each piece of `text` stands in the document: a block inside of a list is indented.
    pieces: Vec<(usize, Range<usize>)>,
    fence: Range<usize>,
    marked: bool,
}

impl Block {
    /// The place in the document of bytes of the block.
    pub(super) fn place(&self, span: Range<usize>) -> Range<usize> {
        let start = self.offset(span.start);
        let end = self.offset(span.end).max(start);
        start..end
    }

    /// Whether it is meant to be JSON.
    fn is_json(&self) -> bool {
        let inside = self.text.trim().strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        self.marked
            || inside.is_some_and(|inside| inside.trim_start().starts_with(['"', '\'', '}']))
    }

    /// The opening fence.
    pub(super) fn fence(&self) -> Range<usize> {
        self.fence.clone()
    }

    fn offset(&self, at: usize) -> usize {
        let piece = self.pieces.iter().rev().find(|(start, _)| *start <= at);
        piece.map_or(self.fence.start, |(start, place)| (place.start + at - start).min(place.end))
    }
}

/// Code in running text, with the words around it.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) place: Range<usize>,
    pub(super) before: String,
    pub(super) after: String,
}

/// Reads a document.
pub(super) fn read(text: &str) -> Document {
    let mut reader =
        Reader { text, document: Document::default(), open: Open::Nothing, intro: String::new() };
    for (event, place) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        reader.event(event, place);
    }
    reader.close_section(text.len());
    reader.document
}

struct Reader<'a> {
    text: &'a str,
    document: Document,
    open: Open,
    intro: String,
}

enum Open {
    Nothing,
    Heading(String),
    Paragraph,
    Block(Block),
}

impl Reader<'_> {
    fn event(&mut self, event: Event<'_>, place: Range<usize>) {
        match event {
            Event::Start(Tag::Heading { level: HeadingLevel::H2, .. }) => {
                self.close_section(place.start);
                self.open = Open::Heading(String::new());
            }
            Event::Start(Tag::Heading { .. } | Tag::Item) => self.intro.clear(),
            Event::End(TagEnd::Heading(HeadingLevel::H2)) => self.heading(place),
            Event::Start(Tag::Paragraph) => {
                self.intro.clear();
                self.open = Open::Paragraph;
            }
            Event::End(TagEnd::Paragraph) => self.open = Open::Nothing,
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => self.fence(&info, place),
            Event::End(TagEnd::CodeBlock) => {
                if let Open::Block(block) = std::mem::replace(&mut self.open, Open::Nothing)
                    && block.is_json()
                {
                    self.document.blocks.push(block);
                }
            }
            Event::Text(words) => self.words(&words, place),
            Event::Code(code) => {
                match &mut self.open {
                    Open::Heading(title) => title.push_str(&code),
                    Open::Paragraph | Open::Nothing => self.intro.push_str(&code),
                    Open::Block(_) => {}
                }
                self.word(&code, place);
            }
            Event::SoftBreak | Event::HardBreak => self.intro.push(' '),
            Event::Html(html) | Event::InlineHtml(html) => self.comment(&html, place),
            Event::Start(_)
            | Event::End(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::Rule
            | Event::TaskListMarker(_) => {}
        }
    }

    fn heading(&mut self, place: Range<usize>) {
        if let Open::Heading(title) = std::mem::replace(&mut self.open, Open::Nothing) {
            let end = place.start + self.text.get(place.clone()).map_or(0, |h| h.trim_end().len());
            self.document.sections.push(Section {
                title: title.trim().to_owned(),
                heading: place.start..end,
                body: place.end..place.end,
            });
            self.intro.clear();
        }
    }

    fn close_section(&mut self, end: usize) {
        if let Some(section) = self.document.sections.last_mut() {
            section.body.end = end.max(section.body.start);
        }
    }

    fn fence(&mut self, info: &str, place: Range<usize>) {
        let mut words = info.split_whitespace();
        let language = words.next().unwrap_or_default().to_ascii_lowercase();
        if !matches!(language.as_str(), "" | "json" | "jsonc" | "json5") {
            return;
        }
        let line = self.text.get(place.clone()).and_then(|block| block.lines().next());
        self.open = Open::Block(Block {
            info: words.collect::<Vec<_>>().join(" ").to_lowercase(),
            intro: std::mem::take(&mut self.intro),
            text: String::new(),
            pieces: Vec::new(),
            fence: place.start..place.start + line.map_or(0, str::len),
            marked: !language.is_empty(),
        });
    }

    fn words(&mut self, words: &str, place: Range<usize>) {
        match &mut self.open {
            Open::Heading(title) => title.push_str(words),
            Open::Paragraph | Open::Nothing => self.intro.push_str(words),
            Open::Block(block) => {
                block.pieces.push((block.text.len(), place));
                block.text.push_str(words);
            }
        }
    }

    fn comment(&mut self, html: &str, place: Range<usize>) {
        let starts = html.match_indices("<!--").filter(|(at, _)| {
            // What an import leaves to be written is marked, and reported by itself.
            html.get(*at..).is_some_and(|rest| !rest.starts_with(super::GENERATED))
        });
        let places = starts.map(|(at, mark)| place.start + at..place.start + at + mark.len());
        self.document.comments.extend(places);
    }

    fn word(&mut self, code: &str, place: Range<usize>) {
        let before = last_characters(self.text.get(..place.start).unwrap_or_default());
        let after = first_characters(self.text.get(place.end..).unwrap_or_default());
        let letters = |text: &str| text.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        self.document.words.push(Word {
            text: code.to_owned(),
            before: letters(before.split_whitespace().next_back().unwrap_or_default()),
            after: letters(after.split_whitespace().next().unwrap_or_default()),
            place,
        });
    }
}

/// The longest word next to a code word that is looked at.
const WINDOW: usize = 24;

fn first_characters(text: &str) -> &str {
    let end = text.char_indices().nth(WINDOW).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or_default()
}

fn last_characters(text: &str) -> &str {
    let start = text.char_indices().rev().nth(WINDOW).map_or(0, |(at, _)| at);
    text.get(start..).unwrap_or_default()
}
