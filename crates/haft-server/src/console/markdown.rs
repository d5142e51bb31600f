//! A tool's document as HTML, made from nodes of our own: what a document brings along in HTML is
//! shown as the text that it is, pictures are their words, and links lead to the web, which is said beside
//! them, or nowhere.

use maud::{Escaper, Markup, PreEscaped};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use std::fmt::Write as _;

use super::visible::{visible, written};

/// The document. Its headings begin below those of the page.
pub(crate) fn render(text: &str) -> Markup {
    let parser = Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH);
    let mut out = Writer::default();
    for event in parser {
        out.take(event);
    }
    PreEscaped(out.html)
}

#[derive(Default)]
struct Writer {
    html: String,
    in_head: bool,
    /// Where the links lead that are open, and where their words begin.
    links: Vec<Option<(String, usize)>>,
}

impl Writer {
    /// Words of the document, with what deceives the eye marked.
    fn text(&mut self, text: &str) {
        self.html.push_str(&visible(text).into_string());
    }

    /// The value of an attribute.
    fn attribute(&mut self, text: &str) {
        // Writing to a String cannot fail.
        let _ = Escaper::new(&mut self.html).write_str(text);
    }

    fn raw(&mut self, html: &str) {
        self.html.push_str(html);
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.text(&text),
            Event::Code(code) => {
                self.raw("<code>");
                self.text(&code);
                self.raw("</code>");
            }
            Event::SoftBreak => self.raw("\n"),
            Event::HardBreak => self.raw("<br>"),
            Event::Rule => self.raw("<hr>"),
            Event::TaskListMarker(done) => self.raw(if done { "[x] " } else { "[ ] " }),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.raw("<p>"),
            Tag::Heading { level, .. } => self.raw(heading(level).0),
            Tag::BlockQuote(_) => self.raw("<blockquote>"),
            Tag::CodeBlock(kind) => {
                let label = match kind {
                    CodeBlockKind::Fenced(info) if !info.is_empty() => info.into_string(),
                    CodeBlockKind::Fenced(_) | CodeBlockKind::Indented => "code".to_owned(),
                };
                self.raw("<pre tabindex=\"0\" aria-label=\"");
                self.attribute(&written(&label));
                self.raw("\"><code>");
            }
            Tag::List(Some(first)) => {
                let _ = write!(self.html, "<ol start=\"{first}\">");
            }
            Tag::List(None) => self.raw("<ul>"),
            Tag::Item => self.raw("<li>"),
            Tag::Emphasis => self.raw("<em>"),
            Tag::Strong => self.raw("<strong>"),
            Tag::Strikethrough => self.raw("<del>"),
            Tag::Link { dest_url, .. } => self.link(&dest_url),
            Tag::Table(_) => self.raw("<div class=\"table\" tabindex=\"0\"><table>"),
            Tag::TableHead => {
                self.in_head = true;
                self.raw("<thead><tr>");
            }
            Tag::TableRow => self.raw("<tr>"),
            Tag::TableCell => self.raw(if self.in_head { "<th scope=\"col\">" } else { "<td>" }),
            Tag::Image { .. }
            | Tag::HtmlBlock
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    /// Only to the web, and without a word about where from.
    fn link(&mut self, to: &str) {
        let lower = to.to_ascii_lowercase();
        if !lower.starts_with("https://") && !lower.starts_with("http://") {
            return self.links.push(None);
        }
        self.raw("<a rel=\"noopener noreferrer nofollow\" href=\"");
        self.attribute(to);
        self.raw("\">");
        self.links.push(Some((to.to_owned(), self.html.len())));
    }

    /// Where it leads stands beside it: words can say anything.
    fn left(&mut self) {
        let Some((to, begins)) = self.links.pop().flatten() else { return };
        let place = visible(&to).into_string();
        let says_it = self.html.get(begins..) == Some(place.as_str());
        self.raw("</a>");
        if !says_it {
            self.raw(" <span class=\"note\">(");
            self.raw(&place);
            self.raw(")</span>");
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.raw("</p>"),
            TagEnd::Heading(level) => self.raw(heading(level).1),
            TagEnd::BlockQuote(_) => self.raw("</blockquote>"),
            TagEnd::CodeBlock => self.raw("</code></pre>"),
            TagEnd::List(true) => self.raw("</ol>"),
            TagEnd::List(false) => self.raw("</ul>"),
            TagEnd::Item => self.raw("</li>"),
            TagEnd::Emphasis => self.raw("</em>"),
            TagEnd::Strong => self.raw("</strong>"),
            TagEnd::Strikethrough => self.raw("</del>"),
            TagEnd::Link => self.left(),
            TagEnd::Table => self.raw("</tbody></table></div>"),
            TagEnd::TableHead => {
                self.in_head = false;
                self.raw("</tr></thead><tbody>");
            }
            TagEnd::TableRow => self.raw("</tr>"),
            TagEnd::TableCell => self.raw(if self.in_head { "</th>" } else { "</td>" }),
            TagEnd::Image
            | TagEnd::HtmlBlock
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }
}

/// Two levels below what is written: the page has a title, and the document has one on it.
fn heading(level: HeadingLevel) -> (&'static str, &'static str) {
    match level {
        HeadingLevel::H1 => ("<h3>", "</h3>"),
        HeadingLevel::H2 => ("<h4>", "</h4>"),
        HeadingLevel::H3 => ("<h5>", "</h5>"),
        HeadingLevel::H4 | HeadingLevel::H5 | HeadingLevel::H6 => ("<h6>", "</h6>"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(render(text).into_string(), expected);
    }

    #[test]
    fn a_document_becomes_html() {
        check(
            "# Title\n\nOne *two* `<b>`.",
            "<h3>Title</h3><p>One <em>two</em> <code>&lt;b&gt;</code>.</p>",
        );
        check("- a\n- b", "<ul><li>a</li><li>b</li></ul>");
        check(
            "```json\n{}\n```",
            "<pre tabindex=\"0\" aria-label=\"json\"><code>{}\n</code></pre>",
        );
        check(
            "|a|b|\n|-|-|\n|1|2|",
            "<div class=\"table\" tabindex=\"0\"><table><thead><tr><th scope=\"col\">a</th>\
             <th scope=\"col\">b</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody></table></div>",
        );
    }

    #[test]
    fn a_document_brings_no_html_of_its_own() {
        check("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;");
        check("a <img src=x onerror=alert(1)> b", "<p>a &lt;img src=x onerror=alert(1)&gt; b</p>");
        check(
            "```\"><script>\n```",
            "<pre tabindex=\"0\" aria-label=\"&quot;&gt;&lt;script&gt;\"><code></code></pre>",
        );
    }

    #[test]
    fn what_deceives_the_eye_is_marked() {
        for text in ["p\u{430}y\u{202e}", "`p\u{430}y\u{202e}`", "```\np\u{430}y\u{202e}\n```"] {
            let shown = render(text).into_string();
            assert!(shown.contains("U+0430") && shown.contains("U+202E"), "{shown}");
            assert!(!shown.contains('\u{202e}'), "{shown}");
        }
        let shown = render("[https://bank.example](https://b\u{430}nk.example)").into_string();
        assert!(shown.contains("(https://b") && shown.contains("U+0430"), "{shown}");
    }

    #[test]
    fn links_lead_to_the_web_or_nowhere() {
        check("[x](javascript:alert(1))", "<p>x</p>");
        check("[x](JaVaScRiPt:alert`1`)", "<p>x</p>");
        check("[x](data:text/html,1) ![alt](http://a.example/x.png)", "<p>x alt</p>");
        check(
            "[x](https://a.example/?a=1&b=\"2)",
            "<p><a rel=\"noopener noreferrer nofollow\" href=\"https://a.example/?a=1&amp;b=&quot;2\">x</a> \
             <span class=\"note\">(https://a.example/?a=1&amp;b=&quot;2)</span></p>",
        );
        check(
            "<https://a.example/b>",
            "<p><a rel=\"noopener noreferrer nofollow\" href=\"https://a.example/b\">https://a.example/b</a></p>",
        );
    }
}
