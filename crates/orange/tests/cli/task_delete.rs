//! `orange task delete`: what is refused, kept and restored.

use std::fs;

use crate::support::{Stage, Terminal};

#[test]
fn only_a_finished_task_can_be_deleted_and_its_files_are_kept() {
    let stage = Stage::new("default");
    stage.script("worker-1", "echo mine > unsaved.txt; ask task show");
    let id = stage.create(&["fix", "Fix it"]);
    let delete = ["task", "delete", "fix", "--yes"];
    let mut output = stage.transcript(&delete);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    output.push_str(&stage.transcript(&delete));
    let (_, cancelled) = stage.call(&["task", "cancel", "fix", "--wait", "60"]);
    let cancelled = cancelled.replace("\n      ", " ");
    assert!(
        cancelled.contains(&format!(
            "in 1 file is saved as number 1; restore it with `orange task restore {id} 1 --branch NAME`"
        )),
        "{cancelled}"
    );
    stage.wait_until_idle(&id);
    // There is no terminal for a confirmation prompt.
    output.push_str(&stage.transcript(&["task", "delete", "fix"]));
    let directory = stage.home().tasks().join("app").join(id.as_str());
    assert!(directory.exists());
    let before = fs::read(directory.join("TASK.md")).unwrap();
    let name = id.to_string();
    let deleted = stage.transcript(&delete).replace(&name, "[first]");
    output.push_str(&deleted);
    assert!(!directory.exists());
    let trash = stage.home().path().join("trash/app").join(&name);
    assert!(trash.join("history.jsonl").exists());

    let (_, listed) = stage.json(&["task", "list", "--json"]);
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 0);
    let (code, _) = stage.call(&["task", "show", "fix"]);
    assert_eq!(code, 4, "a name finds only what is listed");
    stage.run_ok(&["task", "show", &name]);
    output.push_str(
        &stage
            .transcript(&["task", "delete", &name, "--yes"])
            .replace(&name, "[first]"),
    );
    let change = ["task", "update", &name, "--summary", "x"];
    output.push_str(&stage.transcript(&change).replace(&name, "[first]"));
    let (code, answer) = stage.json(&[&change[..], &["--json"]].concat());
    assert_eq!(
        (code, &answer["error"]["code"]),
        (3, &"task-deleted".into())
    );
    assert!(!directory.exists(), "nothing is made anew");
    let rescues = stage.run_ok(&["task", "restore", &name]);
    assert!(rescues.contains("1 file"), "{rescues}");

    output.push_str(&stage.transcript(&["task", "delete", &name, "--undo"]));
    output.push_str(&stage.transcript(&["task", "delete", &name, "--undo"]));
    insta::assert_snapshot!(output);
    let after = String::from_utf8(fs::read(directory.join("TASK.md")).unwrap()).unwrap();
    let body = |text: &str| text.rsplit_once("---\n").map(|(_, body)| body.to_owned());
    assert_eq!(body(&after), body(&String::from_utf8(before).unwrap()));
    assert!(!trash.exists());
    stage.rebuild(&id);
    // Deleted again and rebuilt, it stays hidden and on the disk.
    stage.run_ok(&["task", "delete", &name, "--yes"]);
    assert!(trash.exists());
    let (code, answer) = stage.json(&["rebuild", "--move-aside", "--json"]);
    assert_eq!(
        (code, answer["tasks"].as_array().unwrap().len()),
        (0, 1),
        "{answer}"
    );
    let (_, listed) = stage.json(&["task", "list", "--json"]);
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 0);
    assert!(trash.join("TASK.md").exists());
    stage.run_ok(&["task", "delete", &name, "--undo"]);
    assert!(directory.join("TASK.md").exists());
}

