//! Help that a newcomer understands, however they ask for it.

use insta::assert_snapshot;

use crate::sandbox::{Sandbox, code, utf8};

#[test]
fn the_program_introduces_itself() {
    assert_snapshot!(Sandbox::new().transcript("--help"));
}

#[test]
fn no_arguments_print_the_help() {
    let sandbox = Sandbox::new();
    let explicit = sandbox.run("--help");
    for line in ["", "-h", "help"] {
        let output = sandbox.run(line);
        assert_eq!(utf8(&output.stdout), utf8(&explicit.stdout), "{line}");
        assert_eq!(utf8(&output.stderr), "", "{line}");
        assert_eq!(code(&output), 0, "{line}");
    }
}

#[test]
fn a_group_without_a_command_prints_its_help() {
    let sandbox = Sandbox::new();
    let explicit = sandbox.run("workflow --help");
    let output = sandbox.run("workflow");
    assert_eq!(utf8(&output.stdout), utf8(&explicit.stdout));
    assert_eq!(code(&output), 0);
    assert_snapshot!(sandbox.transcript("workflow"));
}

#[test]
fn every_command_has_help() {
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
