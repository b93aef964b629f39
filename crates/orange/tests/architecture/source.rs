//! A parsed Rust file: paths, literals, and which code is for tests.

use std::io;

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

/// A Rust file of the tree.
pub struct Source {
    /// Relative to the root of the repository, with `/`.
    pub path: String,
    pub text: String,
    /// The paths that the code names, in order.
    pub paths: Vec<PathUse>,
    pub literals: Vec<Literal>,
    /// Whether the whole file is compiled for tests only.
    pub is_test: bool,
    test_lines: Vec<(usize, usize)>,
    /// Modules that this file declares for tests only, in files of their own.
    pub test_modules: Vec<String>,
}

/// A path as the code names it, with `use` groups expanded and `super` resolved.
#[derive(Debug, PartialEq, Eq)]
pub struct PathUse {
    pub line: usize,
    /// A path inside the crate begins with `crate`, however it was written.
    pub segments: Vec<String>,
    /// Ends in `::*`, or renames with `as`: names used from here on are not visible.
    pub hides: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Literal {
    pub line: usize,
    pub text: String,
}

impl PathUse {
    /// Whether the path leads to `target` or below it, or could do so without showing it.
    ///
    /// `use std::time; time::Instant::now()` leads to `std::time::Instant` as well, so a target of
    /// three or more names is also found by its name without the first.
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

impl Source {
    /// Parses a file.
    pub fn read(path: &str, text: &str) -> io::Result<Self> {
        let failed = |error: syn::Error| io::Error::other(format!("{path}: {error}"));
        let file = syn::parse_file(text).map_err(failed)?;
        let mut reader = Reader {
            module: module(path),
            paths: Vec::new(),
            literals: Vec::new(),
            test_lines: Vec::new(),
            test_modules: Vec::new(),
        };
        reader.visit_file(&file);
        Ok(Self {
            path: path.to_owned(),
            text: text.to_owned(),
            is_test: is_test_folder(path) || is_for_tests(&file.attrs),
            paths: reader.paths,
            literals: reader.literals,
            test_lines: reader.test_lines,
            test_modules: reader.test_modules,
        })
    }

    /// Whether the line is compiled for tests only.
    pub fn is_test_line(&self, line: usize) -> bool {
        let mut ranges = self.test_lines.iter();
        self.is_test || ranges.any(|(first, last)| (*first..=*last).contains(&line))
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
}

/// The module path of a file: `cli/workflow/check.rs` is `[cli, workflow, check]`.
pub fn module(path: &str) -> Vec<String> {
    let inside = path.split_once("/src/").map_or(path, |(_, tail)| tail);
    let mut module: Vec<String> = inside.split('/').map(str::to_owned).collect();
    let file = module.pop().unwrap_or_default();
    let stem = file.strip_suffix(".rs").unwrap_or(&file);
    let is_root = module.is_empty() && ["lib", "main"].contains(&stem);
    if stem != "mod" && !is_root {
        module.push(stem.to_owned());
    }
    module
}

/// Folders that contain only tests, benchmarks or fuzz targets.
fn is_test_folder(path: &str) -> bool {
    path.starts_with("fuzz/") || path.contains("/tests/") || path.contains("/benches/")
}

pub fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let condition = attribute.path().is_ident("cfg");
        let condition = condition.then(|| attribute.parse_args::<syn::Ident>());
        condition.is_some_and(|it| it.is_ok_and(|it| it == "test"))
    })
}

struct Reader {
    /// The current module: the file's, plus enclosing inline modules.
    module: Vec<String>,
    paths: Vec<PathUse>,
    literals: Vec<Literal>,
    test_lines: Vec<(usize, usize)>,
    test_modules: Vec<String>,
}

impl Reader {
    fn add_path(&mut self, line: usize, segments: &[String], hides: bool) {
        let ups = segments.iter().take_while(|it| *it == "super").count();
        let is_self = segments.first().is_some_and(|it| it == "self");
        let rest = &segments[ups + usize::from(is_self)..];
        let segments = if ups > 0 || is_self {
            let kept = self.module.len().saturating_sub(ups);
            let own = std::iter::once(String::from("crate"));
            let own = own.chain(self.module[..kept].iter().cloned());
            own.chain(rest.iter().cloned()).collect()
        } else {
            rest.to_vec()
        };
        self.paths.push(PathUse {
            line,
            segments,
            hides,
        });
    }

