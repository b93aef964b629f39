//! Finds the paths that code names; `super` is resolved.

use crate::lexer::Token;

/// A path as the code names it, with groups of `use` unfolded.
#[derive(Debug, PartialEq, Eq)]
pub struct PathUse {
    pub line: usize,
    /// A path inside the crate begins with `crate`, whatever was written.
    pub segments: Vec<String>,
    /// Ends in `::*`, or renames with `as`: what is named from here on is not visible.
    pub hides: bool,
    pub is_import: bool,
}

impl PathUse {
    /// Whether the path leads to `target` or below it, or hides that it might.
    ///
    /// `use std::time; time::Instant::now()` leads to `std::time::Instant` as well, so a
    /// target of three or more names is also found by its name without the first.
    pub fn leads_to(&self, target: &[&str]) -> bool {
        let begins = |with: &[&str]| {
            self.segments.len() >= with.len() && self.segments.iter().zip(with).all(|(a, b)| a == b)
        };
        let might = self.segments.iter().zip(target).all(|(a, b)| a == b);
        begins(target)
            || (target.len() >= 3 && begins(&target[1..]))
            || (self.hides && self.segments.len() < target.len() && might)
    }

    pub fn text(&self) -> String {
        self.segments.join("::")
    }
}

/// The paths of two or more names, and every import, in a file that is `module`.
pub fn paths(tokens: &[Token], module: &[String]) -> Vec<PathUse> {
    let mut reader = Reader {
        tokens,
        module: module.to_vec(),
        found: Vec::new(),
        at: 0,
        is_import: false,
    };
    reader.run();
    reader.found
}

struct Reader<'a> {
    tokens: &'a [Token],
    /// The module at this place: the file's, and the inline ones around it.
    module: Vec<String>,
    found: Vec<PathUse>,
    at: usize,
    is_import: bool,
}

