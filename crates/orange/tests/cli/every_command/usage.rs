//! Command lines that make no sense.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use insta::assert_snapshot;

use crate::sandbox::{Sandbox, code, keys, utf8};

#[test]
fn each_usage_mistake_has_its_own_answer() {
    let sandbox = Sandbox::new();
    let lines = [
        "workflows",
        "workflow lst",
        "workflow frobnicate",
        "workflow show",
        "workflow show default minimal",
        "workflow check --jsn",
        "workflow list --json=yes",
        "--colour",
        "merge --strategy rebase greet",
        "task wait greet --until",
        "log --since 5x",
        "completions powershell",
    ];
    assert_snapshot!(lines.map(|line| sandbox.transcript(line)).join("\n"));
}

#[test]
fn a_program_reads_the_same_mistake() {
    let sandbox = Sandbox::new();
    for line in ["workflow --json lst", "--json", "workflow show --json"] {
        let (answer, code) = sandbox.json(line);
        assert_eq!(code, 2, "{line}");
        assert_eq!(keys(&answer), ["error", "schema"], "{line}");
        let error = &answer["error"];
        assert_eq!(
            keys(error),
            ["code", "details", "hints", "message"],
            "{line}"
        );
        assert_eq!(error["code"], "usage", "{line}");
        assert_ne!(error["hints"].as_array().unwrap().len(), 0, "{line}");
    }
}

#[test]
fn after_two_dashes_json_is_a_name() {
    let output = Sandbox::new().run("workflow show -- --json");
    assert_eq!(code(&output), 4);
    assert_eq!(utf8(&output.stdout), "");
    let repeated = Sandbox::new().run("workflow list --json --json");
    assert_eq!(code(&repeated), 0);
}

#[test]
fn arguments_may_hold_any_bytes() {
    let sandbox = Sandbox::new();
    let run = |line: &str| {
        let mut command = sandbox.command(line);
        command.arg(OsStr::from_bytes(b"\xff\x1b[31m"));
        command.output().unwrap()
    };
    for (line, expected) in [("workflow show", 4), ("workflow", 2), ("", 2)] {
        let output = run(line);
        assert_eq!(code(&output), expected, "{line}");
        assert!(!utf8(&output.stderr).contains('\x1b'), "{line}");
    }
}

#[test]
fn json_may_stand_before_the_command() {
    let sandbox = Sandbox::new();
    let before = sandbox.run("--json workflow list");
    assert_eq!(code(&before), 0);
    assert_eq!(before.stdout, sandbox.run("workflow list --json").stdout);
    let lines = ["--json", "--json demo", "demo --json", "--json man"];
    for line in [&lines[..], &["--json workflow graph default --format dot"]].concat() {
        let (answer, exit) = sandbox.json(line);
        assert_eq!(
            (&answer["error"]["code"], exit),
            (&"usage".into(), 2),
            "{line}"
        );
    }
    let (answer, _) = sandbox.json("--json demo");
    assert_eq!(
        answer["error"]["message"],
        "`orange demo` takes no argument `--json`"
    );
    let (answer, _) = sandbox.json("--json");
    assert_eq!(
        answer["error"]["message"],
        "`orange` takes no argument `--json`"
    );
}
