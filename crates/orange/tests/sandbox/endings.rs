//! `orange exec-run` ends as its agent ends, with and without a sandbox.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::thread;

use orange_effects::run::exec_failure;

use crate::fixture::{ALL, Around, Fixture, ending};

/// The signals that end a program by default.
const TERMINATING: [i32; 24] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 24, 25, 26, 27, 29, 30, 31, 34,
];

/// Runs each script in a pane of its own, a few at once; returns the endings in their order.
fn endings(scripts: &[String], around: Around) -> Vec<i32> {
    let fixture = Fixture::new();
    let next = Mutex::new(0);
    let found = Mutex::new(vec![None; scripts.len()]);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let index = {
                        let mut next = next.lock().unwrap();
                        *next += 1;
                        *next - 1
                    };
                    let Some(script) = scripts.get(index) else {
                        return;
                    };
                    let status = fixture.output(script, around).status;
                    found.lock().unwrap()[index] = Some(ending(status));
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    found.into_iter().map(Option::unwrap).collect()
}

#[test]
fn every_exit_code_is_the_agents_own() {
    let scripts: Vec<String> = (0..256).map(|code| format!("exit {code}")).collect();
    let expected: Vec<i32> = (0..256).collect();
    for around in ALL {
        assert_eq!(endings(&scripts, around), expected, "{around:?}");
    }
}

#[test]
fn every_signal_is_the_agents_own() {
    let last = TERMINATING.iter().copied().chain([35, 50, 64]);
    let expected: Vec<i32> = last.map(|signal| -signal).collect();
    let scripts: Vec<String> = expected
        .iter()
        .map(|signal| format!("ulimit -c 0; kill {signal} $$"))
        .collect();
    for around in ALL {
        assert_eq!(endings(&scripts, around), expected, "{around:?}");
    }
}

/// The run file of a program that is not `sh`.
fn with_program(fixture: &Fixture, program: &Path, around: Around) -> std::path::PathBuf {
    let file = fixture.run_file("", around);
    let text = fs::read_to_string(&file).unwrap();
    let program = format!("\"program\":{:?}", program.display().to_string());
    let text = text.replace("\"program\":\"/bin/sh\"", &program);
    fs::write(&file, text).unwrap();
    file
}

#[test]
fn a_program_that_cannot_be_started_is_reported_alike() {
    let fixture = Fixture::new();
    let unreadable = fixture.path("w/not-a-program");
    fs::write(&unreadable, "").unwrap();
    for (program, is_missing) in [(fixture.path("w/missing"), true), (unreadable, false)] {
        let mut outputs = Vec::new();
        for around in ALL {
            let file = with_program(&fixture, &program, around);
            let output = fixture.exec_run(&file).output().unwrap();
            let failure = exec_failure(&file).unwrap();
            assert_eq!(failure.is_missing, is_missing, "{around:?}");
            let stderr = String::from_utf8(output.stderr).unwrap();
            // The arguments have the number of the run in them.
            let stderr: Vec<&str> = stderr.split_whitespace().collect();
            let stderr: Vec<&str> = stderr
                .into_iter()
                .filter(|word| !word.contains("script-") && !word.contains("prompt.md"))
                .collect();
            outputs.push((output.status.code(), stderr.join(" ")));
        }
        assert_eq!(outputs[0], outputs[1]);
        assert_eq!(outputs[0], outputs[2]);
        assert_eq!(outputs[0], outputs[3]);
        assert_eq!(outputs[0].0, Some(6));
        assert!(outputs[0].1.contains("cannot run"), "{outputs:?}");
    }
}

#[test]
fn arguments_variables_and_directory_are_the_same() {
    let fixture = Fixture::new();
    let script = "echo \"$#\"; pwd; env | grep -v ^_= | sort; cat; ls /proc/self/fd | wc -l";
    let [bare, inside, partial, freezable] = ALL.map(|around| {
        let text = fixture.printed(script, around);
        let own = |line: &&str| !line.starts_with("ORANGE_RUN_ID=");
        text.lines().filter(own).collect::<Vec<_>>().join("\n")
    });
    assert_eq!(bare, freezable);
    assert!(bare.contains("ORANGE_RUN_PROOF=secret-proof"), "{bare}");
    let hidden = ["SSH_AUTH_SOCK=", "ORANGE_HOME=", "ORANGE_RUN_PROOF="];
    let is_hidden = |line: &&str| hidden.iter().any(|it| line.starts_with(it));
    assert_eq!(bare.lines().filter(is_hidden).count(), hidden.len());
    let visible: Vec<&str> = bare.lines().filter(|line| !is_hidden(line)).collect();
    assert_eq!(inside, visible.join("\n"));
    let own = [
        "TMPDIR=",
        "TMP=",
        "TEMP=",
        "CLAUDE_CODE_TMPDIR=",
        "GIT_CONFIG_",
    ];
    let own = [&own[..], &["ORANGE_SANDBOX_CALLS=", "HOME="]].concat();
    let is_same = |line: &&str| !own.iter().any(|it| line.starts_with(it));
    let visible: Vec<&str> = visible.into_iter().filter(is_same).collect();
    let partial: Vec<&str> = partial.lines().filter(is_same).collect();
    assert_eq!(partial, visible);
}

#[test]
fn a_failing_sandbox_is_an_error_and_leaves_a_note() {
    let fixture = Fixture::new();
    let mut description = fixture.describe();
    description
        .mounts
        .push(orange_effects::sandbox::Mount::Writable {
            path: "/nowhere/at/all".into(),
        });
    let file = fixture.run_file_with("exit 0", Some(&description));
    let output = fixture.exec_run(&file).output().unwrap();
    assert_eq!(output.status.code(), Some(6));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("/nowhere/at/all"), "{stderr}");
    assert!(stderr.contains("orange doctor"), "{stderr}");
    assert!(!exec_failure(&file).unwrap().is_missing);
    let left = fs::read_dir(file.parent().unwrap()).unwrap();
    let left: Vec<_> = left.map(|it| it.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name == "control"), "{left:?}");
}
