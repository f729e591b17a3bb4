//! A Rust file with its string literals, and separately its comments, blanked out.
//!
//! Not a parser: it knows just enough of the lexical grammar that a check for a word is not
//! fooled by the word in a string. Both blanked texts have the file's own line breaks, so that
//! line numbers agree.

/// A Rust file of the workspace.
#[derive(Debug)]
pub(super) struct Source {
    /// Relative to the top folder, with `/` between the parts.
    pub(super) path: String,
    /// The file as it is.
    pub(super) text: String,
    /// Without the contents of string and character literals.
    pub(super) without_strings: String,
    /// Without those and without comments.
    pub(super) code: String,
}

impl Source {
    pub(super) fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let spans = spans(&text);
        let without_strings = blank(&text, &spans, |kind| kind == Kind::Literal);
        let code = blank(&text, &spans, |_| true);
        Self { path: path.into(), text, without_strings, code }
    }

    /// The number, from 1, of the line that holds byte `at`.
    pub(super) fn line_of(&self, at: usize) -> usize {
        1 + self.text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Comment,
    Literal,
}

/// A stretch of bytes that is not plain code.
#[derive(Debug, Clone, Copy)]
struct Span {
    kind: Kind,
    start: usize,
    end: usize,
}

fn blank(text: &str, spans: &[Span], hide: impl Fn(Kind) -> bool) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for span in spans.iter().filter(|span| hide(span.kind)) {
        for byte in &mut bytes[span.start..span.end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }
    String::from_utf8(bytes).expect("invariant: a span covers whole characters")
}

fn spans(text: &str) -> Vec<Span> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let kind_and_end = match bytes[at] {
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                Some((Kind::Comment, find(text, at, "\n").unwrap_or(bytes.len())))
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                Some((Kind::Comment, block_comment_end(bytes, at)))
            }
            b'"' => Some((Kind::Literal, string_end(bytes, at))),
            b'r' if starts_word(bytes, at) => {
                raw_string_end(text, at).map(|end| (Kind::Literal, end))
            }
            b'\'' => character_end(text, at).map(|end| (Kind::Literal, end)),
            _ => None,
        };
        match kind_and_end {
            Some((kind, end)) => {
                found.push(Span { kind, start: at, end });
                at = end;
            }
            None => at += 1,
        }
    }
    found
}

fn find(text: &str, from: usize, needle: &str) -> Option<usize> {
    text[from..].find(needle).map(|offset| from + offset)
}

/// Whether the byte at `at` does not continue an identifier (`b` and `c` prefixes aside).
fn starts_word(bytes: &[u8], at: usize) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
    match at.checked_sub(1).map(|before| bytes[before]) {
        Some(b'b' | b'c') => at < 2 || !word(bytes[at - 2]),
        Some(before) => !word(before),
        None => true,
    }
}

fn block_comment_end(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = start;
    while at + 1 < bytes.len() {
        match (bytes[at], bytes[at + 1]) {
            (b'/', b'*') => depth += 1,
            (b'*', b'/') => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The end of `r"..."` or `r#"..."#`; `None` for an identifier such as `r#type`.
fn raw_string_end(text: &str, start: usize) -> Option<usize> {
    let hashes = text[start + 1..].bytes().take_while(|byte| *byte == b'#').count();
    let open = start + 1 + hashes;
    if text.as_bytes().get(open) != Some(&b'"') {
        return None;
    }
    let close = format!("\"{}", "#".repeat(hashes));
    Some(find(text, open + 1, &close).map_or(text.len(), |end| end + close.len()))
}

/// The end of a character literal; `None` for a lifetime.
fn character_end(text: &str, start: usize) -> Option<usize> {
    let mut rest = text[start + 1..].char_indices();
    let (_, first) = rest.next()?;
    if first == '\\' {
        let escaped = start + 3;
        return find(text, text.ceil_char_boundary(escaped), "'").map(|end| end + 1);
    }
    let (offset, second) = rest.next()?;
    (second == '\'').then_some(start + 1 + offset + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_blanked_and_comments_separately() {
        let source = Source::new("a.rs", "f(\"in \\\" s\"); // said\n/* a /* b */ c */ g()");
        assert_eq!(source.without_strings, "f(         ); // said\n/* a /* b */ c */ g()");
        assert_eq!(source.code, format!("f(         ); {}\n{} g()", " ".repeat(7), " ".repeat(17)));
    }

    #[test]
    fn raw_strings_and_raw_identifiers_are_told_apart() {
        let source = Source::new("a.rs", "r#type + r#\"a \" b\"# + br\"x\" + var\"y\"");
        assert_eq!(source.code.split_whitespace().collect::<String>(), "r#type++b+var");
    }

    #[test]
    fn characters_and_lifetimes_are_told_apart() {
        let source = Source::new("a.rs", r#"x<'a>('"', '\'', '\u{1F}', 'é', '/') // '"'"#);
        assert_eq!(source.code.split_whitespace().collect::<String>(), "x<'a>(,,,,)");
    }

    #[test]
    fn an_open_end_reaches_to_the_end_of_the_file() {
        for text in ["\"abc", "/* abc", "r#\"abc\"", "'", "r", "\"\\"] {
            assert_eq!(Source::new("a.rs", text).text, text);
        }
    }

    #[test]
    fn lines_are_counted_from_one() {
        let source = Source::new("a.rs", "a\nb\n");
        assert_eq!((source.line_of(0), source.line_of(2)), (1, 2));
    }
}
