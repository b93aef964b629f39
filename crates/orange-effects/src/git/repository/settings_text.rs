//! Parses a git configuration file.

use std::iter::Peekable;
use std::str::Chars;

use super::settings::Setting;

/// Every setting in file order, sections and keys in lower case; or the number of an invalid line,
/// which git would reject too.
pub(crate) fn parse(text: &str) -> Result<Vec<Setting>, usize> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = text.replace("\r\n", "\n");
    let mut reader = Reader {
        rest: text.chars().peekable(),
        line: 1,
    };
    reader.settings().map_err(|SyntaxError| reader.line)
}

/// The text is malformed here.
struct SyntaxError;

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    line: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let next = self.rest.next();
        self.line += usize::from(next == Some('\n'));
        next
    }

    fn settings(&mut self) -> Result<Vec<Setting>, SyntaxError> {
        let mut section: Option<String> = None;
        let mut found = Vec::new();
        while let Some(next) = self.rest.peek().copied() {
            if next.is_whitespace() {
                self.next();
            } else if matches!(next, '#' | ';') {
                self.skip_line();
            } else if next == '[' {
                self.next();
                section = Some(self.section()?);
            } else if next.is_ascii_alphabetic() {
                let key = self.word("-");
                let value = self.value()?;
                let section = section.as_ref().ok_or(SyntaxError)?;
                found.push((format!("{section}.{}", key.to_ascii_lowercase()), value));
            } else {
                return Err(SyntaxError);
            }
        }
        Ok(found)
    }

    fn skip_line(&mut self) {
        while self.rest.peek().is_some_and(|it| *it != '\n') {
            self.next();
        }
    }

    fn skip_blanks(&mut self) {
        while self.rest.peek().is_some_and(|it| matches!(it, ' ' | '\t')) {
            self.next();
        }
    }

    /// Letters, digits and these other characters.
    fn word(&mut self, others: &str) -> String {
        let mut word = String::new();
        while let Some(next) = self.rest.peek().copied() {
            if !next.is_ascii_alphanumeric() && !others.contains(next) {
                break;
            }
            word.push(next);
            self.next();
        }
        word
    }

    /// The name between brackets; a quoted part keeps its case.
    fn section(&mut self) -> Result<String, SyntaxError> {
        let mut section = self.word("-.").to_ascii_lowercase();
        if section.is_empty() {
            return Err(SyntaxError);
        }
        self.skip_blanks();
        if self.rest.peek() == Some(&'"') {
            self.next();
            section.push('.');
            loop {
                match self.next() {
                    Some('"') => break,
                    Some('\n') | None => return Err(SyntaxError),
                    Some('\\') => match self.next() {
                        Some('\n') | None => return Err(SyntaxError),
                        Some(escaped) => section.push(escaped),
                    },
                    Some(other) => section.push(other),
                }
            }
        }
        match self.next() {
            Some(']') => Ok(section),
            _ => Err(SyntaxError),
        }
    }

    /// The value of a key; `true` for a key without a value.
    fn value(&mut self) -> Result<String, SyntaxError> {
        self.skip_blanks();
        match self.rest.peek() {
            None | Some('\n' | '#' | ';') => {
                self.skip_line();
                return Ok(String::from("true"));
            }
            Some('=') => self.next(),
            Some(_) => return Err(SyntaxError),
        };
        self.skip_blanks();
        let mut value = String::new();
        // Trailing blanks do not count, unless they are quoted.
        let mut length = 0;
        let mut is_quoted = false;
        loop {
            match self.next() {
                None | Some('\n') if is_quoted => return Err(SyntaxError),
                None | Some('\n') => break,
                Some('"') => {
                    is_quoted = !is_quoted;
                    length = value.len();
                }
                Some('#' | ';') if !is_quoted => self.skip_line(),
                Some('\\') => {
                    match self.next() {
                        Some('\n') => continue,
                        Some('n') => value.push('\n'),
                        Some('t') => value.push('\t'),
                        Some('b') => value.push('\u{8}'),
                        Some(escaped @ ('"' | '\\')) => value.push(escaped),
                        _ => return Err(SyntaxError),
                    }
                    length = value.len();
                }
                Some(other) => {
                    value.push(other);
                    if is_quoted || !matches!(other, ' ' | '\t') {
                        length = value.len();
                    }
                }
            }
        }
        value.truncate(length);
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_git_reads_it() {
        let text = "\u{feff}# first\n[Core] fileMode = false ; why\n\tbare\r\n[remote \"O\\\"r i\"]\n\
                    url = \" a # b \" c  # d\n[a.B]\nc-1 = x\\\n  y\\t\\\"\nempty =\n[s]\nk=a;b";
        let found = parse(text).unwrap();
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(
            found,
            [
                pair("core.filemode", "false"),
                pair("core.bare", "true"),
                pair("remote.O\"r i.url", " a # b  c"),
                pair("a.b.c-1", "x  y\t\""),
                pair("a.b.empty", ""),
                pair("s.k", "a"),
            ]
        );
        assert_eq!(parse("").unwrap(), []);
    }

    #[test]
    fn invalid_lines_are_reported_with_their_number() {
        for (text, line) in [
            ("[garbage", 1),
            ("a = b\n", 2),
            ("[a]\n= b\n", 2),
            ("[a \"b\n\"]\n", 2),
            ("[a]\nb = \"c\n", 3),
            ("[a]\nb = \\q\n", 2),
            ("[a]\nb c\n", 2),
            ("[]\n", 1),
        ] {
            assert_eq!(parse(text), Err(line), "{text:?}");
        }
    }
}
