//! A command, its file and its tests share one name.

use crate::source::Source;
use crate::verdict::Violation;

const COMMANDS: &str = "crates/orange/src/cli/";
const TESTS: &str = "crates/orange/tests/cli/";

/// Commands without a test file of their own, and where they are tested.
const ELSEWHERE: &[(&str, &str)] = &[
    ("detach", "effects/detach.rs"),
    ("exec-run", "effects/exec_run.rs"),
    ("gather", "driver/hooks.rs, with the gates that need it"),
    ("harness list", "cli/every_command: it prints a table"),
    ("harness unpark", "driver/supervisor/parked_harnesses.rs"),
    ("man", "cli/every_command/reference.rs"),
    ("mcp", "mcp has a folder of them"),
    ("perform", "driver/failures, where it is killed"),
    (
        "project add",
        "cli/every_command/codes.rs, with its refusals",
    ),
    ("project list", "cli/project_show.rs, in one test with it"),
    ("run-job", "cli/job_run.rs, which has it run"),
    ("sandbox-attempts", "sandbox/sandbox_commands.rs"),
    ("sandbox explain", "sandbox/sandbox_commands.rs"),
    ("sandbox port", "sandbox/sandbox_commands.rs"),
    ("sandbox shell", "sandbox/sandbox_commands.rs"),
    ("sandbox try", "sandbox/sandbox_commands.rs"),
    ("sandbox-confine", "sandbox/seccomp.rs"),
    ("sandbox-init", "sandbox/endings.rs"),
    ("serve", "driver/supervisor has a folder of them"),
    ("server code", "cli/server_run.rs, in one test with it"),
    ("server migrate", "cli/server_run.rs, in one test with it"),
    ("task complete", "driver/lifecycles: every story takes it"),
    ("status-line", "cli/task_attach.rs, in a terminal"),
    ("freeze-agents", "driver/fleet/freezing.rs"),
    ("tether", "effects/tether.rs"),
    (
        "task request-changes",
        "driver/lifecycles: every story takes it",
    ),
    ("web devices", "web/devices.rs"),
    ("web openapi", "web/description.rs"),
    ("web pair", "web/devices.rs"),
    ("web revoke", "web/devices.rs"),
    ("web webhook", "web/webhooks.rs"),
    (
        "workspace init",
        "cli/every_command/codes.rs and git/workspace_commands.rs",
    ),
];

/// Files next to the tests that belong to no command.
const OTHERS: [&str; 2] = ["main", "sandbox"];

/// A violation for each command outside its own file or without tests of its name, and for tests of
/// no command.
pub fn check(sources: &[Source], names: &[String]) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut tested: Vec<String> = OTHERS.map(str::to_owned).to_vec();
    for source in sources.iter().filter(|it| it.path.starts_with(COMMANDS)) {
        let commands = commands(source);
        for command in &commands {
            let place = command.replace(' ', "/").replace('-', "_");
            let places = [
                format!("{COMMANDS}{place}.rs"),
                format!("{COMMANDS}{place}/mod.rs"),
                format!("{COMMANDS}hidden/{place}.rs"),
            ];
            if commands.len() == 1 && !places.contains(&source.path) {
                let rule = format!("`orange {command}` belongs into `{}`", places[0]);
                found.push(Violation::new(&source.path, 1, rule));
            }
            let test = command.replace([' ', '-'], "_");
            let tests = format!("{TESTS}{test}.rs");
            let is_elsewhere = ELSEWHERE.iter().any(|(name, _)| name == command);
            match (names.contains(&tests), is_elsewhere) {
                (false, false) => {
                    let rule = format!("`orange {command}` has no tests in `{tests}`");
                    found.push(Violation::new(&source.path, 1, rule));
                }
                (true, true) => found.push(Violation::new(&tests, 1, "the table excuses it")),
                _ => {}
            }
            tested.push(test);
        }
    }
    for name in names {
        let file = name
            .strip_prefix(TESTS)
            .and_then(|it| it.strip_suffix(".rs"));
        let file = file.filter(|it| !it.contains('/'));
        if file.is_some_and(|it| !tested.iter().any(|test| test == it)) {
            found.push(Violation::new(name, 1, "no command has this name"));
        }
    }
    found
}

/// The commands that the first line of a file names; a group of commands does not count.
fn commands(source: &Source) -> Vec<&str> {
    let first = source.text.lines().next().unwrap_or_default();
    if !first.starts_with("//! `orange ") {
        return Vec::new();
    }
    let named = first.split('`').filter_map(|it| it.strip_prefix("orange "));
    let is_group = |name: &&str| source.path == format!("{COMMANDS}{name}/mod.rs");
    named.filter(|name| !is_group(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(path: &str, first: &str, tests: &[&str]) -> Vec<String> {
        let source = Source::new(&format!("{COMMANDS}{path}"), &format!("//! {first}\n"));
        let names = tests.iter().map(|it| format!("{TESTS}{it}.rs"));
        let names: Vec<String> = names.collect();
        let found = check(&[source], &names);
        found.into_iter().map(|it| it.rule).collect()
    }

    #[test]
    fn a_command_has_its_file_and_its_tests() {
        let merge = "`orange task merge`.";
        assert_eq!(rules("task/merge.rs", merge, &["task_merge"]).len(), 0);
        let untested =
            "`orange task merge` has no tests in `crates/orange/tests/cli/task_merge.rs`";
        assert_eq!(rules("task/merge.rs", merge, &[]), [untested]);
        let misplaced = "`orange task merge` belongs into `crates/orange/src/cli/task/merge.rs`";
        assert_eq!(rules("task/join.rs", merge, &["task_merge"]), [misplaced]);
        let both = "`orange task stuck`, `orange task tell`: two";
        assert_eq!(rules("task/two.rs", both, &["task_stuck"]).len(), 1);
    }

    #[test]
    fn a_command_tested_elsewhere_has_no_test_file() {
        assert_eq!(rules("man.rs", "`orange man`.", &[]).len(), 0);
        let excused = ["the table excuses it"];
        assert_eq!(rules("man.rs", "`orange man`.", &["man"]), excused);
    }

    #[test]
    fn every_test_file_is_about_a_command() {
        let merging = ["task_merge", "merging", "main", "every_command/help"];
        let found = rules("task/merge.rs", "`orange task merge`.", &merging);
        assert_eq!(found, ["no command has this name"]);
    }

    #[test]
    fn a_group_is_not_a_command() {
        assert_eq!(rules("task/mod.rs", "`orange task`: work.", &[]).len(), 0);
        assert_eq!(rules("dashboard.rs", "`orange` alone.", &[]).len(), 0);
    }
}
