//! Every command once: in words, as JSON, and refused.

use std::collections::BTreeSet;
use std::process::Output;

use serde_json::Value;

use crate::sandbox::every_command;
use crate::schema_check::judge;
use crate::support::Stage;

/// How a command is tested. All run on one stage, in this order.
struct CommandCase {
    command: &'static str,
    /// The arguments for a successful answer; or which test covers that.
    done: Result<&'static str, &'static str>,
    /// The same with JSON; `None` where there is no JSON to read.
    json: Option<&'static str>,
    /// The arguments of a refused call, and its error code.
    refused: (&'static str, &'static str),
}

const fn case(
    command: &'static str,
    done: &'static str,
    refused: (&'static str, &'static str),
) -> CommandCase {
    CommandCase {
        command,
        done: Ok(done),
        json: Some(done),
        refused,
    }
}

/// A command that answers in words only.
const fn in_words(
    command: &'static str,
    done: &'static str,
    refused: (&'static str, &'static str),
) -> CommandCase {
    CommandCase {
        json: None,
        ..case(command, done, refused)
    }
}

/// Covered by a test of this name, which also checks the schema.
const fn covered_elsewhere(
    command: &'static str,
    test: &'static str,
    refused: (&'static str, &'static str),
) -> CommandCase {
    CommandCase {
        command,
        done: Err(test),
        json: None,
        refused,
    }
}

const SERVER: &str = "a_server_needs_a_migrated_database_and_stops_when_asked_to";
const NO_DATABASE: (&str, &str) = ("--database nothing", "database-unusable");
const NO_TASK: (&str, &str) = ("nothing", "task-not-found");

const NO_PROJECT: (&str, &str) = ("--project tea", "project-not-found");

const TOO_MUCH: (&str, &str) = ("one two three", "usage");