impl Reader<'_> {
    fn run(&mut self) {
        // For every open brace, whether it opened an inline module.
        let mut braces = Vec::new();
        while self.at < self.tokens.len() {
            match self.text(self.at) {
                "{" => {
                    braces.push(false);
                    self.at += 1;
                }
                "}" => {
                    if braces.pop() == Some(true) {
                        self.module.pop();
                    }
                    self.at += 1;
                }
                "mod" if self.text(self.at + 2) == "{" => {
                    self.module.push(self.text(self.at + 1).to_owned());
                    braces.push(true);
                    self.at += 3;
                }
                "use" => {
                    self.is_import = true;
                    self.at += 1;
                    self.skip("::");
                    self.tree(&[]);
                    self.is_import = false;
                }
                _ if self.starts_path() => self.tree(&[]),
                _ => self.at += 1,
            }
        }
    }

    fn text(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.text.as_str())
    }

    fn line(&self) -> usize {
        self.tokens
            .get(self.at)
            .or(self.tokens.last())
            .map_or(1, |token| token.line)
    }

    fn skip(&mut self, text: &str) {
        if self.text(self.at) == text {
            self.at += 1;
        }
    }

    /// A word that is not the tail of a qualified path such as `<A as B>::word`.
    fn starts_path(&self) -> bool {
        let is_tail =
            self.at >= 2 && self.text(self.at - 1) == "::" && self.text(self.at - 2) == ">";
        !is_tail && self.tokens.get(self.at).is_some_and(Token::is_word)
    }

    /// Reads one path, or one branch of a group in an import.
    fn tree(&mut self, prefix: &[String]) {
        let line = self.line();
        let mut segments = prefix.to_vec();
        loop {
            match self.text(self.at) {
                "{" if self.is_import => {
                    self.at += 1;
                    while !["}", ""].contains(&self.text(self.at)) {
                        self.tree(&segments);
                        self.skip(",");
                    }
                    self.at += 1;
                    return;
                }
                "*" if self.is_import => {
                    self.at += 1;
                    self.record(line, &segments, true);
                    return;
                }
                _ if self.tokens.get(self.at).is_some_and(Token::is_word) => {
                    segments.push(self.text(self.at).to_owned());
                    self.at += 1;
                    let goes_on = self.text(self.at) == "::"
                        && (self.is_import
                            || self.tokens.get(self.at + 1).is_some_and(Token::is_word));
                    if goes_on {
                        self.at += 1;
                        continue;
                    }
                    let renamed = self.is_import && self.text(self.at) == "as";
                    if renamed {
                        self.at += 2;
                    }
                    self.record(line, &segments, renamed);
                    return;
                }
                _ => {
                    // Not a path after all: step over it, so that reading always ends.
                    self.at += 1;
                    return;
                }
            }
        }
    }

    fn record(&mut self, line: usize, segments: &[String], hides: bool) {
        // `use a::{self as b}` names `a`.
        let named = match segments {
            [head @ .., last] if last == "self" && !head.is_empty() => head,
            all => all,
        };
        if self.is_import || named.len() >= 2 {
            let segments = self.resolve(named);
            self.found.push(PathUse {
                line,
                segments,
                hides,
                is_import: self.is_import,
            });
        }
    }

    fn resolve(&self, named: &[String]) -> Vec<String> {
        let mut base = self.module.clone();
        let mut rest = named;
        match named.first().map(String::as_str) {
            Some("crate") => base.clear(),
            Some("self" | "super") => {}
            _ => return named.to_vec(),
        }
        while let [first, tail @ ..] = rest {
            match first.as_str() {
                "super" => drop(base.pop()),
                "crate" | "self" => {}
                _ => break,
            }
            rest = tail;
        }
        let mut resolved = vec!["crate".to_owned()];
        resolved.append(&mut base);
        resolved.extend_from_slice(rest);
        resolved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    fn named(text: &str) -> Vec<String> {
        let source = Source::new("crates/orange/src/cli/show.rs", text);
        source.paths().iter().map(PathUse::text).collect()
    }

    #[test]
    fn groups_are_unfolded() {
        let text = "pub use ::std::{fs, io::{self, Read as _}, time::*};\nfn f() {}";
        assert_eq!(
            named(text),
            ["std::fs", "std::io", "std::io::Read", "std::time"]
        );
    }

    #[test]
    fn paths_in_expressions_and_types_are_found() {
        let text = "fn f(x: &a::B) -> Vec<crate::c::D> { e::f::<g::H>(crate::i::J { k: l::M }) }";
        let expected = ["a::B", "crate::c::D", "e::f", "g::H", "crate::i::J", "l::M"];
        assert_eq!(named(text), expected);
    }

    #[test]
    fn relative_paths_are_resolved() {
        let text = "use super::list;\nuse super::super::store;\nuse self::inner::A;\nmod tests { use super::*; use super::super::b; }\nuse super::after;";
        assert_eq!(
            named(text),
            [
                "crate::cli::list",
                "crate::store",
                "crate::cli::show::inner::A",
                "crate::cli::show",
                "crate::cli::b",
                "crate::cli::after",
            ]
        );
    }

    #[test]
    fn comments_strings_and_fields_name_no_path() {
        assert_eq!(named("// std::fs\nfn f() { a.b; \"std::fs\"; }").len(), 0);
        assert_eq!(named("pub(crate) fn f() {}").len(), 0);
    }

    #[test]
    fn a_path_leads_to_what_it_names_or_hides() {
        let leads = |text: &str, target: &[&str]| {
            Source::new("a.rs", text)
                .paths()
                .iter()
                .any(|path| path.leads_to(target))
        };
        let instant = ["std", "time", "Instant"];
        assert!(leads("use std::time::Instant;", &instant));
        assert!(leads("use std::time::{Duration, Instant as I};", &instant));
        assert!(leads("fn f() { time::Instant::now(); }", &instant));
        assert!(leads("use std::time::*;", &instant));
        assert!(leads("use std as s;", &instant));
        assert!(!leads("use std::time;", &instant));
        assert!(!leads("use std::time::Duration;", &instant));
        assert!(leads("use std::fs::File;", &["std", "fs"]));
        assert!(!leads("use std::fmt;", &["std", "fs"]));
    }
}
