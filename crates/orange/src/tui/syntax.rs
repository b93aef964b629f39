//! Finds comments, strings, keywords and numbers in a line of code.
//!
//! A diff shows parts of files, so each line is read on its own: a parser would also need lines
//! that are not shown. Reading single lines is quick enough for every frame, and needs no grammars.
//! Only a line that begins with `*` needs its neighbours: it may be part of a comment, or code.

use std::path::Path;

/// How many bytes of a line are read; the rest is plain.
const MAX_READ: usize = 2000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    Plain,
    Comment,
    Text,
    Keyword,
    Number,
}

/// The syntax of a language, as far as it is recognized.
#[derive(Debug, PartialEq, Eq)]
pub struct Language {
    /// What begins a comment. `/*` ends at `*/`, every other comment at the end of the line.
    comments: &'static [&'static str],
    /// The characters that begin and end a string.
    quotes: &'static [char],
    /// Separated by spaces.
    keywords: &'static str,
}

const C_LIKE: Language = Language {
    comments: &["//", "/*"],
    quotes: &['"', '\'', '`'],
    keywords: "abstract as async await boolean break case catch chan char class const continue \
        default defer delete do double else enum export extends false final float for from \
        func function go goto if implements import in instanceof int interface let long \
        map namespace new nil null of override package private protected public range \
        return select short signed sizeof static struct super switch template this throw \
        throws true try type typedef typeof undefined union unsigned using var virtual \
        void volatile while yield",
};

/// In Rust, `'` also begins a lifetime.
const RUST: Language = Language {
    comments: &["//", "/*"],
    quotes: &['"'],
    keywords: "as async await break const continue crate dyn else enum extern false fn for if \
        impl in let loop match mod move mut pub ref return self Self static struct super \
        trait true type union unsafe use where while",
};

const SCRIPT: Language = Language {
    comments: &["#"],
    quotes: &['"', '\''],
    keywords: "and as assert async await begin break case class continue def del do done elif \
        else elsif end ensure esac except export false False fi finally for from function \
        global if import in is lambda local module nil None nonlocal not or pass raise \
        require rescue return self set then true True try unless until when while with \
        yield",
};

const DATA: Language = Language {
    comments: &["#"],
    quotes: &['"', '\''],
    keywords: "true false null yes no on off",
};

const QUERY: Language = Language {
    comments: &["--"],
    quotes: &['"', '\''],
    keywords: "and as by create delete drop end false from function group if index insert into \
        join local nil not null on or order return select set table then true union update \
        values where while AND AS BY CREATE DELETE DROP FROM GROUP INDEX INSERT INTO JOIN \
        NOT NULL ON OR ORDER SELECT SET TABLE UNION UPDATE VALUES WHERE",
};

/// The language of a file, by its name; `None` if its lines are shown plain.
pub fn language(path: &str) -> Option<&'static Language> {
    let path = path.strip_suffix(" (not committed)").unwrap_or(path);
    let name = Path::new(path).file_name()?.to_str()?;
    if matches!(name, "Makefile" | "Dockerfile" | "justfile" | "Gemfile") {
        return Some(&SCRIPT);
    }
    Some(match name.rsplit_once('.')?.1 {
        "rs" => &RUST,
        "c" | "h" | "cc" | "cpp" | "hpp" | "cs" | "go" | "java" | "js" | "jsx" | "mjs" | "ts"
        | "tsx" | "kt" | "swift" | "scala" | "dart" | "php" | "proto" | "zig" | "json" | "css"
        | "scss" => &C_LIKE,
        "py" | "pyi" | "rb" | "sh" | "bash" | "zsh" | "fish" | "pl" | "ex" | "exs" | "nix"
        | "cmake" | "mk" => &SCRIPT,
        "toml" | "yaml" | "yml" | "ini" | "conf" | "tf" => &DATA,
        "sql" | "lua" | "hs" => &QUERY,
        _ => return None,
    })
}

/// How many lines are read at most above a line, and below it.
const MAX_NEIGHBOURS: usize = 200;

/// Whether a line that begins with `*` is part of a comment of several lines. The nearest lines
/// above and below that do not begin with `*` decide. If the hunk has no such lines, the line
/// counts as part of a comment unless it ends like code.
pub fn continues_comment<'a>(
    language: &Language,
    line: &str,
    above: impl Iterator<Item = &'a str>,
    below: impl Iterator<Item = &'a str>,
) -> bool {
    if !language.comments.contains(&"/*") || !begins_with_star(line) {
        return false;
    }
    let is_other = |line: &&str| !begins_with_star(line);
    let opens = |line: &str| {
        line.rfind("/*")
            .is_some_and(|at| !line[at..].contains("*/"))
    };
    let closes = |line: &str| {
        let end = line.find("*/");
        end.is_some_and(|end| !line[..end].contains("/*"))
    };
    let is_opened = above.take(MAX_NEIGHBOURS).find(is_other).map(opens);
    let is_closed = below.take(MAX_NEIGHBOURS).find(is_other).map(closes);
    match (is_opened, is_closed) {
        _ if closes(line) => true,
        (Some(true), _) | (_, Some(true)) => true,
        (None, None) => !line.trim_end().ends_with(['{', '}', ';', ',']),
        _ => false,
    }
}

fn begins_with_star(line: &str) -> bool {
    let start = line.trim_start();
    start == "*" || start.starts_with("* ")
}

