//! What an agent reads and writes without namespaces.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use orange_effects::sandbox::{Description, Level, Mount};

use crate::fixture::{Around, Fixture};

/// Runs lines of a shell, and says for each whether it succeeded.
fn tried(fixture: &Fixture, description: Option<&Description>, lines: &[&str]) -> Vec<bool> {
    let lines = lines
        .iter()
        .map(|line| format!("if ( {line} ) >/dev/null 2>&1; then echo yes; else echo no; fi\n"));
    let file = fixture.run_file_with(&lines.collect::<String>(), description);
    let output = fixture.exec_run(&file).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    text.lines().map(|line| line == "yes").collect()
}

/// Each line succeeds without a sandbox and fails at the partial level.
fn assert_held(fixture: &Fixture, description: &Description, lines: &[&str]) {
    for (description, expected) in [(None, true), (Some(description), false)] {
        let results = tried(fixture, description, lines);
        assert_eq!(results.len(), lines.len());
        for (line, result) in lines.iter().zip(results) {
            assert_eq!(result, expected, "{}: {line}", description.is_some());
        }
    }
}

#[test]
fn files_of_the_user_and_the_machine_are_refused() {
    let fixture = Fixture::new();
    let root = fixture.path("").display().to_string();
    let lines = [
        format!("cat {root}/ada/.ssh/id_ed25519"),
        format!("ls {root}/ada"),
        format!("ls {root}/orange"),
        format!("echo x > {root}/ada/planted"),
        format!("echo x >> {root}/ada/.netrc"),
        format!("ln -sf {root}/ada/.netrc link && cat link"),
        format!("ln -f {root}/ada/.netrc hard"),
        format!("cat /proc/self/root{root}/ada/.netrc"),
        String::from("cat /proc/self/cwd/../ada/.netrc"),
        format!("touch moved && mv moved {root}/ada/moved"),
        format!("perl -e 'truncate($ARGV[0], 0) or die' {root}/ada/notes.txt"),
        format!("mkfifo {root}/ada/pipe"),
        String::from("touch /tmp/$PAIN && rm /tmp/$PAIN"),
        String::from("touch /dev/shm/$PAIN && rm /dev/shm/$PAIN"),
        String::from("ls /"),
        String::from("cat /proc/$PPID/environ"),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let description = fixture.describe_at(Level::Partial);
    assert_held(&fixture, &description, &lines);
    assert_eq!(
        fs::read_to_string(fixture.path("ada/notes.txt")).unwrap(),
        ""
    );
}

#[test]
fn an_agent_has_what_it_needs() {
    let fixture = Fixture::new();
    let description = fixture.describe_at(Level::Partial);
    let lines = [
        "echo x > own && grep x own && mkdir -p d/e && mv own d/e/ && rm -r d",
        "test \"$HOME\" != \"$(dirname $PWD)/ada\" && echo x > ~/own && cat ~/own",
        "test -d $TMPDIR && echo x > $TMPDIR/x && f=$(mktemp) && rm $f",
        "cat /etc/passwd && ls /usr/bin && test -r /proc/self/status && cat /proc/meminfo",
        "echo x > /dev/null && head -c 8 /dev/urandom && echo x > /dev/stderr",
        "ln -s own link && mkfifo fifo && rm link fifo",
        "sleep 60 & kill $!",
        "perl -e 'use Socket; socketpair(A, B, AF_UNIX, SOCK_STREAM, 0) or die'",
        "! test -x /usr/bin/python3 || /usr/bin/python3 -c 'import subprocess as s; s.run([\"true\"], check=True)'",
        "! test -x /usr/bin/node || /usr/bin/node -e 'require(\"child_process\").execSync(\"true\")'",
        "git init -q r && cd r && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x",
        "bash -c 'cat <(echo x)'",
    ];
    let results = tried(&fixture, Some(&description), &lines);
    for (line, result) in lines.iter().zip(results) {
        assert!(result, "{line}");
    }
    let output = fixture.printed("cat ~/own; echo $TMPDIR", Around::Partial);
    let (own, temporary) = output.split_once('\n').unwrap();
    assert_eq!(own, "x", "the home is kept");
    assert!(!Path::new(temporary.trim()).exists(), "{temporary}");
    let private = fs::read_to_string(fixture.path("private/own"));
    assert_eq!(private.unwrap(), "x\n");
}

#[test]
fn the_terminal_of_another_pane_and_devices_are_refused() {
    let fixture = Fixture::new();
    let description = fixture.describe_at(Level::Partial);
    assert_held(
        &fixture,
        &description,
        &["ls /dev/pts", "exec 3<> /dev/ptmx"],
    );
}

#[test]
fn a_shared_file_that_the_agent_replaces_is_written_back() {
    let fixture = Fixture::new();
    let login = fixture.path("ada/.config/login");
    fs::write(&login, "old").unwrap();
    fs::write(fixture.path("ada/.config/other"), "other").unwrap();
    let mut description = fixture.describe_at(Level::Partial);
    description.mounts.push(Mount::Writable {
        path: login.as_path().into(),
    });
    let run = |script: &str| fixture.output_of(script, &description, &[]);
    assert_eq!(run("cat ~/.config/login; ls ~/.config"), "oldlogin\n");
    run("printf new >> ~/.config/login");
    assert_eq!(fs::read_to_string(&login).unwrap(), "oldnew");
    run("printf renewed > ~/.config/x; mv ~/.config/x ~/.config/login");
    assert_eq!(fs::read_to_string(&login).unwrap(), "renewed");
    assert_eq!(
        run("readlink ~/.config/login >/dev/null && cat ~/.config/login"),
        "renewed"
    );
    // A link of the agent is not followed.
    run("ln -sf other ~/.config/login");
    assert_eq!(fs::read_to_string(&login).unwrap(), "renewed");
    // The user has logged out.
    run("printf again > ~/.config/x; mv ~/.config/x ~/.config/login; exec sleep 0");
    fs::remove_file(&login).unwrap();
    run("rm -f ~/.config/login; printf late > ~/.config/login");
    assert!(!login.exists());
}

#[test]
fn links_of_the_agent_lead_nowhere_at_the_next_start() {
    let fixture = Fixture::new();
    fs::write(fixture.path("ada/.gitconfig"), "[user]\nname = ada\n").unwrap();
    let mut description = fixture.describe_at(Level::Partial);
    description.mounts.push(Mount::ReadOnly {
        path: fixture.path("ada/.gitconfig").into(),
    });
    description.copies.push(".netrc".into());
    let private = fixture.path("private");
    symlink(fixture.path("ada/notes.txt"), private.join(".netrc")).unwrap();
    symlink(fixture.path("orange"), private.join(".gitconfig")).unwrap();
    let printed = fixture.output_of(
        "git config user.name; cat ~/.netrc; echo x > ~/.gitconfig && echo written",
        &description,
        &[],
    );
    assert!(printed.starts_with("ada\ncanary"), "{printed}");
    assert!(!printed.contains("written"), "{printed}");
    let notes = fs::read_to_string(fixture.path("ada/notes.txt"));
    assert_eq!(notes.unwrap(), "canary");
}
