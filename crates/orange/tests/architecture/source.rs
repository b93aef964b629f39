//! One Rust file, read: code, literals, paths, and what is test code.

use crate::lexer::{Literal, Token, split, tokens};
use crate::paths::{PathUse, paths};

/// A Rust file of the tree.
pub struct Source {
    /// Relative to the root of the repository, with `/`.
    pub path: String,
    pub text: String,
    pub tokens: Vec<Token>,
    pub literals: Vec<Literal>,
    /// Whether the whole file is compiled for tests only.
    pub is_test: bool,
    test_lines: Vec<(usize, usize)>,
    /// Modules that this file declares for tests only, in files of their own.
    pub test_modules: Vec<String>,
}

impl Source {
    pub fn new(path: &str, text: &str) -> Self {
        let (code, literals) = split(text);
        let tokens = tokens(&code);
        let mut source = Self {
            path: path.to_owned(),
            text: text.to_owned(),
            is_test: is_test_folder(path),
            test_lines: Vec::new(),
            test_modules: Vec::new(),
            literals,
            tokens,
        };
        source.find_test_items();
        source
    }

    /// Whether the line is compiled for tests only.
    pub fn is_test_line(&self, line: usize) -> bool {
        self.is_test
            || self
                .test_lines
                .iter()
                .any(|(first, last)| (*first..=*last).contains(&line))
    }

    /// The paths that the code names, in order.
    pub fn paths(&self) -> Vec<PathUse> {
        paths(&self.tokens, &self.module())
    }

    /// The module that the file is: `cli/workflow/check.rs` is `[cli, workflow, check]`.
    pub fn module(&self) -> Vec<String> {
        let inside = self
            .path
            .split_once("/src/")
            .map_or(self.path.as_str(), |(_, tail)| tail);
        let mut module: Vec<String> = inside.split('/').map(str::to_owned).collect();
        let file = module.pop().unwrap_or_default();
        let stem = file.strip_suffix(".rs").unwrap_or(&file);
        let is_root = module.is_empty() && ["lib", "main"].contains(&stem);
        if stem != "mod" && !is_root {
            module.push(stem.to_owned());
        }
        module
    }

    /// Where a module declared in this file lives, without `.rs` or `/mod.rs`.
    pub fn child(&self, module: &str) -> String {
        let folder = ["/mod.rs", "/lib.rs", "/main.rs"]
            .iter()
            .find_map(|end| self.path.strip_suffix(end))
            .or_else(|| self.path.strip_suffix(".rs"))
            .unwrap_or(&self.path);
        format!("{folder}/{module}")
    }

    fn find_test_items(&mut self) {
        const OUTER: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
        const INNER: [&str; 8] = ["#", "!", "[", "cfg", "(", "test", ")", "]"];
        for at in 0..self.tokens.len() {
            let here = &self.tokens[at..];
            if begins_with(here, &INNER) {
                self.is_test = true;
            }
            if begins_with(here, &OUTER) {
                let item = &here[OUTER.len()..];
                let item = &item[..item_length(item)];
                let last = item.last().map_or(here[0].line, |token| token.line);
                self.test_lines.push((here[0].line, last));
                self.test_modules.extend(declared_module(item));
            }
        }
    }
}

/// Folders whose every file is a test, a benchmark or a fuzz target.
fn is_test_folder(path: &str) -> bool {
    path.starts_with("fuzz/") || path.contains("/tests/") || path.contains("/benches/")
}

fn begins_with(tokens: &[Token], texts: &[&str]) -> bool {
    tokens.len() >= texts.len()
        && tokens
            .iter()
            .zip(texts)
            .all(|(token, text)| token.text == *text)
}

/// How many tokens belong to the item or field that `tokens` begins with.
fn item_length(tokens: &[Token]) -> usize {
    const ITEMS: [&str; 14] = [
        "pub", "mod", "use", "fn", "impl", "struct", "enum", "trait", "type", "const", "static",
        "async", "extern", "unsafe",
    ];
    let mut depth = 0_usize;
    let mut in_attribute = false;
    let mut is_item = None;
    for (at, token) in tokens.iter().enumerate() {
        let text = token.text.as_str();
        if depth == 0 && text == "#" {
            in_attribute = true;
        } else if depth == 0 && !in_attribute && is_item.is_none() {
            is_item = Some(ITEMS.contains(&text));
        }
        match text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" if depth == 0 => return at,
            ")" | "]" | "}" => depth -= 1,
            ";" if depth == 0 => return at + 1,
            "," if depth == 0 && is_item == Some(false) => return at + 1,
            _ => {}
        }
        if depth == 0 && text == "]" && in_attribute {
            in_attribute = false;
        } else if depth == 0 && text == "}" {
            return at + 1;
        }
    }
    tokens.len()
}

/// The name in `mod name;`, the only item whose code is in another file.
fn declared_module(item: &[Token]) -> Option<String> {
    let [.., keyword, name, end] = item else {
        return None;
    };
    (keyword.text == "mod" && end.text == ";").then(|| name.text.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_lines(text: &str) -> Vec<usize> {
        let source = Source::new("crates/orange/src/a.rs", text);
        (1..=text.lines().count())
            .filter(|line| source.is_test_line(*line))
            .collect()
    }

    #[test]
    fn only_the_item_below_the_attribute_is_test_code() {
        let text = "#[cfg(test)]\nuse a::{b, c};\nfn live() {}\n#[cfg(test)]\nmod tests {\n  fn f() {}\n}\nfn also_live() {}";
        assert_eq!(test_lines(text), [1, 2, 4, 5, 6, 7]);
    }

    #[test]
    fn attributes_generics_and_arrays_do_not_end_an_item() {
        let text =
            "#[cfg(test)]\n#[derive(A, B)]\nfn f<A, B>(x: [u8; 2])\n{\n  x;\n}\nfn live() {}";
        assert_eq!(test_lines(text), [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn a_field_ends_at_its_comma() {
        assert_eq!(
            test_lines("struct A {\n#[cfg(test)]\nx: u8,\ny: u8,\n}"),
            [2, 3]
        );
    }

    #[test]
    fn an_inner_attribute_makes_the_file_a_test() {
        assert!(Source::new("crates/orange/src/a.rs", "#![cfg(test)]\nfn f() {}").is_test);
        assert!(Source::new("crates/orange/tests/a.rs", "").is_test);
        assert!(!Source::new("crates/orange/src/a.rs", "// #![cfg(test)]\nfn f() {}").is_test);
    }

    #[test]
    fn a_test_module_in_its_own_file_is_named() {
        let source = Source::new(
            "crates/orange/src/cli/mod.rs",
            "#[cfg(test)]\npub(crate) mod tests;\nmod live;",
        );
        assert_eq!(source.test_modules, ["tests"]);
        assert_eq!(source.child("tests"), "crates/orange/src/cli/tests");
        let source = Source::new("crates/orange/src/clock.rs", "");
        assert_eq!(source.child("tests"), "crates/orange/src/clock/tests");
    }

    #[test]
    fn a_file_is_a_module() {
        let module = |path: &str| Source::new(path, "").module().join("::");
        assert_eq!(
            module("crates/orange/src/cli/workflow/check.rs"),
            "cli::workflow::check"
        );
        assert_eq!(module("crates/orange/src/cli/mod.rs"), "cli");
        assert_eq!(module("crates/orange/src/lib.rs"), "");
        assert_eq!(module("crates/orange/src/cli/main.rs"), "cli::main");
    }
}
