//! What agents do with git works in orange's own sandbox.

use std::fmt::Write as _;
use std::fs;

use crate::operations_table::OPERATIONS;
use crate::stories::{PROVE, stage};
use crate::support::wait_for;

#[test]
fn every_operation_works_and_is_imported() {
    let stage = stage("minimal");
    let files = [("README", "one\ntwo\n"), ("src/deep/old.txt", "old\n")];
    for (name, text) in files {
        let path = stage.path("repo").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let remote = stage.path("remote.git").display().to_string();
    for call in [
        "add .",
        "commit -qm files",
        &format!("init -q --bare {remote}"),
        &format!("remote add origin {remote}"),
        "push -q origin main",
    ] {
        assert!(stage.git(call).status.success(), "git {call}");
    }
    let mut script = format!("{PROVE}export GIT_EDITOR=true\n");
    for (number, (_, operation)) in OPERATIONS.iter().enumerate() {
        stage.script(&format!("operation-{number}"), operation);
        writeln!(
            script,
            "pause go-{number}; sh -e $SCRIPTS/operation-{number} > $SCRIPTS/said-{number} 2>&1\n\
             {{ echo $?; git rev-parse fix; }} | give done-{number}"
        )
        .unwrap();
    }
    stage.script("worker-1", &script);
    let id = stage.create(&["fix", "Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    for (number, (what, _)) in OPERATIONS.iter().enumerate() {
        stage.script(&format!("go-{number}"), "");
        let done = stage.path("scripts").join(format!("done-{number}"));
        wait_for(what, || done.exists());
        let done = fs::read_to_string(done).unwrap();
        let said = fs::read_to_string(stage.path("scripts").join(format!("said-{number}")));
        let (code, tip) = done.split_once('\n').unwrap();
        assert_eq!(code, "0", "{what}: {}", said.unwrap());
        stage.run_ok(&["task", "diff", id.as_str()]);
        let imported = stage.git("rev-parse fix").stdout;
        assert_eq!(String::from_utf8_lossy(&imported), tip, "{what}");
    }
    assert!(
        stage.path("scripts/proof").exists(),
        "it was not in a sandbox"
    );
    for call in ["fsck --strict", "gc -q --prune=now", "fsck --strict"] {
        let checked = stage.git(call);
        let said = String::from_utf8_lossy(&checked.stderr);
        assert!(checked.status.success(), "git {call}: {said}");
    }
    // Nothing but the task's branch came out.
    let refs = stage.git("for-each-ref --format=%(refname) refs/heads refs/tags");
    assert_eq!(
        String::from_utf8_lossy(&refs.stdout),
        "refs/heads/fix\nrefs/heads/main\n"
    );
    let pushed = stage.git("ls-remote origin");
    assert!(!String::from_utf8_lossy(&pushed.stdout).contains("fix"));
}
