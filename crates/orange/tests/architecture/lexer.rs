//! Splits Rust text into code, string literals and tokens.
//!
//! Comments and literals are blanked rather than removed, so that every line of the
//! code is the same line of the file.

/// A string literal, without its quotes and with its escapes as written.
#[derive(Debug, PartialEq, Eq)]
pub struct Literal {
    pub line: usize,
    pub text: String,
}

/// A word, a `::`, or one other character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub line: usize,
    pub text: String,
}

impl Token {
    pub fn is_word(&self) -> bool {
        self.text
            .starts_with(|c: char| c.is_alphanumeric() || c == '_')
    }
}

/// The text without comments and literals, and the string literals.
pub fn split(text: &str) -> (String, Vec<Literal>) {
    let mut splitter = Splitter {
        rest: text,
        code: String::new(),
        literals: Vec::new(),
        line: 1,
    };
    splitter.run();
    (splitter.code, splitter.literals)
}

/// The tokens of text that has neither comments nor literals.
pub fn tokens(code: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    for (index, line_text) in code.lines().enumerate() {
        let line = index + 1;
        let mut rest = line_text.trim_start();
        while !rest.is_empty() {
            let length = token_length(rest);
            let (text, tail) = rest.split_at(length);
            tokens.push(Token {
                line,
                text: text.to_owned(),
            });
            rest = tail.trim_start();
        }
    }
    tokens
}

fn token_length(rest: &str) -> usize {
    let word = word_length(rest);
    if word > 0 {
        word
    } else if rest.starts_with("::") {
        2
    } else {
        rest.chars().next().map_or(0, char::len_utf8)
    }
}

fn word_length(rest: &str) -> usize {
    rest.find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(rest.len())
}

struct Splitter<'a> {
    rest: &'a str,
    code: String,
    literals: Vec<Literal>,
    line: usize,
}

impl Splitter<'_> {
    fn run(&mut self) {
        while let Some(next) = self.rest.chars().next() {
            let word = word_length(self.rest);
            if self.rest.starts_with("//") {
                self.blank(self.rest.find('\n').unwrap_or(self.rest.len()));
            } else if self.rest.starts_with("/*") {
                self.blank(block_comment_length(self.rest));
            } else if let Some(literal) = string_literal(self.rest, word) {
                let text = self
                    .rest
                    .get(literal.open..literal.close)
                    .unwrap_or_default();
                self.literals.push(Literal {
                    line: self.line,
                    text: text.to_owned(),
                });
                self.blank(literal.length);
            } else if word > 0 {
                self.keep(word);
            } else if let Some(length) = character_length(self.rest) {
                self.blank(length);
            } else {
                self.keep(next.len_utf8());
            }
        }
    }

    fn keep(&mut self, length: usize) {
        let (kept, rest) = self.rest.split_at(length);
        self.code.push_str(kept);
        self.line += kept.matches('\n').count();
        self.rest = rest;
    }

    fn blank(&mut self, length: usize) {
        let (blanked, rest) = self.rest.split_at(length);
        self.code
            .extend(blanked.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        self.line += blanked.matches('\n').count();
        self.rest = rest;
    }
}

fn block_comment_length(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(tail) = rest.get(at..).filter(|tail| !tail.is_empty()) {
        if tail.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if tail.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += tail.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// Where a literal's text begins and ends, and how long it is with its quotes.
struct Span {
    open: usize,
    close: usize,
    length: usize,
}

/// The string literal that `rest` begins with; `word` is the length of a prefix like `br`.
fn string_literal(rest: &str, word: usize) -> Option<Span> {
    let (prefix, tail) = rest.split_at(word);
    match prefix {
        "r" | "br" | "cr" => {
            let hashes = tail.len() - tail.trim_start_matches('#').len();
            let open = word + hashes + 1;
            let text = tail.get(hashes..)?.strip_prefix('"')?;
            let end = format!("\"{}", "#".repeat(hashes));
            let close = open + text.find(&end).unwrap_or(text.len());
            Some(Span {
                open,
                close,
                length: (close + end.len()).min(rest.len()),
            })
        }
        "" | "b" | "c" => {
            let text = tail.strip_prefix('"')?;
            let open = word + 1;
            let close = open + unescaped(text, '"').unwrap_or(text.len());
            Some(Span {
                open,
                close,
                length: (close + 1).min(rest.len()),
            })
        }
        _ => None,
    }
}

/// The length of the character literal that `rest` begins with; a lifetime is none.
fn character_length(rest: &str) -> Option<usize> {
    let text = rest.strip_prefix('\'')?;
    let first = text.chars().next()?;
    if first == '\\' {
        return unescaped(text, '\'').map(|at| at + 2);
    }
    let after = text.get(first.len_utf8()..)?;
    after.starts_with('\'').then(|| first.len_utf8() + 2)
}

/// Where `end` stands in `text` without a backslash before it.
fn unescaped(text: &str, end: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == end {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        split(text)
            .0
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn literals(text: &str) -> Vec<(usize, String)> {
        split(text)
            .1
            .into_iter()
            .map(|literal| (literal.line, literal.text))
            .collect()
    }

    #[test]
    fn comments_are_blanked() {
        assert_eq!(code("a // b\nc /* d /* e */ f */ g //! h"), "a c g");
        assert_eq!(code("/* never closed"), "");
    }

    #[test]
    fn strings_are_blanked_and_kept_aside() {
        let text = "f(\"a \\\" // b\");\ng(r#\"c\"d\"#, b\"e\", br\"f\", c\"g\")";
        assert_eq!(code(text), "f( ); g( , , , )");
        let expected = [
            (1, "a \\\" // b"),
            (2, "c\"d"),
            (2, "e"),
            (2, "f"),
            (2, "g"),
        ];
        assert_eq!(
            literals(text),
            expected.map(|(line, text)| (line, text.to_owned()))
        );
    }

    #[test]
    fn characters_are_blanked_and_lifetimes_are_not() {
        assert_eq!(
            code("fn f<'a>(x: &'a str) { '\"'; '\\''; 'é'; '\\u{7f}' }"),
            { "fn f<'a>(x: &'a str) { ; ; ; }" }
        );
    }

    #[test]
    fn lines_survive() {
        let text = "\"a\nb\" /* c\nd */ e\n\"f\"";
        assert_eq!(split(text).0.lines().count(), 4);
        assert_eq!(
            literals(text),
            [(1, "a\nb".to_owned()), (4, "f".to_owned())]
        );
        let found = tokens(&split(text).0);
        assert_eq!(
            found,
            [Token {
                line: 3,
                text: "e".to_owned()
            }]
        );
    }

    #[test]
    fn raw_words_are_words() {
        assert_eq!(code("r#type + bread"), "r#type + bread");
    }
}