#[test]
fn a_deleted_task_is_listed_and_restored_by_its_branch() {
    let stage = Stage::new("default");
    let id = stage.create(&["fix", "Fix it"]);
    stage.create(&["other", "Fix more"]);
    stage.run_ok(&["task", "cancel", "fix", "--wait", "60"]);
    let listed = stage.run_ok(&["task", "list", "--deleted"]);
    assert!(listed.starts_with("no deleted tasks"), "{listed}");
    stage.run_ok(&["task", "delete", "fix", "--yes"]);

    let (code, output) = stage.call(&["task", "show", "fix"]);
    assert_eq!(code, 4, "{output}");
    let hint = "`orange ls --all --deleted`";
    assert!(output.replace("\n      ", " ").contains(hint), "{output}");
    let (_, listed) = stage.json(&["task", "list", "--all", "--deleted", "--json"]);
    let tasks = listed["tasks"].as_array().unwrap();
    let found: Vec<&str> = tasks.iter().filter_map(|it| it["id"].as_str()).collect();
    assert_eq!(found, [id.as_str()]);

    let (code, output) = stage.call(&["task", "delete", "other", "--undo"]);
    assert_eq!(
        (code, output.contains("was not deleted")),
        (0, true),
        "{output}"
    );
    let output = stage.run_ok(&["task", "delete", "fix", "--undo"]);
    assert!(output.contains(&format!("{id}: restored")), "{output}");
    stage.run_ok(&["task", "show", "fix"]);
    stage.run_ok(&["task", "delete", "fix", "--yes"]);
    let output = stage.run_ok(&["task", "delete", &id.as_str()[..3], "--undo"]);
    assert!(output.contains(&format!("{id}: restored")), "{output}");
}

#[test]
fn an_interrupted_deletion_is_finished_by_the_next_command() {
    let stage = Stage::new("default");
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "cancel", "fix", "--wait", "60"]);
    stage.run_ok(&["task", "delete", "fix", "--yes"]);
    let directory = stage.home().tasks().join("app").join(id.as_str());
    let trash = stage.home().path().join("trash/app").join(id.as_str());
    // As if the deletion had died between recording and moving.
    fs::rename(&trash, &directory).unwrap();
    stage.run_ok(&["task", "delete", id.as_str(), "--yes"]);
    assert!(trash.exists() && !directory.exists());
    // As if the restore had died between moving and recording.
    fs::rename(&trash, &directory).unwrap();
    stage.run_ok(&["task", "delete", id.as_str(), "--undo"]);
    assert!(directory.exists());
    // Something else of that name in the trash is not overwritten.
    fs::create_dir_all(&trash).unwrap();
    fs::write(trash.join("mine"), "mine").unwrap();
    stage.run_ok(&["task", "delete", "fix", "--yes"]);
    assert!(trash.join("mine").exists());
    assert!(
        trash
            .with_file_name(format!("{id}-2"))
            .join("history.jsonl")
            .exists()
    );
}

#[test]
fn a_performer_for_a_deleted_task_creates_no_directory() {
    let stage = Stage::new("default");
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "cancel", id.as_str(), "--wait", "60"]);
    stage.wait_until_idle(&id);
    let directory = stage.home().tasks().join("app").join(id.as_str());
    assert!(directory.exists());
    stage.run_ok(&["task", "delete", id.as_str(), "--yes"]);
    assert!(!directory.exists());
    stage.run_ok(&["perform", id.as_str()]);
    assert!(!directory.exists(), "a performer has made it anew");
}

#[test]
fn delete_asks_for_confirmation() {
    let stage = Stage::new("default");
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "cancel", "fix", "--wait", "60"]);
    for (name, answer, exit) in [
        ("no", "n", "[exit 3]"),
        ("nothing", "", "[exit 3]"),
        ("yes", "y", "[exit 0]"),
    ] {
        let terminal = Terminal::start(&stage, name, 200, "orange task delete fix");
        terminal.wait_for("[y/N]");
        let asked = terminal.screen();
        assert!(asked.contains("`Fix it`"), "{asked}");
        assert!(
            asked.contains("branch `fix`, saved work and history are kept"),
            "{asked}"
        );
        assert!(!stage.task(&id).is_deleted, "before the answer");
        terminal.press(&[answer, "Enter"]);
        let screen = terminal.finish();
        assert!(screen.contains(exit), "{screen}");
        let is_denied = exit == "[exit 3]";
        assert_eq!(screen.contains("you answered no"), is_denied, "{screen}");
        assert_eq!(stage.task(&id).is_deleted, !is_denied);
    }
}
