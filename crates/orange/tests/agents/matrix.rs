//! The page that lists what is tested for which agent.
//!
//! Each cell names the test that covers it, or says why there is none. The page is generated from
//! test results: `results.txt` says with which version each test has passed. A cell whose test does
//! not exist fails here, and one that has not passed with the pinned version says so on the page.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::report::{shown, shown_with, versioned};

const AGENTS: [&str; 5] = ["claude", "codex", "gemini", "opencode", "pi"];

/// A capability, and each agent's test for it; a text that begins with `no` is a reason.
const ROWS: [(&str, [&str; 5]); 16] = [
    (
        "works from the plan to the merge, with all permissions",
        [
            "stories::claude_works_and_codex_reviews",
            "stories::codex_works_and_gemini_reviews",
            "stories::gemini_works_and_opencode_reviews",
            "stories::opencode_works_and_pi_reviews",
            "stories::pi_works_and_claude_reviews",
        ],
    ),
    (
        "reviews, with the permissions of a reviewer",
        [
            "stories::pi_works_and_claude_reviews",
            "stories::claude_works_and_codex_reviews",
            "stories::codex_works_and_gemini_reviews",
            "stories::gemini_works_and_opencode_reviews",
            "stories::opencode_works_and_pi_reviews",
        ],
    ),
    (
        "commits and calls `orange` unasked, with reduced permissions",
        [
            "levels::claude_with_reduced_permissions",
            "levels::codex_with_reduced_permissions",
            "levels::gemini_with_reduced_permissions",
            "levels::opencode_with_reduced_permissions",
            "no: it has no permissions to reduce",
        ],
    ),
    (
        "posts nothing to a forge as a reviewer, whatever its model says",
        [
            "forge::claude_posts_nothing_as_a_reviewer",
            "forge::codex_posts_nothing_as_a_reviewer",
            "forge::gemini_posts_nothing_as_a_reviewer",
            "forge::opencode_posts_nothing_as_a_reviewer",
            "no: it has no permissions to reduce",
        ],
    ),
    (
        "reads a message of 200 lines that comes while it waits",
        [
            "stories::claude_works_and_codex_reviews",
            "stories::codex_works_and_gemini_reviews",
            "stories::gemini_works_and_opencode_reviews",
            "stories::opencode_works_and_pi_reviews",
            "stories::pi_works_and_claude_reviews",
        ],
    ),
    (
        "comes back when it was killed in its turn",
        [
            "deaths::lesson_28_claude_comes_back_as_it_was_and_remembers",
            "deaths::lesson_28_codex_comes_back_as_it_was_and_remembers",
            "deaths::lesson_28_gemini_comes_back_as_it_was_and_remembers",
            "deaths::lesson_28_opencode_comes_back_as_it_was_and_remembers",
            "deaths::lesson_28_pi_comes_back_as_it_was_and_remembers",
        ],
    ),
    (
        "then remembers the conversation",
        [
            "deaths::lesson_28_claude_comes_back_as_it_was_and_remembers",
            "deaths::lesson_28_codex_comes_back_as_it_was_and_remembers",
            "deaths::lesson_28_gemini_comes_back_as_it_was_and_remembers",
            "deaths::lesson_28_opencode_comes_back_as_it_was_and_remembers",
            "deaths::lesson_28_pi_comes_back_as_it_was_and_remembers",
        ],
    ),
    (
        "tells what it does and which conversation it is in",
        [
            "events::claude_tells_what_it_does",
            "events::codex_tells_what_it_does",
            "events::gemini_tells_what_it_does",
            "events::opencode_tells_what_it_does",
            "events::pi_tells_what_it_does",
        ],
    ),
    (
        "asks for permission, and `orange attention` shows it within 3 s",
        [
            "events::claude_waits_for_permission_and_it_shows",
            "events::codex_waits_for_permission_and_it_shows",
            "events::gemini_waits_for_permission_and_it_shows",
            "events::opencode_waits_for_permission_and_it_shows",
            "no: it has no permissions",
        ],
    ),
    (
        "confirms that it took a message in",
        [
            "messages::lesson_24_claude_takes_two_hundred_lines_in",
            "messages::lesson_24_codex_takes_two_hundred_lines_in",
            "messages::lesson_24_gemini_takes_two_hundred_lines_in",
            "messages::lesson_24_opencode_takes_two_hundred_lines_in",
            "messages::lesson_24_pi_takes_two_hundred_lines_in",
        ],
    ),
    (
        "is parked when it has no quota left",
        [
            "limits::lesson_40_claude_without_quota_is_parked",
            "limits::lesson_40_codex_without_quota_is_parked",
            "no: it offers another model in a dialog, and tells nobody",
            "limits::lesson_40_opencode_without_quota_is_parked",
            "limits::lesson_40_pi_without_quota_is_parked",
        ],
    ),
    (
        "is parked when it is not logged in",
        [
            "limits::claude_that_is_not_logged_in_is_parked",
            "limits::codex_that_is_not_logged_in_is_parked",
            "limits::gemini_that_is_not_logged_in_is_parked",
            "limits::opencode_that_is_not_logged_in_is_parked",
            "limits::pi_that_is_not_logged_in_is_parked",
        ],
    ),
    (
        "`orange doctor` sees what it would ask at first",
        [
            "readiness::claude_that_would_ask",
            "readiness::codex_that_would_ask",
            "readiness::gemini_that_would_ask",
            "readiness::opencode_that_would_ask",
            "readiness::pi_that_would_ask",
        ],
    ),
    (
        "is shown the skill that `orange install` writes",
        [
            "skills::claude_is_shown_the_skill",
            "skills::codex_is_shown_the_skill",
            "skills::gemini_is_shown_the_skill",
            "skills::opencode_is_shown_the_skill",
            "skills::pi_is_shown_the_skill",
        ],
    ),
    (
        "works headless to its report, and its result is read",
        [
            "headless::claude_reports_and_its_result_is_read",
            "headless::codex_reports_and_its_result_is_read",
            "headless::gemini_reports_and_its_result_is_read",
            "headless::opencode_reports_and_its_result_is_read",
            "headless::pi_reports_and_its_result_is_read",
        ],
    ),
    (
        "is parked when it has no quota left headless, and then goes on in its conversation",
        [
            "headless::lesson_40_claude_without_quota_is_parked_and_goes_on",
            "headless::lesson_40_codex_without_quota_is_parked_and_goes_on",
            "headless::lesson_40_gemini_without_quota_is_parked_and_goes_on",
            "headless::lesson_40_opencode_without_quota_is_parked_and_goes_on",
            "headless::lesson_40_pi_without_quota_is_parked_and_goes_on",
        ],
    ),
];

