//! `docs/cli.md` and the manual pages match `--help`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::sandbox::{Sandbox, code, utf8};

/// Every command, as the program's help lists them.
fn commands(sandbox: &Sandbox) -> Vec<String> {
    let help = utf8(&sandbox.run("--help").stdout);
    let lines = help.lines().skip_while(|line| *line != "Commands:");
    let lines = lines.skip(1).take_while(|line| !line.is_empty());
    let name = |line: &str| line.trim().split("  ").next().unwrap().to_owned();
    lines.map(name).collect()
}

#[test]
fn the_reference_is_what_help_says() {
    let sandbox = Sandbox::new();
    let commands = commands(&sandbox);
    assert!(commands.len() > 30, "{commands:?}");
    let mut page = String::from(
        "# Commands\n\nGenerated from `--help` by `just docs`. Exit codes and error codes are in \
         [errors.md](errors.md), the shapes of answers in JSON in [schemas](schemas).\n",
    );
    for command in commands {
        let output = sandbox.run(&format!("help {command}"));
        assert_eq!(code(&output), 0, "{command}");
        let help = utf8(&output.stdout);
        let help = help.trim_end();
        let _ = write!(page, "\n## `orange {command}`\n\n```\n{help}\n```\n");
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    if std::env::var_os("ORANGE_WRITE_DOCS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let published = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == page,
        "docs/cli.md is not what help says; run `just docs`"
    );
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let sandbox = Sandbox::new();
    let page = utf8(&sandbox.run("man").stdout);
    assert!(page.contains(".TH orange 1"), "{page}");
    let folder = sandbox.work().join("man");
    fs::create_dir(&folder).unwrap();
    assert_eq!(code(&sandbox.run("man --dir man")), 0);
    for command in commands(&sandbox) {
        let file = format!("orange-{}.1", command.replace(' ', "-"));
        let page = fs::read_to_string(folder.join(&file)).unwrap_or_default();
        assert!(page.contains(".SH SYNOPSIS"), "{file}: {page}");
    }
    assert_ne!(code(&sandbox.run("man --dir nowhere")), 0);
}
