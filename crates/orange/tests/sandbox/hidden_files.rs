//! What an agent reads and writes in a sandbox.

use std::fs;
use std::os::unix::fs::symlink;

use orange_effects::sandbox::Mount;

use crate::fixture::{Around, BOTH, Fixture};

/// Runs lines of a shell, and says for each whether it succeeded.
fn tried(fixture: &Fixture, lines: &[&str], around: Around) -> Vec<bool> {
    let lines: Vec<String> = lines
        .iter()
        .map(|line| format!("if ( {line} ) >/dev/null 2>&1; then echo yes; else echo no; fi"))
        .collect();
    let printed = fixture.printed(&lines.join("\n"), around);
    printed.lines().map(|line| line == "yes").collect()
}

/// Each line succeeds without a sandbox and fails in one.
fn assert_held(fixture: &Fixture, lines: &[&str]) {
    for (around, expected) in BOTH.into_iter().zip([true, false]) {
        let results = tried(fixture, lines, around);
        assert_eq!(results.len(), lines.len());
        for (line, result) in lines.iter().zip(results) {
            assert_eq!(result, expected, "{around:?}: {line}");
        }
    }
}

#[test]
fn the_home_is_hidden() {
    let fixture = Fixture::new();
    assert_held(
        &fixture,
        &[
            "cat ~/.ssh/id_ed25519",
            "cat ~/.netrc",
            "test -e ~/notes.txt",
            "ls ~/../orange",
            "ln -sf ~/.netrc link && cat link",
            "cat /proc/self/root$HOME/.netrc",
            "cat /proc/self/cwd/../ada/.netrc",
            "ln -f ~/.netrc hard",
        ],
    );
    let outside = fixture.path("outside.txt");
    let script = format!(
        "echo x > {}; echo y > ~/.bashrc; echo z > kept",
        outside.display()
    );
    fixture.output(&script, Around::Sandbox);
    assert!(!outside.exists());
    assert!(!fixture.path("ada/.bashrc").exists());
    let private = fs::read_to_string(fixture.path("private/.bashrc"));
    assert_eq!(private.unwrap(), "y\n", "the private home keeps it");
    assert_eq!(fs::read_to_string(fixture.path("w/kept")).unwrap(), "z\n");
    let printed = fixture.printed("cat ~/.bashrc", Around::Sandbox);
    assert_eq!(printed, "y\n", "the next run has it too");
}

#[test]
fn the_system_is_read_only_and_temporary_files_are_private() {
    let fixture = Fixture::new();
    let name = format!("o-{}", fixture.mark());
    let paths = ["/etc", "/usr", "/tmp", "/var/tmp", "/dev/shm"];
    for (around, reaches) in BOTH.into_iter().zip([true, false]) {
        for folder in paths {
            let path = format!("{folder}/{name}");
            let is_system = folder == "/etc" || folder == "/usr";
            // An ordinary user cannot write there without a sandbox either.
            if is_system && reaches && !rustix::process::geteuid().is_root() {
                eprintln!("NOT TRIED without a sandbox: {path} (needs root)");
                continue;
            }
            let printed = fixture.output(&format!("echo x > {path}"), around);
            assert_eq!(fs::remove_file(&path).is_ok(), reaches, "{around:?} {path}");
            let succeeds = reaches || !is_system;
            assert_eq!(printed.status.success(), succeeds, "{around:?} {path}");
        }
    }
}

#[test]
fn copies_and_shares_are_what_the_harness_names() {
    let fixture = Fixture::new();
    fs::write(fixture.path("ada/.agent.json"), "{}").unwrap();
    fs::write(fixture.path("ada/.token"), "old").unwrap();
    fs::write(fixture.path("ada/.settings"), "mine").unwrap();
    let run = |script: &str| {
        let mut description = fixture.describe();
        description.copies.push(".agent.json".into());
        description.mounts.push(Mount::Writable {
            path: fixture.path("ada/.token").into(),
        });
        description.mounts.push(Mount::ReadOnly {
            path: fixture.path("ada/.settings").into(),
        });
        let file = fixture.run_file_with(script, Some(&description));
        fixture.exec_run(&file).output().unwrap()
    };
    run("echo changed > ~/.agent.json; echo new > ~/.token; echo x > ~/.settings");
    let text = |name: &str| fs::read_to_string(fixture.path(name)).unwrap();
    assert_eq!(text("ada/.agent.json"), "{}", "it changed its copy");
    assert_eq!(text("private/.agent.json"), "changed\n");
    assert_eq!(text("ada/.token"), "new\n");
    assert_eq!(text("ada/.settings"), "mine");
    // A link that the agent leaves is replaced, and what it leads to is not touched.
    let output = run("rm ~/.agent.json; ln -s $OUT/kept ~/.agent.json");
    assert!(output.status.success());
    fs::write(fixture.path("w/kept"), "kept").unwrap();
    let output = run("cat ~/.agent.json");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "{}");
    assert_eq!(text("w/kept"), "kept");
    symlink(fixture.path("ada"), fixture.path("private/link")).unwrap();
    let output = run("cat ~/link/.netrc");
    assert!(!output.status.success(), "the target is not visible");
}

#[test]
fn the_link_of_a_worktree_cannot_be_replaced() {
    let fixture = Fixture::new();
    let link = fixture.path("w/.git");
    let replace = "echo gitdir: /x > .git.new && mv .git.new .git";
    for (around, reaches) in BOTH.into_iter().zip([true, false]) {
        fs::write(&link, "gitdir: /repo\n").unwrap();
        let mut description = fixture.describe();
        description.mounts.push(Mount::ReadOnly {
            path: link.clone().into(),
        });
        let sandbox = (around == Around::Sandbox).then_some(&description);
        let file = fixture.run_file_with(replace, sandbox);
        let output = fixture.exec_run(&file).output().unwrap();
        assert_eq!(output.status.success(), reaches, "{around:?}");
        let text = fs::read_to_string(&link).unwrap();
        assert_eq!(text.contains("/x"), reaches, "{around:?}");
    }
}

#[test]
fn files_that_were_opened_outside_can_be_opened_again() {
    let fixture = Fixture::new();
    for around in BOTH {
        let output = fixture.output("echo out > /dev/stdout; echo err > /dev/stderr", around);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{around:?}: {text}");
        assert_eq!(output.stdout, b"out\n");
        assert_eq!(output.stderr, b"err\n");
        let file = fixture.run_file("echo out > /dev/stdout", around);
        let path = fixture.path("outside.txt");
        let mut command = fixture.exec_run(&file);
        command.stdout(fs::File::create(&path).unwrap());
        assert!(command.status().unwrap().success(), "{around:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "out\n");
    }
}
