//! Which crates may depend on which, and the pure crates' dependencies.

use toml::Table;

use crate::verdict::Violation;

/// The crates of the program, and their dependencies. Arrows point down only.
const GRAPH: &[(&str, &[&str])] = &[
    ("orange-engine", &[]),
    ("orange-check", &["orange-engine"]),
    ("orange-config", &["orange-engine"]),
    (
        "orange-store",
        &["orange-config", "orange-engine", "orange-fleet"],
    ),
    ("orange-effects", &["orange-config", "orange-engine"]),
    (
        "orange-driver",
        &[
            "orange-check",
            "orange-config",
            "orange-effects",
            "orange-engine",
            "orange-fleet",
            "orange-store",
        ],
    ),
    (
        "orange",
        &[
            "orange-check",
            "orange-config",
            "orange-driver",
            "orange-engine",
            "orange-mcp",
            "orange-server",
            "orange-web",
        ],
    ),
    ("orange-fleet", &[]),
    ("orange-mcp", &[]),
    ("orange-server", &["orange-config", "orange-fleet"]),
    ("orange-web", &["orange-config"]),
];

/// The crates that touch nothing except their arguments.
const PURE: &[&str] = &["orange-engine", "orange-check", "orange-fleet"];

/// The allowed dependencies of the pure crates: parsers, data, a hash, and nothing that acts.
const PURE_MAY_USE: &[&str] = &[
    "granit-parser",
    "pulldown-cmark",
    "schemars",
    "serde",
    "serde_json",
    "sha2",
    "thiserror",
];

pub fn manifests() -> impl Iterator<Item = (&'static str, String)> {
    let names = GRAPH.iter().map(|(name, _)| *name);
    names.map(|name| (name, format!("crates/{name}/Cargo.toml")))
}

/// The forbidden dependencies of a crate.
pub fn check(name: &str, path: &str, manifest: &str) -> Vec<Violation> {
    let table: Table = manifest.parse().unwrap_or_default();
    let used = table.get("dependencies").and_then(|it| it.as_table());
    let Some(used) = used else {
        return vec![Violation::new(path, 1, "no dependency was read")];
    };
    let mut row = GRAPH.iter().filter(|(known, _)| *known == name);
    let inner = row.next().map_or(&[][..], |(_, inner)| *inner);
    let mut found = Vec::new();
    for (used, value) in used {
        let renamed = value.get("package").and_then(|it| it.as_str());
        let used = renamed.unwrap_or(used);
        let is_allowed = if used.starts_with("orange-") {
            inner.contains(&used)
        } else {
            !PURE.contains(&name) || PURE_MAY_USE.contains(&used)
        };
        if !is_allowed {
            let rule = format!("`{name}` must not depend on `{used}` (the table is in crates.rs)");
            found.push(Violation::new(path, 1, rule));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(name: &str, manifest: &str) -> usize {
        check(name, "Cargo.toml", manifest).len()
    }

    #[test]
    fn an_upward_dependency_is_found() {
        let upward = "[dependencies]\norange-driver = { path = \"../orange-driver\" }\n";
        assert_eq!(count("orange-store", upward), 1);
        assert_eq!(count("orange", upward), 0);
        assert_eq!(
            count("orange", "[dependencies]\norange-store.workspace = true"),
            1
        );
        let tested = "[dependencies]\n[dev-dependencies]\norange-store = { path = \"x\" }\n";
        assert_eq!(count("orange", tested), 0);
    }

    #[test]
    fn the_engine_has_no_side_effects() {
        assert_eq!(count("orange-engine", "[dependencies]\nserde = \"1\"\n"), 0);
        assert_eq!(
            count("orange-engine", "[dependencies]\nrustix = \"1\"\n"),
            1
        );
        assert_eq!(count("orange-check", "[dependencies]\nrustix = \"1\"\n"), 1);
        let renamed = "[dependencies]\nserde = { package = \"tokio\", version = \"1\" }\n";
        assert_eq!(count("orange-engine", renamed), 1);
        assert_eq!(count("orange-engine", "[package]\n"), 1);
    }
}
