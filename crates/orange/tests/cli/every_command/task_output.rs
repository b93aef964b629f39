//! Every command that prints: narrow, piped, plain, coloured, unread.

use std::collections::BTreeSet;
use std::io;
use std::process::Output;

use crate::sandbox::every_command;
use crate::support::{Stage, Terminal};

/// Commands about tasks, projects and workspaces, as they are typed; each answers with 0.
const LINES: &[&str] = &[
    "task list",
    "task show fix",
    "task why fix",
    "task history fix",
    "task logs fix",
    "task diff fix",
    "task compare fix",
    "task path fix",
    "task restore fix",
    "task wait fix --until working",
    "task update fix --status working",
    "task spawn fix",
    "project list",
    "project show app",
    "workspace list",
    "workspace gc",
    "harness list",
    "budget",
    "report",
    "inbox fix",
    "log",
    "config show",
    "sandbox explain fix",
];

/// The other commands, with where they are tested or why they need not be.
const ELSEWHERE: &[(&str, &str)] = &[
    ("task create", "answers as `task update` does"),
    ("task respawn", "answers as `task update` does"),
    ("task stop", "answers as `task update` does"),
    ("task restart", "answers as `task update` does"),
    ("task reopen", "answers as `task update` does"),
    ("task complete", "answers as `task update` does"),
    ("task stuck", "answers as `task update` does"),
    ("task request-changes", "answers as `task update` does"),
    ("forge look", "tried in `forge_look`"),
    ("forge status", "tried in `forge_status`"),
    ("issue list", "tried in `issue_list`"),
    ("issue show", "tried in `issue_show`"),
    ("issue approve", "answers as `task update` does"),
    ("issue ignore", "tried in `issue_ignore`"),
    ("job add", "prints no task"),
    ("job list", "tried in `job_list`"),
    ("job enable", "prints no task"),
    ("job disable", "prints no task"),
    ("job next", "prints no task"),
    ("job remove", "prints no task"),
    ("job run", "tried in `job_run`"),
    ("note add", "prints no task"),
    ("note list", "tried in `note_list`"),
    ("note accept", "prints no task"),
    ("note reject", "prints no task"),
    ("task pr", "tried in `task_pr`"),
    ("task merge", "answers as `task update` does"),
    ("task cancel", "answers as `task update` does"),
    ("task keep", "tried in `task_keep`"),
    ("task retry", "answers as `task update` does"),
    ("task unblock", "answers as `task update` does"),
    ("task delete", "tried at a terminal in `task_delete`"),
    ("task attach", "becomes tmux"),
    ("task shell", "becomes a shell"),
    ("task edit", "becomes an editor"),
    ("project add", "answers as `project show` does"),
    ("project update", "answers as `project show` does"),
    ("project remove", "its transcript is in `project_remove`"),
    ("workspace init", "answers as `workspace list` does"),
    ("workspace remove", "tried in `workspace_remove`"),
    ("uninstall", "its transcript is in `uninstall`"),
    ("task tell", "answers as `task update` does"),
    ("attention", "its transcript is in `parking`"),
    ("allow", "its output is in `allow`"),
    ("deny", "its output is in `deny`"),
    ("agent-event", "says nothing"),
    ("install", "its transcript is in `install`"),
    ("harness unpark", "its transcript is in `parking`"),
    (
        "doctor",
        "asks the agents that are installed; tried in the tests of agents",
    ),
    ("workflow list", "tried in the tests of the commands"),
    ("workflow show", "tried in the tests of the commands"),
    ("workflow check", "tried in the tests of the commands"),
    ("workflow graph", "tried in the tests of the commands"),
    ("workflow new", "tried in the tests of the commands"),
    ("workflow schema", "tried in the tests of the commands"),
    ("workflow diff", "tried in the tests of the commands"),
    ("workflow simulate", "tried in the tests of the commands"),
    ("schema", "tried in the tests of the commands"),
    ("completions", "tried in the tests of the commands"),
    ("man", "tried in the tests of the commands"),
    ("sandbox shell", "becomes a shell"),
    ("sandbox port", "tried in `sandbox_commands`"),
    ("sandbox try", "tried in `sandbox_commands`"),
    ("chat", "becomes an agent"),
    ("mcp", "answers a client, in `tests/mcp`"),
    ("serve", "answers in a line"),
    ("server code", "answers with a secret"),
    ("server migrate", "needs a database"),
    ("server run", "needs a database"),
    ("runner join", "answers in a line"),
    ("runner run", "answers in a line"),
    ("runner status", "tried in `runner_status`"),
    ("runner drain", "answers in a line"),
    ("runner leave", "answers in a line"),
    ("web", "answers in a line"),
    ("web devices", "answers in a line per device"),
    ("web openapi", "answers in JSON alone"),
    ("web pair", "answers in a line"),
    ("web revoke", "answers in a line"),
    ("web webhook", "answers with a secret"),
    ("demo", "tried in `demo`"),
    ("rebuild", "its transcript is in `rebuild`"),
];

/// Output of other programs is shown unchanged, byte for byte and line for line: wrapping would
/// alter a diff or a screen.
const FOREIGN: &[&str] = &["task logs", "task diff"];

/// Right-to-left text, which must not mix with the text around it.
const SUMMARY: &str = "שלום עולם, מימין לשמאל, ועוד הרבה מילים שאינן נכנסות בשורה אחת";

