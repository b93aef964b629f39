//! Reads the repository's files from disk.

use std::path::Path;
use std::{fs, io};

use crate::source::Source;

/// A file read as plain text.
pub struct Text {
    pub path: String,
    pub content: String,
}

/// Everything the rules read.
pub struct Tree {
    pub sources: Vec<Source>,
    /// Sources of every kind: Rust, manifests, workflows, scripts.
    pub texts: Vec<Text>,
    /// Every file and folder, relative to the root.
    pub names: Vec<String>,
}

impl Tree {
    pub fn load() -> io::Result<Self> {
        let (names, texts) = Self::load_texts()?;
        let rust = texts.iter().filter(|text| has_ending(&text.path, &["rs"]));
        let sources = rust.map(|text| Source::read(&text.path, &text.content));
        let mut sources = sources.collect::<io::Result<Vec<_>>>()?;
        mark_test_modules(&mut sources);
        Ok(Self {
            sources,
            texts,
            names,
        })
    }

    /// The names of all files, and the texts among them; nothing is parsed.
    pub fn load_texts() -> io::Result<(Vec<String>, Vec<Text>)> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .canonicalize()?;
        let mut names = Vec::new();
        walk(&root, "", &mut names)?;
        names.sort();

        let mut texts = Vec::new();
        for name in names.iter().filter(|name| is_text(name)) {
            let path = root.join(name);
            if path.is_file() {
                // A fixture may contain bytes that are not text on purpose.
                let content = String::from_utf8_lossy(&fs::read(path)?).into_owned();
                texts.push(Text {
                    path: name.clone(),
                    content,
                });
            }
        }
        Ok((names, texts))
    }

    pub fn text(&self, path: &str) -> Option<&str> {
        let found = self.texts.iter().find(|text| text.path == path)?;
        Some(&found.content)
    }
}

fn walk(root: &Path, folder: &str, names: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() {
            name.clone()
        } else {
            format!("{folder}/{name}")
        };
        if is_ours(&path, &name) {
            if entry.file_type()?.is_dir() {
                walk(root, &path, names)?;
            }
            names.push(path);
        }
    }
    Ok(())
}

/// Whether the file belongs to the tree, rather than to git, cargo or an editor.
fn is_ours(path: &str, name: &str) -> bool {
    const HIDDEN: [&str; 3] = [".ci", ".config", ".github"];
    const MADE: [&str; 5] = [
        "target",
        "fuzz/target",
        "fuzz/artifacts",
        "fuzz/corpus",
        "fuzz/coverage",
    ];
    let is_hidden = name.starts_with('.') && !HIDDEN.contains(&path);
    !is_hidden && !MADE.contains(&path) && !path.starts_with("mutants.out")
}

fn is_text(path: &str) -> bool {
    has_ending(path, &["rs", "toml", "yml", "yaml", "sh"])
        || [
            ".ci/agents",
            ".ci/forge",
            ".ci/matrix",
            ".ci/page",
            ".ci/pictures",
            ".ci/run",
            "justfile",
        ]
        .contains(&path)
}

pub fn has_ending(path: &str, endings: &[&str]) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|found| endings.iter().any(|ending| found == *ending))
}

/// Marks the files of modules that are declared for tests only.
fn mark_test_modules(sources: &mut [Source]) {
    let children: Vec<String> = sources
        .iter()
        .flat_map(|source| {
            source
                .test_modules
                .iter()
                .map(|module| source.child(module))
        })
        .collect();
    for source in sources {
        let in_child = |child: &String| {
            source.path == format!("{child}.rs") || source.path.starts_with(&format!("{child}/"))
        };
        source.is_test |= children.iter().any(in_child);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_and_hidden_files_are_not_ours() {
        assert!(is_ours("crates/orange/src/lib.rs", "lib.rs"));
        assert!(is_ours(".ci", ".ci"));
        assert!(is_ours("crates/orange/src/target", "target"));
        assert!(!is_ours(".git", ".git"));
        assert!(!is_ours("target", "target"));
        assert!(!is_ours("mutants.out.old", "mutants.out.old"));
    }

    #[test]
    fn a_test_module_covers_its_file_and_what_is_below() {
        let mut sources = [
            Source::new(
                "crates/orange/src/cli/mod.rs",
                "#[cfg(test)]\nmod tests;\nmod testing;",
            ),
            Source::new("crates/orange/src/cli/tests.rs", ""),
            Source::new("crates/orange/src/cli/tests/deep.rs", ""),
            Source::new("crates/orange/src/cli/testing.rs", ""),
        ];
        mark_test_modules(&mut sources);
        let marked: Vec<_> = sources.iter().map(|source| source.is_test).collect();
        assert_eq!(marked, [false, true, true, false]);
    }
}