const OPENING: &str = "# Agents

What is shown for each agent by a test with the real program, in the version below, and a scripted \
model, without the internet. `just agents` runs these tests, and this page is written from what they \
showed (`just show-agents`). What each permission level means for an agent is in \
[harnesses/README.md](../harnesses/README.md).

";

const CLOSING: &str = "
Twenty tasks at once with all five come to their end in one test. Each test has a home of its own, an \
emptied environment and no way out of loopback: a file and a variable of the tester's that no agent \
may see are looked for in every request to the model, and packets that tried to leave are counted.

`goose` is not among them. Its package on npm, `@aaif/goose` 0.20.1, brings an early screen whose \
`--text` answers one prompt and ends, and an agent has to stay in its terminal; the program below it \
was not tried. A definition of your own may start it: [writing-a-harness.md](writing-a-harness.md).
";

/// The text of a cell: whether its test passed with the version in the column's header.
fn cell(by: &'static str, agent: &str) -> &'static str {
    if by.starts_with("no") {
        by
    } else if shown_with(by).contains(&versioned(agent)) {
        "yes"
    } else {
        "not shown in this version yet"
    }
}

fn page() -> String {
    let mut page = OPENING.to_owned();
    let heads = AGENTS.map(versioned);
    let _ = writeln!(page, "| | {} |", heads.join(" | "));
    let _ = writeln!(page, "|{}", "---|".repeat(AGENTS.len() + 1));
    for (what, shown) in ROWS {
        let cells = shown.iter().zip(AGENTS).map(|(by, agent)| cell(by, agent));
        let cells: Vec<&str> = cells.collect();
        let _ = writeln!(page, "| {what} | {} |", cells.join(" | "));
    }
    page.push_str(CLOSING);
    page
}

#[test]
fn the_page_says_what_the_tests_show() {
    let listed = Command::new(std::env::current_exe().unwrap())
        .arg("--list")
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    for (what, shown) in ROWS {
        for by in shown.iter().filter(|by| !by.starts_with("no")) {
            let line = format!("{by}: test");
            assert!(listed.lines().any(|it| it == line), "{what}: no test {by}");
        }
    }
    for test in shown() {
        let line = format!("{test}: test");
        let is_listed = listed.lines().any(|it| it == line);
        assert!(is_listed, "results.txt: no test {test}");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/agents.md");
    if std::env::var_os("ORANGE_WRITE_DOCS").is_some() {
        fs::write(&path, page()).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, page(), "run `just show-agents`, or `just docs`");
}
