//! Reads dependencies from a manifest, and judges the engine's.

use crate::verdict::Violation;

/// What the engine may be built from: readers, data, a hash, and nothing that acts.
const ENGINE_MAY_USE: [&str; 6] = [
    "granit-parser",
    "pulldown-cmark",
    "schemars",
    "serde",
    "sha2",
    "thiserror",
];

/// The dependencies of the engine that it must not have.
pub fn check(path: &str, text: &str) -> Vec<Violation> {
    let all = entries(text);
    let refused = all
        .iter()
        .filter(|entry| !ENGINE_MAY_USE.contains(&entry.package.as_str()));
    let mut found: Vec<_> = refused
        .map(|entry| {
            let rule = format!(
                "the engine must not depend on `{}` (it may use {})",
                entry.package,
                ENGINE_MAY_USE.join(", ")
            );
            Violation::new(path, entry.line, rule)
        })
        .collect();
    if all.is_empty() {
        found.push(Violation::new(
            path,
            1,
            "no dependency was read: the reader must be wrong",
        ));
    }
    found
}

/// The crates that a manifest's code may name, as code spells them.
pub fn dependencies(text: &str) -> Vec<String> {
    entries(text)
        .iter()
        .map(|entry| entry.name.replace('-', "_"))
        .collect()
}

struct Entry {
    line: usize,
    /// What the manifest calls it.
    name: String,
    /// What is downloaded: another name when the manifest renames it.
    package: String,
}

/// Every dependency of what is shipped: tests and benchmarks may use what they like.
fn entries(text: &str) -> Vec<Entry> {
    let mut found: Vec<Entry> = Vec::new();
    let mut section = Section::Other;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let number = index + 1;
        if let Some(header) = line.strip_prefix('[') {
            section = Section::of(header.split(']').next().unwrap_or_default());
            if let Section::One(name) = &section {
                found.push(Entry {
                    line: number,
                    name: name.clone(),
                    package: name.clone(),
                });
            }
            continue;
        }
        let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) else {
            continue;
        };
        match &section {
            Section::All => {
                let name = key
                    .split('.')
                    .next()
                    .unwrap_or_default()
                    .trim()
                    .trim_matches('"');
                let package = renamed(value).unwrap_or(name).to_owned();
                found.push(Entry {
                    line: number,
                    name: name.to_owned(),
                    package,
                });
            }
            Section::One(_) if key.trim() == "package" => {
                if let Some(entry) = found.last_mut() {
                    value
                        .trim()
                        .trim_matches('"')
                        .clone_into(&mut entry.package);
                }
            }
            Section::One(_) | Section::Other => {}
        }
    }
    found
}

enum Section {
    /// `[dependencies]`: a key per dependency.
    All,
    /// `[dependencies.name]`: one dependency in a section of its own.
    One(String),
    Other,
}

impl Section {
    fn of(header: &str) -> Self {
        let last = |end: &str| header == end || header.ends_with(&format!(".{end}"));
        let kinds = ["dependencies", "build-dependencies"];
        if kinds.iter().any(|kind| last(kind)) {
            return Self::All;
        }
        let Some((head, name)) = header.rsplit_once('.') else {
            return Self::Other;
        };
        let is_kind = kinds
            .iter()
            .any(|kind| head == *kind || head.ends_with(&format!(".{kind}")));
        if is_kind {
            Self::One(name.trim_matches('"').to_owned())
        } else {
            Self::Other
        }
    }
}

/// The name in `{ package = "name" }`.
fn renamed(value: &str) -> Option<&str> {
    let (_, tail) = value.split_once("package")?;
    tail.split('"').nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> Vec<usize> {
        check("crates/orange-engine/Cargo.toml", text)
            .iter()
            .map(|found| found.line)
            .collect()
    }

    #[test]
    fn readers_and_data_are_allowed() {
        let text = "[dependencies]\nserde = { version = \"1\" }\n# tokio = \"1\"\nsha2.workspace = true\n[dev-dependencies]\nproptest = \"1\"";
        assert_eq!(refused(text).len(), 0);
    }

    #[test]
    fn anything_that_acts_is_refused_wherever_it_hides() {
        assert_eq!(refused("[dependencies]\nserde = \"1\"\ntokio = \"1\""), [3]);
        assert_eq!(refused("[dependencies.tokio]\nversion = \"1\""), [1]);
        assert_eq!(refused("[build-dependencies]\ncc = \"1\""), [2]);
        assert_eq!(
            refused("[target.'cfg(unix)'.dependencies]\nrustix = \"1\""),
            [2]
        );
        assert_eq!(
            refused("[target.'cfg(unix)'.dependencies.rustix]\nversion = \"1\""),
            [1]
        );
        assert_eq!(
            refused("[dependencies]\nserde = { package = \"tokio\", version = \"1\" }"),
            [2]
        );
        assert_eq!(refused("[dependencies.serde]\npackage = \"tokio\""), [1]);
        assert_eq!(refused("[dependencies]\nrand.workspace = true"), [2]);
    }

    #[test]
    fn reading_nothing_is_refused() {
        assert_eq!(refused("[package]\nname = \"a\""), [1]);
    }

    #[test]
    fn names_are_spelled_as_in_code() {
        assert_eq!(
            dependencies("[dependencies]\norange-engine = { path = \"x\" }"),
            ["orange_engine"]
        );
    }
}