const COMMANDS: &[CommandCase] = &[
    case("project add", "", ("/", "project-unusable")),
    case("project list", "", TOO_MUCH),
    case("project show", "app", ("tea", "project-not-found")),
    case(
        "project update",
        "--push false",
        ("tea --push true", "project-not-found"),
    ),
    case("workflow list", "", TOO_MUCH),
    case(
        "workflow show",
        "default",
        ("nothing", "workflow-not-found"),
    ),
    case(
        "workflow check",
        "default",
        ("nothing", "workflow-not-found"),
    ),
    case(
        "workflow graph",
        "default",
        ("nothing", "workflow-not-found"),
    ),
    case(
        "workflow diff",
        "default minimal",
        ("default nothing", "workflow-not-found"),
    ),
    case(
        "workflow simulate",
        "default",
        ("nothing", "workflow-not-found"),
    ),
    case("workflow schema", "", TOO_MUCH),
    CommandCase {
        json: Some("mine-too"),
        ..case("workflow new", "mine", ("default", "workflow-name-shipped"))
    },
    case(
        "schema",
        "orange.task.show/1",
        ("nothing", "schema-not-found"),
    ),
    in_words("completions", "bash", ("tcsh", "usage")),
    in_words("man", "", TOO_MUCH),
    case("config show", "", TOO_MUCH),
    case("workspace init", "1", ("99", "pool-too-small")),
    CommandCase {
        json: Some("two Second --no-spawn"),
        ..case(
            "task create",
            "one First --no-spawn",
            ("--pr 7", "no-forge"),
        )
    },
    case("task list", "", NO_PROJECT),
    case("harness list", "", TOO_MUCH),
    case("budget", "", TOO_MUCH),
    case("report", "", NO_PROJECT),
    case("harness unpark", "script", ("nobody", "harness-not-found")),
    covered_elsewhere(
        "install",
        "a_skill_describes_exactly_the_workflows_in_use",
        ("", "no-skills"),
    ),
    case("doctor", "", TOO_MUCH),
    case("forge status", "", NO_PROJECT),
    case("forge look", "", NO_TASK),
    covered_elsewhere(
        "issue list",
        "each_issue_is_listed_with_the_reason",
        ("", "no-forge"),
    ),
    covered_elsewhere(
        "issue show",
        "what_github_hides_is_shown",
        ("7", "no-forge"),
    ),
    covered_elsewhere(
        "issue approve",
        "an_approved_issue_becomes_a_task",
        ("7", "no-forge"),
    ),
    covered_elsewhere(
        "issue ignore",
        "an_ignored_text_is_not_started",
        ("7", "no-forge"),
    ),
    CommandCase {
        json: Some("@daily --command true --name two"),
        ..case(
            "job add",
            "@daily --command true --name one",
            ("@reboot --command true", "job-invalid"),
        )
    },
    case("job list", "", TOO_MUCH),
    case("job next", "one", ("nothing", "job-not-found")),
    case("job disable", "one", ("nothing", "job-not-found")),
    case("job enable", "one", ("nothing", "job-not-found")),
    case("job run", "one", ("nothing", "job-not-found")),
    CommandCase {
        json: Some("two"),
        ..case("job remove", "one", ("nothing", "job-not-found"))
    },
    CommandCase {
        json: Some("Two"),
        ..case(
            "note add",
            "One",
            ("One --project tea", "project-not-found"),
        )
    },
    case("note list", "", TOO_MUCH),
    case("note accept", "1", ("9", "note-not-found")),
    CommandCase {
        json: Some("2"),
        ..case("note reject", "1", ("9", "note-not-found"))
    },
    covered_elsewhere(
        "task pr",
        "a_pull_request_is_opened_and_shown",
        ("one", "no-forge"),
    ),
    case("task spawn", "one --wait 60", NO_TASK),
    case("task show", "one", NO_TASK),
    case("task why", "one", NO_TASK),
    case("task history", "one", NO_TASK),
    case("task logs", "one", ("two", "no-output")),
    case("task diff", "one", NO_TASK),
    case("task compare", "one two", ("one nothing", "task-not-found")),
    covered_elsewhere(
        "task keep",
        "one_task_is_kept_and_the_work_of_the_others_is_saved",
        ("one", "no-group"),
    ),
    case(
        "task wait",
        "one --until working",
        ("one --until nowhere", "status-not-found"),
    ),
    case(
        "task update",
        "one --summary Better",
        ("one --status nowhere", "status-not-found"),
    ),
    covered_elsewhere(
        "task attach",
        "attach_works_inside_another_server",
        ("two", "no-agent"),
    ),
    case("task path", "one", ("two", "no-worktree")),
    covered_elsewhere(
        "chat",
        "an_agent_talks_in_this_terminal",
        ("--harness nothing", "harness-not-found"),
    ),
    covered_elsewhere(
        "mcp",
        "every_tool_answers_what_its_command_answers",
        ("now", "usage"),
    ),
    covered_elsewhere(
        "task shell",
        "a_shell_opens_in_the_worktree",
        ("two", "no-worktree"),
    ),
    covered_elsewhere(
        "task edit",
        "the_editor_opens_the_worktree",
        ("two", "no-worktree"),
    ),
    case("task respawn", "--lost", ("two", "refused")),
    case("task stop", "one --wait 60", ("two", "refused")),
    covered_elsewhere(
        "task restart",
        "an_agent_is_restarted_in_its_worktree_and_its_conversation",
        ("two", "refused"),
    ),
    covered_elsewhere(
        "task stuck",
        "the_reason_for_stuck_is_shown",
        ("two", "refused"),
    ),
    case("task complete", "one --wait 60", ("two", "refused")),
    case("attention", "", TOO_MUCH),
    covered_elsewhere(
        "allow",
        "an_allowed_request_is_printed_in_full",
        ("nothing", "request-not-found"),
    ),
    covered_elsewhere(
        "deny",
        "the_agent_is_told_the_reason",
        ("nothing", "request-not-found"),
    ),
    covered_elsewhere(
        "task tell",
        "changes_are_requested_and_messages_written",
        ("two -m Hello", "refused"),
    ),
    case(
        "task request-changes",
        "one -m More --wait 60",
        ("two -m More", "refused"),
    ),
    covered_elsewhere(
        "task retry",
        "retry_takes_the_verb_where_nothing_failed",
        NO_TASK,
    ),
    case("task unblock", "--all", ("two", "refused")),
    case("inbox", "one", NO_TASK),
    case("task merge", "one --yes --wait 60", ("two", "not-started")),
    case("task cancel", "two --wait 60", NO_TASK),
    covered_elsewhere(
        "task reopen",
        "a_cancelled_task_continues_with_its_branch_and_its_uncommitted_work",
        ("one", "refused"),
    ),
    case("task restore", "two", ("two 7", "rescue-not-found")),
    case("workspace list", "", NO_PROJECT),
    case("workspace gc", "", NO_PROJECT),
    covered_elsewhere(
        "workspace remove",
        "an_idle_workspace_is_removed_and_nothing_else",
        ("tea--1", "workspace-not-found"),
    ),
    case("log", "", ("--task nothing", "task-not-found")),
    case("rebuild", "--move-aside", ("", "database-exists")),
    CommandCase {
        json: Some("one --yes"),
        ..case("task delete", "two --yes", ("one", "not-confirmed"))
    },
    covered_elsewhere(
        "runner join",
        "a_home_joins_once_and_only_without_tasks_of_its_own",
        ("", "usage"),
    ),
    covered_elsewhere("runner run", "a_runner_needs_its_token", TOO_MUCH),
    covered_elsewhere("runner status", "a_runner_says_what_it_does", TOO_MUCH),
    covered_elsewhere("runner drain", "draining_can_be_undone", TOO_MUCH),
    covered_elsewhere(
        "runner leave",
        "a_home_that_has_left_is_independent",
        TOO_MUCH,
    ),
    covered_elsewhere("serve", "a_second_supervisor_is_refused", TOO_MUCH),
    covered_elsewhere("server run", SERVER, NO_DATABASE),
    covered_elsewhere("server migrate", SERVER, NO_DATABASE),
    covered_elsewhere("server code", SERVER, NO_DATABASE),
    covered_elsewhere(
        "web",
        "rows_29_30_it_listens_on_one_address_and_takes_no_other_port",
        ("--port x", "usage"),
    ),
    case("web pair", "phone", ("../x", "name-invalid")),
    case("web devices", "", TOO_MUCH),
    covered_elsewhere(
        "web revoke",
        "rows_31_44_a_revoked_device_is_refused_and_its_streams_end",
        ("tablet", "device-not-found"),
    ),
    case("web webhook", "", ("--off --new", "usage")),
    in_words("web openapi", "", TOO_MUCH),
    covered_elsewhere(
        "demo",
        "the_demo_ends_with_two_merges_and_removes_its_home",
        TOO_MUCH,
    ),
    covered_elsewhere(
        "uninstall",
        "unmerged_and_uncommitted_work_survives_an_uninstall",
        ("", "not-confirmed"),
    ),
    CommandCase {
        json: None,
        ..case("project remove", "app", ("tea", "project-not-found"))
    },
    covered_elsewhere(
        "sandbox explain",
        "what_an_agent_sees_is_explained_before_and_while_it_runs",
        NO_TASK,
    ),
    covered_elsewhere(
        "sandbox shell",
        "a_shell_is_where_the_agent_works_and_its_commits_count",
        NO_TASK,
    ),
    covered_elsewhere(
        "sandbox port",
        "a_port_leads_to_a_server_inside_and_nowhere_else",
        ("nothing 80", "task-not-found"),
    ),
    covered_elsewhere(
        "sandbox try",
        "attempts_succeed_without_a_sandbox_and_fail_inside",
        TOO_MUCH,
    ),
];

