//! `docs/cli.md` and the manual pages match `--help`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::sandbox::{Sandbox, code, every_command, utf8};

fn commands(sandbox: &Sandbox) -> Vec<String> {
    every_command(|line| utf8(&sandbox.run(line).stdout))
}

#[test]
fn the_reference_is_what_help_says() {
    let sandbox = Sandbox::new();
    let commands = commands(&sandbox);
    let mut page = String::from(
        "# Commands\n\nGenerated from `--help` by `just docs`. Exit codes and error codes are in \
         [errors.md](errors.md), the shapes of answers in JSON in [schemas](schemas).\n\nThe everyday commands have short forms: \
         `orange new` is `orange task create`, `orange ls` is `orange task list`, and `attach`, `diff`, \
         `why`, `logs`, `tell`, `merge` and `cancel` work without `task`.\n",
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