/// A task with a branch, an agent, a history, and stored output.
fn stage() -> Stage {
    let stage = Stage::new("minimal");
    stage.script("worker-1", "echo I am here; commit one; ask task show");
    stage.create(&["fix", SUMMARY]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    stage
}

fn run(stage: &Stage, line: &str, variables: &[(&str, &str)]) -> Output {
    let words: Vec<&str> = line.split(' ').collect();
    let mut orange = stage.orange(&words);
    let output = orange.envs(variables.iter().copied()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{line}: {output:?}");
    output
}

#[test]
fn no_command_is_left_out() {
    let stage = Stage::new("default");
    let commands = every_command(|line| stage.run_ok(&line.split(' ').collect::<Vec<_>>()));
    let commands: BTreeSet<&str> = commands.iter().map(String::as_str).collect();
    let tried = |command: &str| {
        let mut lines = LINES.iter();
        lines.any(|line| *line == command || line.starts_with(&format!("{command} ")))
    };
    for command in &commands {
        let is_elsewhere = ELSEWHERE.iter().any(|(name, _)| name == command);
        assert!(tried(command) != is_elsewhere, "`{command}` is in one list");
    }
    for (name, _) in ELSEWHERE {
        assert!(commands.contains(name), "`{name}` is no command any more");
    }
}

#[test]
fn piped_output_is_not_cut_coloured_or_reordered() {
    let stage = stage();
    let has_colour = |output: &Output| {
        let both = [output.stdout.clone(), output.stderr.clone()].concat();
        both.contains(&b'\x1b')
    };
    for line in LINES {
        let plain = run(&stage, line, &[]);
        assert!(!has_colour(&plain), "{line}");
        let text = String::from_utf8(plain.stdout).unwrap();
        assert!(!text.is_empty(), "{line}");
        assert!(!text.contains(['\u{2068}', '\u{2069}']), "{line}: {text}");
        for variables in [
            &[("NO_COLOR", "1")][..],
            &[("CLICOLOR", "1")],
            &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")],
            &[("COLUMNS", "20"), ("LANG", "C")],
        ] {
            assert!(!has_colour(&run(&stage, line, variables)), "{line}");
        }
        let coloured = run(&stage, line, &[("CLICOLOR_FORCE", "1")]);
        let is_foreign = FOREIGN.iter().any(|it| line.starts_with(it));
        assert!(
            has_colour(&coloured) || is_foreign || is_plain(&text),
            "{line}"
        );
    }
    for line in ["task list", "task show fix", "task why fix"] {
        let text = String::from_utf8(run(&stage, line, &[]).stdout).unwrap();
        assert!(
            text.contains(SUMMARY) || line.contains("why"),
            "{line}: {text}"
        );
    }
}

/// A single sentence has nothing to colour.
fn is_plain(text: &str) -> bool {
    text.lines().count() == 1
}

#[test]
fn a_locale_without_unicode_gets_only_ascii() {
    let stage = stage();
    for line in LINES {
        let output = run(&stage, line, &[("LANG", "C")]);
        let text = String::from_utf8(output.stdout).unwrap();
        // The user's own text stays unchanged.
        let own = text.replace(SUMMARY, "");
        let strange: Vec<char> = own.chars().filter(|it| "●○✗…→·".contains(*it)).collect();
        assert!(strange.is_empty(), "{line}: {strange:?} in {text}");
    }
}

#[test]
fn a_closed_output_is_not_a_failure() {
    let stage = stage();
    for line in LINES {
        let words: Vec<&str> = line.split(' ').collect();
        for words in [words.clone(), [&words[..], &["--json"]].concat()] {
            let (reader, writer) = io::pipe().unwrap();
            drop(reader);
            let output = stage.orange(&words).stdout(writer).output().unwrap();
            let text = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{words:?}: {text}");
            assert!(!text.contains("error"), "{words:?}: {text}");
        }
    }
}

#[test]
fn every_answer_fits_into_sixty_columns() {
    let stage = stage();
    // Paths cannot be shortened, and a wrapped command cannot be copied.
    let is_whole = |line: &str| line.contains('/') || line.contains("run: orange ");
    for (number, line) in LINES.iter().enumerate() {
        let name = format!("t{number}");
        let terminal = Terminal::start(&stage, &name, 60, &format!("orange {line}"));
        let screen = terminal.finish();
        assert!(screen.contains("[exit 0]"), "{line}: {screen}");
        // A line that the terminal had to wrap is only whole when it is joined.
        let joined = terminal.unwrapped_screen();
        let is_foreign = FOREIGN.iter().any(|it| line.starts_with(it));
        let broken = joined.lines().filter(|it| !screen.contains(it));
        for shown in broken.filter(|_| !is_foreign) {
            assert!(is_whole(shown), "{line}: {shown}");
        }
        assert_each_line_is_apart(line, &terminal.all_output());
    }
}

/// Every line with right-to-left text opens and closes its isolation marks.
fn assert_each_line_is_apart(line: &str, written: &str) {
    let turned = written.lines().filter(|it| it.contains(['ש', 'ה', 'א']));
    for shown in turned {
        let (begun, ended) = (shown.matches('\u{2068}'), shown.matches('\u{2069}'));
        assert_eq!(begun.count(), 1, "{line}: {shown:?}");
        assert_eq!(ended.count(), 1, "{line}: {shown:?}");
    }
}
