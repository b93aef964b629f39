//! The engine's sources never name the world.
//!
//! Clippy holds the same law by meaning (`crates/orange-engine/clippy.toml`); this one
//! also sees code that is compiled on another system only.

use crate::lexer::Token;
use crate::source::Source;
use crate::verdict::Violation;

const WORLD: &[&[&str]] = &[
    &["std", "fs"],
    &["std", "env"],
    &["std", "io"],
    &["std", "net"],
    &["std", "os"],
    &["std", "process"],
    &["std", "thread"],
    &["std", "time", "SystemTime"],
    &["std", "time", "Instant"],
];

const MACROS: &[&str] = &["print", "println", "eprint", "eprintln", "thread_local"];

const WORDS: &[(&str, &str)] = &[
    ("static", "mut"),
    ("async", "fn"),
    ("async", "move"),
    ("async", "{"),
];

/// Where the engine's sources name something outside of their input.
pub fn check(source: &Source) -> Vec<Violation> {
    if !source.path.starts_with("crates/orange-engine/src/") {
        return Vec::new();
    }
    let violation = |line: usize, what: &str| {
        let rule =
            format!("`{what}`: the engine is pure: take it as part of `Input`, or answer it");
        Violation::new(&source.path, line, rule)
    };
    let mut found = Vec::new();
    for path in source.paths() {
        if WORLD.iter().any(|target| path.leads_to(target)) {
            found.push(violation(path.line, &path.text()));
        }
    }
    for pair in source.tokens.windows(2) {
        let [Token { text: first, line }, Token { text: second, .. }] = pair else {
            continue;
        };
        if second == "!" && MACROS.contains(&first.as_str()) {
            found.push(violation(*line, &format!("{first}!")));
        }
        if WORDS.iter().any(|(a, b)| first == a && second == b) {
            found.push(violation(*line, &format!("{first} {second}")));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::lines_of;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        lines_of(&check(&Source::new(path, text)))
    }

    const ENGINE: &str = "crates/orange-engine/src/decide/mod.rs";

    #[test]
    fn everything_outside_is_found() {
        for planted in [
            "use std::fs;",
            "use std::{fmt, env};",
            "use std::process::Command;",
            "use std::net::TcpStream;",
            "use std::thread;",
            "use std::time::{Duration, Instant};",
            "use std::time::*;",
            "use std::*;",
            "use std as s;",
            "fn f() { std::time::SystemTime::now(); }",
            "fn f() { ::std::fs::read(x); }",
            "fn f() { time::Instant::now(); }",
            "fn f() { std::io::stdout(); }",
            "fn f() { println!(); }",
            "fn f() { std::print!(); }",
            "fn f() { eprintln!(); }",
            "fn f() { eprint!(); }",
            "static mut A: u8 = 0;",
            "async fn f() {}",
            "fn f() { async { 1 } }",
        ] {
            assert_eq!(
                lines(ENGINE, &format!("//! A.\n\n{planted}")),
                [3],
                "{planted}"
            );
        }
    }

    #[test]
    fn words_about_the_world_are_not_the_world() {
        let text = "//! Never std::fs.\nuse std::time::Duration;\nuse std::fmt;\nstatic A: &str = \"println!\";\nwriteln!(out);";
        assert_eq!(lines(ENGINE, text).len(), 0);
    }

    #[test]
    fn only_the_engines_sources_are_judged() {
        assert_eq!(
            lines("crates/orange/src/store/mod.rs", "use std::fs;").len(),
            0
        );
        assert_eq!(
            lines("crates/orange-engine/tests/laws.rs", "use std::fs;").len(),
            0
        );
    }
}
