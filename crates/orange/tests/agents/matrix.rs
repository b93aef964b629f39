//! The page that lists what is tested for which agent.
//!
//! Each cell names the test that covers it, or says why there is none. The page is generated from
//! test results: `results.txt` says with which version each test has passed. A cell whose test does
//! not exist fails here, and one that has not passed with the pinned version says so on the page.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::report::{name_with_version, passed_versions, shown};

const AGENTS: [&str; 5] = ["claude", "codex", "gemini", "opencode", "pi"];

/// A capability, and each agent's test for it; a text that begins with `no` is a reason.
const ROWS: [(&str, [&str; 5]); 22] = [
    (
        "works from the plan to the merge, with full permissions",
        [
            "stories::claude_works_and_codex_reviews",
            "stories::codex_works_and_gemini_reviews",
            "stories::gemini_works_and_opencode_reviews",
            "stories::opencode_works_and_pi_reviews",
            "stories::pi_works_and_claude_reviews",
        ],
    ),
    (
        "does the same in a sandbox, and rebases there",
        [
            "stories::claude_works_in_a_sandbox_and_codex_reviews",
            "stories::codex_works_in_a_sandbox_and_gemini_reviews",
            "stories::gemini_works_in_a_sandbox_and_opencode_reviews",
            "stories::opencode_works_in_a_sandbox_and_pi_reviews",
            "stories::pi_works_in_a_sandbox_and_claude_reviews",
        ],
    ),
    (
        "is respawned in a sandbox, and remembers the conversation",
        [
            "respawn::claude_comes_back_in_a_sandbox",
            "respawn::codex_comes_back_in_a_sandbox",
            "respawn::gemini_comes_back_in_a_sandbox",
            "respawn::opencode_comes_back_in_a_sandbox",
            "respawn::pi_comes_back_in_a_sandbox",
        ],
    ),
    (
        "runs headless in a sandbox",
        [
            "headless::claude_reports_in_a_sandbox",
            "headless::codex_reports_in_a_sandbox",
            "headless::gemini_reports_in_a_sandbox",
            "headless::opencode_reports_in_a_sandbox",
            "headless::pi_reports_in_a_sandbox",
        ],
    ),
    (
        "reviews, with a reviewer's permissions",
        [
            "stories::pi_works_and_claude_reviews",
            "stories::claude_works_and_codex_reviews",
            "stories::codex_works_and_gemini_reviews",
            "stories::gemini_works_and_opencode_reviews",
            "stories::opencode_works_and_pi_reviews",
        ],
    ),
    (
        "commits and calls `orange` without asking, with reduced permissions",
        [
            "permission_levels::claude_with_reduced_permissions",
            "permission_levels::codex_with_reduced_permissions",
            "permission_levels::gemini_with_reduced_permissions",
            "permission_levels::opencode_with_reduced_permissions",
            "no: it has no permissions to reduce",
        ],
    ),
    (
        "posts nothing to a forge as a reviewer, whatever its model wants",
        [
            "forge::claude_posts_nothing_as_a_reviewer",
            "forge::codex_posts_nothing_as_a_reviewer",
            "forge::gemini_posts_nothing_as_a_reviewer",
            "forge::opencode_posts_nothing_as_a_reviewer",
            "no: it has no permissions to reduce",
        ],
    ),
    (
        "reads a message of 200 lines that arrives while it waits",
        [
            "stories::claude_works_and_codex_reviews",
            "stories::codex_works_and_gemini_reviews",
            "stories::gemini_works_and_opencode_reviews",
            "stories::opencode_works_and_pi_reviews",
            "stories::pi_works_and_claude_reviews",
        ],
    ),
    (
        "is respawned after it was killed in the middle of a turn",
        [
            "respawn::lesson_28_claude_comes_back_as_it_was_and_remembers",
            "respawn::lesson_28_codex_comes_back_as_it_was_and_remembers",
            "respawn::lesson_28_gemini_comes_back_as_it_was_and_remembers",
            "respawn::lesson_28_opencode_comes_back_as_it_was_and_remembers",
            "respawn::lesson_28_pi_comes_back_as_it_was_and_remembers",
        ],
    ),
    (
        "then remembers the conversation",
        [
            "respawn::lesson_28_claude_comes_back_as_it_was_and_remembers",
            "respawn::lesson_28_codex_comes_back_as_it_was_and_remembers",
            "respawn::lesson_28_gemini_comes_back_as_it_was_and_remembers",
            "respawn::lesson_28_opencode_comes_back_as_it_was_and_remembers",
            "respawn::lesson_28_pi_comes_back_as_it_was_and_remembers",
        ],
    ),
    (
        "reports what it is doing, and its conversation's id",
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
        "gets your answer from `orange allow` or `orange deny` within 1 s",
        [
            "permission::claude_is_allowed_and_denied",
            "permission::codex_is_allowed_and_denied",
            "no: you answer in its terminal",
            "no: you answer in its terminal",
            "no: it has no permissions",
        ],
    ),
    (
        "asks in its own terminal if you do not answer",
        [
            "permission::claude_without_an_answer_asks_in_its_terminal",
            "permission::codex_without_an_answer_asks_in_its_terminal",
            "not needed: it asks only there",
            "not needed: it asks only there",
            "no: it has no permissions",
        ],
    ),
    (
        "confirms that it received a message",
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
            "no: it offers another model in a dialog, and reports nothing",
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
        "`orange doctor` detects first-run questions",
        [
            "readiness::claude_that_would_ask",
            "readiness::codex_that_would_ask",
            "readiness::gemini_that_would_ask",
            "readiness::opencode_that_would_ask",
            "readiness::pi_that_would_ask",
        ],
    ),
    (
        "sees the skill that `orange install` writes",
        [
            "skills::claude_is_shown_the_skill",
            "skills::codex_is_shown_the_skill",
            "skills::gemini_is_shown_the_skill",
            "skills::opencode_is_shown_the_skill",
            "skills::pi_is_shown_the_skill",
        ],
    ),
    (
        "creates and reads tasks with the tools of `orange mcp`",
        [
            "mcp::claude_creates_and_reads_tasks",
            "mcp::codex_creates_and_reads_tasks",
            "mcp::gemini_creates_and_reads_tasks",
            "mcp::opencode_creates_and_reads_tasks",
            "no: it has no MCP",
        ],
    ),
    (
        "runs headless up to its report, and orange reads its result",
        [
            "headless::claude_reports_and_its_result_is_read",
            "headless::codex_reports_and_its_result_is_read",
            "headless::gemini_reports_and_its_result_is_read",
            "headless::opencode_reports_and_its_result_is_read",
            "headless::pi_reports_and_its_result_is_read",
        ],
    ),
    (
        "is parked when a headless run has no quota left, then continues its conversation",
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

What is tested with each agent: the real program, in the version below, with a scripted model and \
without internet access. `just agents` runs these tests, and `just show-agents` writes this page \
from their results. [harnesses/README.md](../harnesses/README.md) says what each permission level \
means for an agent.

";

const CLOSING: &str = "
One test runs twenty tasks at once with all five agents, until every task has ended. Another one \
takes an issue on a scripted GitHub to a merged pull request, with claude and codex, and searches \
the processes and files of both for the token. Each test has its own home, an empty environment \
and only the loopback network. The tests plant a file and a variable that no agent may see, search \
every request to the model for them, and count the packets that tried to leave.

`goose` is not tested. Its npm package, `@aaif/goose` 0.20.1, contains an early terminal \
interface whose `--text` answers one prompt and exits, but an agent must stay in its terminal; \
the program underneath was not tried. You can define it yourself: \
[writing-a-harness.md](writing-a-harness.md).
";

/// The text of a cell: whether its test passed with the version in the column's header.
fn cell(by: &'static str, agent: &str) -> &'static str {
    if by.starts_with("no") {
        by
    } else if passed_versions(by).contains(&name_with_version(agent)) {
        "yes"
    } else {
        "not tested with this version yet"
    }
}

fn page() -> String {
    let mut page = OPENING.to_owned();
    let heads = AGENTS.map(name_with_version);
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
fn the_documentation_matches_the_test_results() {
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