/// The tokens of a line, in order, with the byte at which each ends.
pub fn tokens(language: &Language, line: &str) -> Vec<(usize, Token)> {
    let mut tokens: Vec<(usize, Token)> = Vec::new();
    let mut push = |end: usize, token: Token| match tokens.last_mut() {
        Some((last, same)) if *same == token => *last = end,
        _ => tokens.push((end, token)),
    };
    let mut at = 0;
    while let Some(first) = line[at..].chars().next() {
        if at > MAX_READ {
            push(line.len(), Token::Plain);
            break;
        }
        let rest = &line[at..];
        let is_word_start = line[..at].chars().next_back().is_none_or(|it| !is_word(it));
        let is_comment = |start: &&str| rest.starts_with(*start);
        // `#` begins a comment only after a space: `${#array}`, `a#b`.
        let is_after_space = at == 0 || line[..at].ends_with([' ', ';']);
        let (length, token) =
            if language.comments.iter().any(is_comment) && (first != '#' || is_after_space) {
                let end = rest.strip_prefix("/*").and_then(|it| it.find("*/"));
                (end.map_or(rest.len(), |end| end + 4), Token::Comment)
            } else if language.quotes.contains(&first) && (first != '\'' || is_word_start) {
                (string_length(rest, first), Token::Text)
            } else if is_word(first) {
                let length = rest.find(|it| !is_word(it)).unwrap_or(rest.len());
                let word = &rest[..length];
                let token = match first {
                    '0'..='9' => Token::Number,
                    _ if language.keywords.split(' ').any(|it| it == word) => Token::Keyword,
                    _ => Token::Plain,
                };
                (length, token)
            } else {
                (first.len_utf8(), Token::Plain)
            };
        at += length;
        push(at, token);
    }
    tokens
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The length of the string at the start, up to its end or the end of the line.
fn string_length(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        if character == quote && !is_escaped {
            return at + quote.len_utf8();
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str, line: &str) -> Vec<(String, Token)> {
        let mut start = 0;
        let mut parts = Vec::new();
        for (end, token) in tokens(language(path).unwrap(), line) {
            parts.push((line[start..end].to_owned(), token));
            start = end;
        }
        assert_eq!(start, line.len(), "{line}: every byte has a token");
        parts
    }

    fn only(path: &str, line: &str, wanted: Token) -> Vec<String> {
        let parts = read(path, line).into_iter();
        let parts = parts.filter(|(_, token)| *token == wanted);
        parts.map(|(text, _)| text).collect()
    }

    #[test]
    fn each_kind_of_token_is_found() {
        let line = r#"    let x = "a \" // b"; // "no" 漢"#;
        assert_eq!(only("a/x.rs", line, Token::Keyword), ["let"]);
        assert_eq!(only("a/x.rs", line, Token::Text), [r#""a \" // b""#]);
        assert_eq!(only("a/x.rs", line, Token::Comment), [r#"// "no" 漢"#]);
        assert_eq!(
            only("x.rs", "fn f<'a>(x2: u8) -> 0x1f", Token::Number),
            ["0x1f"]
        );
        assert_eq!(only("x.rs", "fn f<'a>()", Token::Text), [""; 0]);
        assert_eq!(only("x.py", "if s == 'it': # 'x'", Token::Text), ["'it'"]);
        assert_eq!(only("x.sh", "echo ${#a} # b", Token::Comment), ["# b"]);
        assert_eq!(only("x.js", "a /* b */ c", Token::Comment), ["/* b */"]);
        assert_eq!(
            only("x.yml (not committed)", "a: true", Token::Keyword),
            ["true"]
        );
    }

    /// Which lines of a hunk are parts of a comment.
    fn comments(path: &str, hunk: &[&str]) -> Vec<usize> {
        let is_comment = |at: &usize| {
            let above = hunk[..*at].iter().rev().copied();
            let below = hunk[at + 1..].iter().copied();
            continues_comment(language(path).unwrap(), hunk[*at], above, below)
        };
        (0..hunk.len()).filter(is_comment).collect()
    }

    #[test]
    fn a_line_that_begins_with_a_star_is_a_comment_only_inside_one() {
        let none: [usize; 0] = [];
        for (path, hunk, expected) in [
            (
                "x.js",
                &["/**", " * one", " *", " * two", " */"][..],
                &[1, 2, 3][..],
            ),
            ("x.js", &[" * one", " * two"], &[0, 1]),
            ("x.js", &[" * the end */", "x"], &[0]),
            ("x.js", &[" * one", " */", "let x;"], &[0]),
            ("x.c", &["int f() {", "  * p = 3;", "}"], &none),
            ("x.c", &["/* a */ x = y", "  * z", "  * 2;"], &none),
            ("x.css", &["* {", "  margin: 0;", "}"], &none),
            ("x.css", &["/* all */", "* { margin: 0 }"], &none),
            ("x.css", &["* { margin: 0 }"], &none),
            ("x.py", &["* one"], &none),
        ] {
            assert_eq!(comments(path, hunk), expected, "{path}: {hunk:?}");
        }
        assert_eq!(only("x.css", "* { a: 1 }", Token::Comment), [""; 0]);
    }

    #[test]
    fn any_line_can_be_read() {
        for path in ["x.rs", "x.c", "x.py", "x.toml", "x.sql"] {
            for line in [
                "",
                "\"",
                "'",
                "\\",
                "\"\\",
                "/*",
                "#",
                "漢'字\"",
                "é\u{301}",
                "🦀'",
            ] {
                read(path, line);
            }
            read(path, &"x漢 ".repeat(3000));
        }
        for path in ["README.md", "x", "", "..", ".rs/x"] {
            assert_eq!(language(path), None, "{path}");
        }
    }
}
