//! Help that a newcomer understands, however they ask for it.

use insta::assert_snapshot;

use crate::sandbox::{Sandbox, code, utf8};

#[test]
fn the_program_introduces_itself() {
    assert_snapshot!(Sandbox::new().transcript("--help"));
}

#[test]
fn nothing_typed_is_a_request_for_help() {
    let sandbox = Sandbox::new();
    let asked = sandbox.run("--help");
    for line in ["", "-h", "help"] {
        let output = sandbox.run(line);
        assert_eq!(utf8(&output.stdout), utf8(&asked.stdout), "{line}");
        assert_eq!(utf8(&output.stderr), "", "{line}");
        assert_eq!(code(&output), 0, "{line}");
    }
}

#[test]
fn a_group_without_a_command_is_a_request_for_help() {
    let sandbox = Sandbox::new();
    let asked = sandbox.run("workflow --help");
    let output = sandbox.run("workflow");
    assert_eq!(utf8(&output.stdout), utf8(&asked.stdout));
    assert_eq!(code(&output), 0);
    assert_snapshot!(sandbox.transcript("workflow"));
}

#[test]
fn every_command_explains_itself() {
    let sandbox = Sandbox::new();
    let commands = [
        "list", "show", "graph", "check", "simulate", "diff", "new", "schema",
    ];
    let transcripts = commands.map(|name| sandbox.transcript(&format!("help workflow {name}")));
    assert_snapshot!(transcripts.join("\n"));
}

#[test]
fn the_version_is_the_packages() {
    let output = Sandbox::new().run("--version");
    let expected = format!("orange {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(utf8(&output.stdout), expected);
    assert_eq!(code(&output), 0);
}
