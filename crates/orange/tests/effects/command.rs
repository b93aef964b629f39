//! Starting programs: input, output, and how they end.

use std::time::Duration;

use orange_effects::command::{CommandExit, Invocation};

use crate::stage::{is_running, variables, wait_for};

fn sh(script: &str) -> Invocation {
    Invocation::new("sh", variables(&[])).arguments(["-c", script])
}

fn stdout_of(invocation: &Invocation) -> String {
    String::from_utf8(invocation.require_success().unwrap().stdout.bytes).unwrap()
}

#[test]
fn lesson_29_only_the_given_variables_arrive() {
    let env = Invocation::new("env", variables(&[("A", "1\n2")]));
    let output = stdout_of(&env);
    let names: Vec<&str> = output
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|it| it.0)
        .collect();
    assert_eq!(names, ["A", "PATH"]);
}

#[test]
fn arguments_are_not_interpreted() {
    let hostile = [
        "$(id)",
        "`id`",
        "a b",
        "'\"",
        "*",
        "-n",
        "",
        "\n",
        ";",
        "ä🦀",
        "\u{1b}[31m",
    ];
    let program = sh("printf '%s\\0' \"$@\"")
        .arguments(["sh"])
        .arguments(hostile);
    let parts = stdout_of(&program);
    let parts: Vec<&str> = parts.trim_end_matches('\0').split('\0').collect();
    assert_eq!(parts, hostile);
}

#[test]
fn every_byte_comes_back_within_the_bound() {
    let input: Vec<u8> = (0..=255).cycle().take(4 * 1024 * 1024).collect();
    let cat = Invocation::new("cat", variables(&[])).input(input.clone());
    let finished = cat.run().unwrap();
    assert!(finished.stdout.bytes == input && !finished.stdout.is_truncated);
    let cut = cat.limit(1000).run().unwrap();
    assert_eq!(
        cut.ending,
        CommandExit::Code(0),
        "a full buffer must not block the program"
    );
    assert!(cut.stdout.bytes == input[..1000] && cut.stdout.is_truncated);
}

#[test]
fn unread_input_is_not_a_failure() {
    let finished = Invocation::new("true", variables(&[])).input(vec![0; 1024 * 1024]);
    assert_eq!(finished.run().unwrap().ending, CommandExit::Code(0));
}

#[test]
fn an_exit_status_is_data() {
    assert_eq!(sh("exit 7").run().unwrap().ending, CommandExit::Code(7));
    assert_eq!(
        sh("kill -9 $$").run().unwrap().ending,
        CommandExit::Signal(9)
    );
    let directory = sh("pwd").directory("/");
    assert_eq!(stdout_of(&directory), "/\n");
}

#[test]
fn a_timeout_ends_the_whole_group() {
    // The child ignores a signal that the parent does not.
    let script = "sh -c 'trap \"\" TERM; echo $$; sleep 1000; sleep 1000' & sleep 1000";
    let slow = sh(script).timeout(Duration::from_millis(300));
    let finished = slow.run().unwrap();
    assert_eq!(
        finished.ending,
        CommandExit::TimedOut(Duration::from_millis(300))
    );
    let child = String::from_utf8(finished.stdout.bytes).unwrap();
    let child = child.trim().parse().unwrap();
    wait_for("the child to go", || !is_running(child));
    let message = slow.require_success().unwrap_err().to_string();
    assert!(message.contains("timed out after 300 ms"), "{message}");
}

#[test]
fn an_error_says_what_was_run_and_no_secret() {
    let secret = variables(&[("TOKEN", "hunter2")]);
    let failing = Invocation::new("sh", secret.clone())
        .arguments(["-c", "echo 'no such\nbranch' >&2; exit 4"])
        .input("hunter2");
    let message = failing.require_success().unwrap_err().to_string();
    assert!(message.starts_with("`sh -c echo 'no such branch' >&2; exit 4` exited with code 4"));
    assert!(message.ends_with(": no such branch"), "{message}");
    assert!(!format!("{message} {failing:?}").contains("hunter2"));

    let missing = Invocation::new("no-such-program", secret.clone())
        .run()
        .unwrap_err();
    assert!(
        missing
            .to_string()
            .contains("`no-such-program`: the program was not found")
    );
    let nowhere = Invocation::new("true", secret).directory("/nowhere");
    let nowhere = nowhere.run().unwrap_err().to_string();
    assert!(!nowhere.contains("not found;"), "{nowhere}");
}

#[test]
fn a_program_with_endless_output_times_out() {
    let finished = sh("exec yes")
        .limit(1000)
        .timeout(Duration::from_millis(300));
    let finished = finished.run().unwrap();
    assert!(
        matches!(finished.ending, CommandExit::TimedOut(_)),
        "{:?}",
        finished.ending
    );
    assert!(finished.stdout.is_truncated && finished.stdout.bytes.len() == 1000);
}

#[test]
fn the_output_is_complete_on_a_busy_machine() {
    // More threads than any machine has cores, so that readers are late.
    std::thread::scope(|scope| {
        for _ in 0..48 {
            scope.spawn(|| {
                for _ in 0..8 {
                    let finished = sh("head -c 60000 /dev/zero; echo end >&2").run().unwrap();
                    assert_eq!(finished.stdout.bytes.len(), 60000);
                    assert_eq!(finished.stderr.bytes, b"end\n");
                }
            });
        }
    });
}

#[test]
fn late_output_of_child_processes_is_not_awaited() {
    let finished = sh("(sleep 5; echo late) & echo early").run().unwrap();
    assert_eq!(finished.stdout.bytes, b"early\n");
}
