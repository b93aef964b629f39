//! Status names are data: no code contains one.

use crate::source::Source;
use crate::verdict::Violation;

/// The status names of the shipped workflows.
const NAMES: &[&str] = &[
    "agent-review",
    "cancelled",
    "checking",
    "clarification",
    "delegated",
    "done",
    "in_progress",
    "needs_review",
    "pending",
    "planning",
    "resuming",
    "reviewing",
    "routed",
    "stuck",
    "working",
];

/// Shipped names that are everyday words, so code may use them in another sense.
const EVERYDAY: &[&str] = &["blocked", "new"];

/// Only this file holds the defaults that version 1 assumes for missing keys.
const DEFAULTS: &str = "crates/orange-engine/src/language/defaults.rs";

/// An agent's activity and a status have one word in common.
const ACTIVITY: &str = "crates/orange-engine/src/activity.rs";

/// Literals outside of tests that exactly match a status name.
pub fn check(source: &Source) -> Vec<Violation> {
    let is_code = source.path.starts_with("crates/orange") && source.path.contains("/src/");
    if !is_code || [DEFAULTS, ACTIVITY].contains(&source.path.as_str()) {
        return Vec::new();
    }
    let named = source.literals.iter().filter(|literal| {
        NAMES.contains(&literal.text.as_str()) && !source.is_test_line(literal.line)
    });
    let violations = named.map(|literal| {
        let rule = format!(
            "\"{}\" is a status of a workflow file: find the edge through `verbs:`",
            literal.text
        );
        Violation::new(&source.path, literal.line, rule)
    });
    violations.collect()
}

/// States of a workflow file that [`check`] would not search for.
pub fn unlisted(path: &str, workflow: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut in_states = false;
    for (index, line) in workflow.lines().enumerate() {
        if line.starts_with(|c: char| c.is_ascii_alphabetic()) {
            in_states = line.starts_with("states:");
        }
        let Some(entry) = line.strip_prefix("  ").filter(|_| in_states) else {
            continue;
        };
        let Some((name, _)) = entry.split_once(':').filter(|_| is_name(entry)) else {
            continue;
        };
        let name = name.trim_matches(['"', '\'']);
        if !NAMES.contains(&name) && !EVERYDAY.contains(&name) {
            let rule = format!("the status `{name}` is missing in statuses.rs");
            found.push(Violation::new(path, index + 1, rule));
        }
    }
    found
}

fn is_name(entry: &str) -> bool {
    entry.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '"' || c == '\'')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::lines_of;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        lines_of(&check(&Source::new(path, text)))
    }

    const DECIDE: &str = "crates/orange-engine/src/decide/mod.rs";

    #[test]
    fn a_status_in_code_is_found() {
        for name in NAMES {
            assert_eq!(
                lines(DECIDE, &format!("fn f() {{\n  g(\"{name}\")\n}}")),
                [2],
                "{name}"
            );
        }
        assert_eq!(
            lines(
                "crates/orange/src/cli/merge.rs",
                "const A: &str = r#\"done\"#;"
            ),
            [1]
        );
        assert_eq!(lines(DECIDE, "fn f() { b\"stuck\" }"), [1]);
    }

    #[test]
    fn tests_defaults_comments_and_sentences_are_exempt() {
        let in_test = "#[cfg(test)]\nmod tests {\n  const A: &str = \"done\";\n}";
        assert_eq!(lines(DECIDE, in_test).len(), 0);
        assert_eq!(
            lines(DECIDE, &format!("{in_test}\nconst B: &str = \"done\";")),
            [5]
        );
        assert_eq!(lines(DEFAULTS, "const A: &str = \"stuck\";").len(), 0);
        assert_eq!(
            lines(DECIDE, "// \"done\"\nconst A: &str = \"not done\";").len(),
            0
        );
        assert_eq!(
            lines("crates/orange/tests/a.rs", "const A: &str = \"done\";").len(),
            0
        );
    }

    #[test]
    fn a_shipped_status_that_is_not_listed_is_found() {
        let text = "name: a\nstates:\n  pending:\n    kind: queued\n  # note: x\n  shipped: {}\n  new:\n\ntransitions:\n  other:\n";
        let found = unlisted("workflows/a.yml", text);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].to_string(),
            "workflows/a.yml:6: the status `shipped` is missing in statuses.rs"
        );
    }
}
