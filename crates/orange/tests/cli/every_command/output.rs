//! Where output goes: pipes that break, full disks, colour.

use std::io;
use std::process::Output;

use crate::sandbox::{BROKEN, Sandbox, code, utf8};

const LINES: [&str; 14] = [
    "--help",
    "config show",
    "config show --json",
    "schema",
    "schema orange.error/1",
    "completions bash",
    "man",
    "workflow list",
    "workflow list --json",
    "workflow show default",
    "workflow diff default minimal",
    "workflow check broken.yml",
    "workflow simulate",
    "workflow simulate --json",
];

/// A pipe without a reader.
fn broken_pipe() -> io::PipeWriter {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    writer
}

#[test]
fn a_closed_output_is_not_a_failure() {
    let sandbox = Sandbox::new().with_file("broken.yml", BROKEN);
    for line in LINES {
        let mut command = sandbox.command(line);
        let output = command.stdout(broken_pipe()).output().unwrap();
        assert_eq!(code(&output), 0, "{line}");
        assert_eq!(utf8(&output.stderr), "", "{line}");
    }
}

#[test]
fn a_failure_with_closed_output_keeps_its_exit_code() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command("workflow show nothing");
    let output = command.stderr(broken_pipe()).output().unwrap();
    assert_eq!(code(&output), 4);
    let mut command = sandbox.command("workflow show nothing --json");
    let output = command.stdout(broken_pipe()).output().unwrap();
    assert_eq!(code(&output), 4);
}

#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_printed_is_unexpected() {
    let sandbox = Sandbox::new().with_file("broken.yml", BROKEN);
    for line in LINES {
        let full = std::fs::File::create("/dev/full").unwrap();
        let mut command = sandbox.command(line);
        let output = command.stdout(full).output().unwrap();
        assert_eq!(code(&output), 1, "{line}");
        let expected = "error: cannot print the answer: no storage space\n";
        assert_eq!(utf8(&output.stderr), expected, "{line}");
    }
}

#[test]
fn colour_is_shown_only_on_request() {
    let sandbox = Sandbox::new().with_file("broken.yml", BROKEN);
    let run = |line: &str, variables: &[(&str, &str)]| -> Output {
        let mut command = sandbox.command(line);
        command.envs(variables.iter().copied()).output().unwrap()
    };
    let has_colour = |output: &Output| {
        let both = [output.stdout.clone(), output.stderr.clone()].concat();
        both.contains(&b'\x1b')
    };
    let lines = [
        "--help",
        "config show",
        "workflow list",
        "workflow check broken.yml",
        "workflow show nothing",
    ];
    for line in lines {
        assert!(!has_colour(&run(line, &[])), "{line}");
        assert!(has_colour(&run(line, &[("CLICOLOR_FORCE", "1")])), "{line}");
        let refused = [("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")];
        assert!(!has_colour(&run(line, &refused)), "{line}");
    }
    for line in [
        "workflow list --json",
        "workflow show default",
        "config show --json",
        "schema orange.error/1",
        "man",
    ] {
        assert!(
            !has_colour(&run(line, &[("CLICOLOR_FORCE", "1")])),
            "{line}"
        );
    }
}

#[test]
fn a_locale_without_unicode_gets_ascii_glyphs() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.home()).unwrap();
    let config = "harness = \"ä\"\n[notify]\nwebhook = \"https://example.org/hook\"\n";
    std::fs::write(sandbox.home().join("config.toml"), config).unwrap();
    let shown = |variable: &str, locale: &str| {
        let mut command = sandbox.command("config show");
        utf8(&command.env(variable, locale).output().unwrap().stdout)
    };
    for (variable, locale) in [("LANG", "C"), ("LC_ALL", "POSIX"), ("LC_CTYPE", "C")] {
        let plain = shown(variable, locale);
        assert!(plain.contains("example.org/~"), "{plain}");
        assert!(plain.contains('ä'), "the user's text stays: {plain}");
    }
    assert!(shown("LANG", "C.UTF-8").contains("example.org/…"));
}
