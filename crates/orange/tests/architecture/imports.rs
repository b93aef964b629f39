//! The import table: which folder may name which.

use crate::paths::PathUse;
use crate::source::Source;
use crate::verdict::Violation;

/// How much of the engine a folder may name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Engine {
    Nothing,
    /// What it reads, holds and answers, but none of its steps.
    Types,
    TypesAndApply,
    Everything,
}

/// One folder (or file) directly below `crates/orange/src`.
struct Row {
    folder: &'static str,
    may: &'static [&'static str],
    engine: Engine,
    /// The only outside crates it may name; `None` when all of the manifest's.
    crates: Option<&'static [&'static str]>,
}

const TABLE: &[Row] = &[
    Row {
        folder: "cli",
        may: &["driver", "supervisor", "output", "config", "clock"],
        engine: Engine::Types,
        crates: None,
    },
    Row {
        folder: "tui",
        may: &["driver", "supervisor", "output", "config", "clock", "steps"],
        engine: Engine::Types,
        crates: None,
    },
    Row {
        folder: "supervisor",
        may: &["driver", "effects", "config", "clock"],
        engine: Engine::Types,
        crates: None,
    },
    Row {
        folder: "driver",
        may: &["effects", "store", "config", "clock", "steps"],
        engine: Engine::Everything,
        crates: None,
    },
    Row {
        folder: "effects",
        may: &["config", "clock"],
        engine: Engine::Types,
        crates: None,
    },
    Row {
        folder: "store",
        may: &["config", "clock", "steps"],
        engine: Engine::TypesAndApply,
        crates: None,
    },
    Row {
        folder: "config",
        may: &["clock"],
        engine: Engine::Types,
        crates: None,
    },
    Row {
        folder: "clock",
        may: &[],
        engine: Engine::Types,
        crates: None,
    },
    Row {
        folder: "steps",
        may: &["config"],
        engine: Engine::Nothing,
        crates: Some(&["rustix"]),
    },
    Row {
        folder: "output",
        may: &[],
        engine: Engine::Nothing,
        crates: Some(&["anstream", "unicode_width"]),
    },
];

/// What of `source` the table does not allow; `dependencies` are the manifest's crates.
pub fn check(source: &Source, dependencies: &[String]) -> Vec<Violation> {
    let module = source.module();
    let Some(folder) = module.first().filter(|_| is_product(source)) else {
        return Vec::new();
    };
    let Some(row) = TABLE.iter().find(|row| row.folder == folder) else {
        return vec![Violation::new(
            &source.path,
            1,
            format!("`{folder}` is no folder of the import table: give it a row in imports.rs"),
        )];
    };
    let paths = source.paths();
    let broken = paths.iter().filter_map(|path| {
        let rule = broken_rule(row, path, dependencies)?;
        Some(Violation::new(
            &source.path,
            path.line,
            format!("`{}`: {rule}", path.text()),
        ))
    });
    broken.collect()
}

fn is_product(source: &Source) -> bool {
    source.path.starts_with("crates/orange/src/")
}

fn broken_rule(row: &Row, path: &PathUse, dependencies: &[String]) -> Option<String> {
    let folder = row.folder;
    let (first, rest) = path.segments.split_first()?;
    match first.as_str() {
        // The binary's own library goes by its name as well.
        "crate" | "orange" => {
            let Some(target) = rest.first() else {
                let hidden = path.hides || path.is_import;
                return hidden.then(|| format!("{folder}/ must say which folder it means"));
            };
            let allowed = target == folder || row.may.contains(&target.as_str());
            (!allowed).then(|| {
                let may = if row.may.is_empty() {
                    "nothing".to_owned()
                } else {
                    row.may.join(", ")
                };
                format!("{folder}/ must not import `{target}` (it may import {may})")
            })
        }
        "orange_engine" => broken_engine_rule(row, path, rest),
        "std" | "core" | "alloc" => None,
        name => {
            let crates = row.crates?;
            let is_crate = dependencies.iter().any(|dependency| dependency == name);
            (is_crate && !crates.contains(&name)).then(|| {
                format!(
                    "{folder}/ may name no crate but std and {}",
                    crates.join(", ")
                )
            })
        }
    }
}