    fn add_tree(&mut self, tree: &syn::UseTree, before: &[String]) {
        let line = tree.span().start().line;
        let with = |name: &syn::Ident| {
            let name = name.to_string();
            let name = (name != "self").then_some(name);
            before.iter().cloned().chain(name).collect::<Vec<String>>()
        };
        match tree {
            syn::UseTree::Path(path) => {
                // `self` and `super` have a meaning only at the beginning.
                let mut names = before.to_vec();
                names.push(path.ident.to_string());
                self.add_tree(&path.tree, &names);
            }
            syn::UseTree::Name(name) => self.add_path(line, &with(&name.ident), false),
            syn::UseTree::Rename(name) => self.add_path(line, &with(&name.ident), true),
            syn::UseTree::Glob(_) => self.add_path(line, before, true),
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_tree(tree, before);
                }
            }
        }
    }

    fn note_tests(&mut self, attributes: &[syn::Attribute], span: proc_macro2::Span) {
        if is_for_tests(attributes) {
            self.test_lines.push((span.start().line, span.end().line));
        }
    }
}

impl<'a> Visit<'a> for Reader {
    fn visit_item(&mut self, item: &'a syn::Item) {
        let attributes: &[syn::Attribute] = match item {
            syn::Item::Const(it) => &it.attrs,
            syn::Item::Enum(it) => &it.attrs,
            syn::Item::Fn(it) => &it.attrs,
            syn::Item::Impl(it) => &it.attrs,
            syn::Item::Mod(it) => &it.attrs,
            syn::Item::Static(it) => &it.attrs,
            syn::Item::Struct(it) => &it.attrs,
            syn::Item::Use(it) => &it.attrs,
            _ => &[],
        };
        self.note_tests(attributes, item.span());
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        if item.content.is_none() && is_for_tests(&item.attrs) {
            self.test_modules.push(item.ident.to_string());
        }
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_field(&mut self, field: &'a syn::Field) {
        self.note_tests(&field.attrs, field.span());
        visit::visit_field(self, field);
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        self.note_tests(&item.attrs, item.span());
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        self.add_tree(&item.tree, &[]);
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let segments = path.segments.iter().map(|it| it.ident.to_string());
        let segments: Vec<String> = segments.collect();
        if segments.len() > 1 {
            self.add_path(path.span().start().line, &segments, false);
        }
        visit::visit_path(self, path);
    }

    fn visit_lit_str(&mut self, literal: &'a syn::LitStr) {
        let line = literal.span().start().line;
        let text = literal.value();
        self.literals.push(Literal { line, text });
    }

    fn visit_lit_byte_str(&mut self, literal: &'a syn::LitByteStr) {
        let line = literal.span().start().line;
        let text = String::from_utf8_lossy(&literal.value()).into_owned();
        self.literals.push(Literal { line, text });
    }

    fn visit_attribute(&mut self, _attribute: &'a syn::Attribute) {}

    /// Macro arguments are code or text as well.
    fn visit_macro(&mut self, call: &'a syn::Macro) {
        let given = syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
        if let Ok(arguments) = call.parse_body_with(given) {
            for argument in &arguments {
                self.visit_expr(argument);
            }
        }
        visit::visit_macro(self, call);
    }
}

#[cfg(test)]
impl Source {
    /// Parses a planted file.
    pub fn new(path: &str, text: &str) -> Self {
        Self::read(path, text).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_lines(text: &str) -> Vec<usize> {
        let source = Source::new("crates/orange/src/a.rs", text);
        let lines = 1..=text.lines().count();
        lines.filter(|line| source.is_test_line(*line)).collect()
    }

    fn paths(text: &str) -> Vec<String> {
        let source = Source::new("crates/orange/src/tui/view/list.rs", text);
        source.paths.iter().map(PathUse::text).collect()
    }

    #[test]
    fn only_the_item_below_the_attribute_is_test_code() {
        let text = "#[cfg(test)]\nuse a::{b, c};\nfn live() {}\n#[cfg(test)]\nmod tests {\n  fn f() {}\n}\nfn also_live() {}";
        assert_eq!(test_lines(text), [1, 2, 4, 5, 6, 7]);
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
    }

    #[test]
    fn groups_are_unfolded_and_relative_paths_resolved() {
        assert_eq!(
            paths("use a::{b, c::{self, d}};"),
            ["a::b", "a::c", "a::c::d"]
        );
        assert_eq!(paths("use super::super::act;"), ["crate::tui::act"]);
        assert_eq!(paths("use self::x;"), ["crate::tui::view::list::x"]);
        assert_eq!(
            paths("fn f() { super::super::run::x(); g!(a::b()); }"),
            ["crate::tui::run::x", "a::b"]
        );
        assert!(Source::new("a/src/b.rs", "use a::*;").paths[0].hides);
    }

    #[test]
    fn literals_in_macros_are_found() {
        let source = Source::new("a/src/b.rs", "fn f() {\n  g!(\"x\", r#\"y\"#);\n}");
        let literals = source.literals.iter();
        let found: Vec<_> = literals.map(|it| (it.line, it.text.as_str())).collect();
        assert_eq!(found, [(2, "x"), (2, "y")]);
    }
}