/// It prints nothing and refuses nothing, so that it never delays an agent; tested in
/// `agent_event`.
const SILENT: &str = "agent-event";

/// Tests that the table relies on.
const TESTS: &[&str] = &[
    include_str!("../server_run.rs"),
    include_str!("../../effects/attach.rs"),
    include_str!("../../driver/dashboard/mod.rs"),
    include_str!("../../mcp/tools.rs"),
    include_str!("../../web/attacks.rs"),
    include_str!("../../web/devices.rs"),
    include_str!("../allow.rs"),
    include_str!("../demo.rs"),
    include_str!("../deny.rs"),
    include_str!("../install.rs"),
    include_str!("../issue_approve.rs"),
    include_str!("../issue_ignore.rs"),
    include_str!("../chat.rs"),
    include_str!("../issue_list.rs"),
    include_str!("../issue_show.rs"),
    include_str!("../job_add.rs"),
    include_str!("../job_disable.rs"),
    include_str!("../job_enable.rs"),
    include_str!("../job_list.rs"),
    include_str!("../job_next.rs"),
    include_str!("../job_remove.rs"),
    include_str!("../job_run.rs"),
    include_str!("../note_accept.rs"),
    include_str!("../note_add.rs"),
    include_str!("../note_list.rs"),
    include_str!("../note_reject.rs"),
    include_str!("../task_edit.rs"),
    include_str!("../task_keep.rs"),
    include_str!("../task_pr.rs"),
    include_str!("../task_reopen.rs"),
    include_str!("../task_restart.rs"),
    include_str!("../task_retry.rs"),
    include_str!("../task_shell.rs"),
    include_str!("../task_stuck.rs"),
    include_str!("../uninstall.rs"),
    include_str!("../runner_drain.rs"),
    include_str!("../runner_join.rs"),
    include_str!("../runner_leave.rs"),
    include_str!("../runner_run.rs"),
    include_str!("../runner_status.rs"),
    include_str!("../workspace_remove.rs"),
    include_str!("codes.rs"),
    include_str!("../../sandbox/sandbox_commands.rs"),
];