fn broken_engine_rule(row: &Row, path: &PathUse, rest: &[String]) -> Option<String> {
    let folder = row.folder;
    let forbidden: &[&str] = match row.engine {
        Engine::Nothing => return Some(format!("{folder}/ must not import the engine")),
        Engine::Types => &[
            "decide",
            "create",
            "outlook",
            "held_back",
            "apply",
            "replay",
        ],
        Engine::TypesAndApply => &["decide", "create", "outlook", "held_back"],
        Engine::Everything => return None,
    };
    if rest.is_empty() && path.hides {
        return Some(format!("{folder}/ must say what of the engine it means"));
    }
    let step = forbidden
        .iter()
        .find(|step| rest.iter().any(|segment| segment == *step))?;
    Some(format!(
        "{folder}/ must not import `{step}`: only driver/ takes the engine's steps"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let dependencies = ["anstream", "clap", "orange_engine"].map(str::to_owned);
        let source = Source::new(path, text);
        check(&source, &dependencies)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    /// Each folder, what it may name, and what it must not.
    const EXAMPLES: &[(&str, &[&str], &[&str])] = &[
        (
            "cli/show.rs",
            &[
                "crate::driver::step",
                "crate::output::say",
                "super::list",
                "orange_engine::Task",
            ],
            &[
                "crate::effects::git",
                "crate::store::open",
                "crate::tui::run",
                "orange_engine::decide",
            ],
        ),
        (
            "tui/view.rs",
            &["crate::supervisor::start", "crate::config::Config"],
            &[
                "crate::store::open",
                "crate::effects::tmux",
                "crate::cli::show",
            ],
        ),
        (
            "supervisor/mod.rs",
            &[
                "crate::driver::step",
                "crate::effects::tmux",
                "crate::config::Config",
            ],
            &["crate::cli::show", "crate::tui::run", "crate::store::open"],
        ),
        (
            "driver/step.rs",
            &[
                "crate::effects::git",
                "crate::store::open",
                "orange_engine::decide::decide",
            ],
            &[
                "crate::cli::x",
                "crate::tui::x",
                "crate::supervisor::x",
                "crate::output::say",
            ],
        ),
        (
            "effects/git/merge.rs",
            &[
                "crate::config::Config",
                "orange_engine::Effect",
                "super::super::command::run",
            ],
            &[
                "crate::store::open",
                "crate::driver::step",
                "super::super::super::store::open",
                "orange_engine::decide",
                "orange_engine::apply::apply",
                "orange_engine::create",
                "orange_engine::replay",
            ],
        ),
        (
            "store/mod.rs",
            &[
                "orange_engine::apply",
                "crate::config::Config",
                "crate::clock::now",
            ],
            &[
                "crate::effects::git",
                "crate::driver::x",
                "crate::cli::x",
                "orange_engine::decide",
            ],
        ),
        (
            "config/env.rs",
            &["orange_engine::language::load", "crate::config::Config"],
            &[
                "crate::output::say",
                "crate::store::open",
                "crate::cli::show",
                "orange::cli::show",
            ],
        ),
        (
            "output/mod.rs",
            &["std::io::Write", "anstream::stdout", "super::output::style"],
            &[
                "clap::Parser",
                "orange_engine::Task",
                "crate::config::Config",
            ],
        ),
        (
            "clock.rs",
            &["std::time::SystemTime"],
            &["crate::config::Config"],
        ),
        (
            "steps.rs",
            &["crate::config::Home", "rustix::process::Signal"],
            &["crate::store::Store", "orange_engine::Task"],
        ),
    ];

    #[test]
    fn every_folder_may_name_its_row_and_nothing_else() {
        for (file, good, bad) in EXAMPLES {
            let path = format!("crates/orange/src/{file}");
            for name in *good {
                assert_eq!(
                    found(&path, &format!("use {name};")).len(),
                    0,
                    "{file}: {name}"
                );
            }
            for name in *bad {
                let in_import = found(&path, &format!("//! A.\nuse {name};"));
                assert_eq!(in_import.len(), 1, "{file}: {name}");
                assert!(
                    in_import[0].starts_with(&format!("{path}:2: ")),
                    "{}",
                    in_import[0]
                );
                let in_code = found(&path, &format!("fn f() {{ {name}::g() }}"));
                assert_eq!(in_code.len(), 1, "{file}: {name} in code");
            }
        }
        let rows: Vec<_> = TABLE.iter().map(|row| row.folder).collect();
        for folder in rows {
            assert!(
                EXAMPLES.iter().any(|(file, ..)| file.starts_with(folder)),
                "{folder}"
            );
        }
    }

    #[test]
    fn a_group_is_read_branch_by_branch() {
        let path = "crates/orange/src/effects/mod.rs";
        let text = "use crate::{\n    config::Config,\n    store::{Store, open},\n};";
        let found = found(path, text);
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with(&format!(
            "{path}:3: `crate::store::Store`: effects/ must not"
        )));
    }

    #[test]
    fn hiding_what_is_imported_is_refused() {
        assert_eq!(
            found("crates/orange/src/cli/mod.rs", "use crate::*;").len(),
            1
        );
        assert_eq!(
            found("crates/orange/src/cli/mod.rs", "use super::*;").len(),
            1
        );
        assert_eq!(
            found("crates/orange/src/cli/mod.rs", "use crate as root;").len(),
            1
        );
        assert_eq!(
            found("crates/orange/src/cli/mod.rs", "use orange_engine::*;").len(),
            1
        );
        assert_eq!(
            found("crates/orange/src/cli/show.rs", "use super::*;").len(),
            0
        );
    }

    #[test]
    fn a_new_folder_needs_a_row() {
        let found = found("crates/orange/src/cloud/mod.rs", "//! A.");
        assert!(
            found[0].contains("`cloud` is no folder of the import table"),
            "{found:?}"
        );
    }

    #[test]
    fn the_roots_and_the_tests_may_name_everything() {
        assert_eq!(
            found("crates/orange/src/main.rs", "use orange::store;").len(),
            0
        );
        assert_eq!(
            found("crates/orange/src/lib.rs", "pub use crate::store::x;").len(),
            0
        );
        assert_eq!(
            found("crates/orange/tests/cli.rs", "use orange::store;").len(),
            0
        );
    }
}