fn words<'a>(command: &'a str, arguments: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words = command.split(' ').chain(arguments.split(' '));
    let words = words.filter(|word| !word.is_empty());
    words.chain(more.iter().copied()).collect()
}

fn answer(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    // A log has one answer per line.
    let first = text.lines().next().unwrap_or_default();
    let answer = serde_json::from_str(&text).or_else(|_| serde_json::from_str(first));
    let answer = answer.unwrap_or_else(|error| panic!("{error}: {output:?}"));
    judge(&answer);
    answer
}

#[test]
fn every_command_answers_people_and_programs_and_refuses() {
    let stage = Stage::new("minimal");
    let works = "echo I am here; commit one; echo 'DONE: one' | section Handoff";
    stage.script("worker-1", works);
    stage.script("worker-2", works);
    for tried in COMMANDS {
        let CommandCase {
            command, refused, ..
        } = tried;
        let run = |arguments: &str, more: &[&str]| {
            let words = words(command, arguments, more);
            (words.join(" "), stage.orange(&words).output().unwrap())
        };
        let (line, output) = run(refused.0, &["--json"]);
        let refusal = answer(&output);
        assert_eq!(refusal["error"]["code"], refused.1, "{line}: {refusal}");
        assert_ne!(output.status.code(), Some(0), "{line}");
        let (line, output) = run(refused.0, &[]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.starts_with("error: "), "{line}: {text}");
        assert!(text.contains("\nhint: "), "{line}: what to do next? {text}");
        let Ok(done) = tried.done else {
            continue;
        };
        let (line, output) = run(done, &[]);
        assert_eq!(output.status.code(), Some(0), "{line}: {output:?}");
        assert!(!output.stdout.is_empty(), "{line}");
        // The agent's next turn must be complete before a call depends on it.
        let turn = match *command {
            "task spawn" => Some("worker-1"),
            "task request-changes" => Some("worker-2"),
            _ => None,
        };
        if let Some(turn) = turn {
            stage.wait_for_turn(turn);
        }
        if let Some(json) = tried.json {
            let (line, output) = run(json, &["--json"]);
            let answered = answer(&output);
            assert_eq!(output.status.code(), Some(0), "{line}: {answered}");
            assert!(output.stderr.is_empty(), "{line}: {output:?}");
        }
    }
}

#[test]
fn no_command_is_left_out() {
    let stage = Stage::new("default");
    let commands = every_command(|line| stage.run_ok(&line.split(' ').collect::<Vec<_>>()));
    let commands = commands.iter().map(String::as_str);
    let commands: BTreeSet<&str> = commands.filter(|it| *it != SILENT).collect();
    let tried: BTreeSet<&str> = COMMANDS.iter().map(|it| it.command).collect();
    assert_eq!(tried, commands);
    assert_eq!(COMMANDS.len(), commands.len(), "a command appears twice");
    for test in COMMANDS.iter().filter_map(|it| it.done.err()) {
        let mut texts = TESTS.iter();
        let is_there = |text: &&str| text.contains(&format!("fn {test}"));
        assert!(texts.any(is_there), "there is no test `{test}`");
    }
}
