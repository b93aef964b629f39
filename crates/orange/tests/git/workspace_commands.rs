//! `workspace list`, `init` and `gc`, and `task restore`, through the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use orange_driver::WaitPolicy;
use orange_engine::input::RequestKind;
use orange_engine::language::verbs::Verb;
use orange_engine::names::{ProjectName, TaskId, WorkspaceName};
use orange_engine::role::Role;
use orange_store::WorkspaceState;

use crate::home_fixture::{HomeFixture, files_without_task, processes_with, told, wait_for};
use crate::repo_fixture::files;

fn states(ground: &HomeFixture) -> Vec<String> {
    let listed = ground.json(&["workspace", "list"]);
    let listed = listed["workspaces"].as_array().unwrap();
    let state = |it: &serde_json::Value| it["state"].as_str().unwrap().to_owned();
    listed.iter().map(state).collect()
}

#[test]
fn the_pool_is_made_lazily_or_ahead_and_never_beyond_its_size() {
    let ground = HomeFixture::new(3);
    assert_eq!(states(&ground), [] as [&str; 0]);
    let id = ground.create_with_workspace();
    assert_eq!(states(&ground), ["bound"]);
    let (code, said) = ground.call(&["workspace", "init", "4"]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("--pool-size"), "{said}");
    for _twice in 0..2 {
        let made = ground.json(&["workspace", "init"]);
        let made = made["workspaces"].as_array().unwrap();
        assert_eq!(made.len(), 3);
        for (number, it) in made.iter().enumerate() {
            assert_eq!(it["name"], format!("app--{}", number + 1));
            assert_eq!(it["port_offset"], (number + 1) * 100);
            assert_eq!(it["exists"], true);
            let path = Path::new(it["path"].as_str().unwrap());
            assert!(path.join("README").is_file());
            let head = ground.yard.try_git(path, &["symbolic-ref", "-q", "HEAD"]);
            assert_eq!(head.status.success(), number == 0, "detached when idle");
        }
    }
    assert_eq!(states(&ground), ["bound", "free", "free"]);
    assert_eq!(
        ground.json(&["workspace", "list"])["workspaces"][0]["task"],
        id.as_str()
    );
    let (code, said) = ground.call(&["workspace", "list"]);
    assert_eq!(code, 0);
    assert!(said.contains("app--1") && said.contains("+100"), "{said}");
    // Reused, not recreated.
    ground.go(&id, "closed");
    let next = ground.create(Some("next"));
    ground.go(&next, "held");
    assert_eq!(states(&ground), ["bound", "free", "free"]);
}

#[test]
fn lesson_34_what_is_in_the_way_of_a_new_workspace_is_left_alone() {
    let ground = HomeFixture::new(2);
    let slot = ground.yard.slot();
    fs::create_dir_all(&slot).unwrap();
    fs::write(slot.join("mine"), "mine\n").unwrap();
    let theirs = ground.yard.path("workspaces/app--2").display().to_string();
    let add = ["worktree", "add", "-q", "-b", "theirs", &theirs];
    ground.yard.git(&ground.yard.app(), &add);
    fs::write(Path::new(&theirs).join("theirs"), "theirs\n").unwrap();
    let before = files(Path::new(&theirs));
    let id = ground.create(Some("fix"));
    let task = ground.go(&id, "held");
    assert_eq!(task.status.as_str(), "held", "{}", ground.told(&id));
    let held = ground.store().workspace_of(&id).unwrap().unwrap();
    assert_eq!(held.name.as_str(), "app--3");
    let answer = ground.json(&["workspace", "gc", "--yes"]);
    assert_eq!(
        answer["unusable_workspaces"].as_array().unwrap().len(),
        2,
        "{answer}"
    );
    assert_eq!(fs::read(slot.join("mine")).unwrap(), b"mine\n");
    assert_eq!(files(Path::new(&theirs)), before);
    // No task ever works on the default branch.
    let head = ground.yard.git(&held.path, &["symbolic-ref", "HEAD"]);
    assert_eq!(head, "refs/heads/fix\n");
    // Once the file is gone, the place is usable again.
    fs::remove_file(slot.join("mine")).unwrap();
    let answer = ground.json(&["workspace", "gc"]);
    assert_eq!(answer["freed_workspaces"], serde_json::json!(["app--1"]));
}

#[test]
fn a_release_that_was_given_up_is_tried_again() {
    let ground = HomeFixture::new(1);
    let id = ground.create_with_workspace();
    fs::write(ground.yard.slot().join("README"), "unsaved\n").unwrap();
    // Every git call in the worktree fails, as with a full disk.
    ground.wrap_git("case \"$PWD\" in */workspaces/*) exit 128;; esac\nexec $real \"$@\"");
    ground.ask(&id, RequestKind::Verb(Verb::Cancel));
    ground.driver().performer.perform_until_done(&id).unwrap();
    ground.unwrap_git();
    let task = ground.task(&id);
    assert_eq!(task.status.as_str(), "closed");
    assert!(
        task.attention[0].starts_with("release_workspace"),
        "{task:?}"
    );
    assert_eq!(states(&ground), ["bound"]);
    let answer = ground.json(&["workspace", "gc"]);
    assert_eq!(answer["retried_tasks"], serde_json::json!([id.as_str()]));
    assert_eq!(states(&ground), ["free"]);
    assert_eq!(ground.yard.open().rescues(&id).unwrap().len(), 1);
    let said = ground.call(&["workspace", "gc"]).1;
    assert!(said.contains("nothing to do"), "{said}");
}

#[test]
fn a_command_that_was_given_up_is_not_run_again() {
    let ground = HomeFixture::new(1);
    let workflow = ground.yard.path("workflows/roads.yml");
    let text = fs::read_to_string(&workflow).unwrap();
    let ran = ground.yard.path("ran");
    let script = format!("echo once >>'{}'; exit 1", ran.display());
    let command = serde_json::json!(["/bin/sh", "-c", script]);
    let ends = "    to: closed\n    by: human\n    hooks: *let_go\n";
    assert!(text.contains(ends));
    let runs = format!(
        "    to: closed\n    by: human\n    hooks:\n      - kill_session\n      \
         - {{ action: run_command, command: {command} }}\n      - release_workspace\n"
    );
    fs::write(&workflow, text.replace(ends, &runs)).unwrap();
    let id = ground.create_with_workspace();
    ground.ask(&id, RequestKind::Verb(Verb::Cancel));
    ground.driver().performer.perform_until_done(&id).unwrap();
    assert_eq!(states(&ground), ["bound"]);
    assert_eq!(fs::read_to_string(&ran).unwrap(), "once\n");
    let answer = ground.json(&["workspace", "gc"]);
    assert_eq!(answer["retried_tasks"], serde_json::json!([id.as_str()]));
    ground.driver().performer.perform_until_done(&id).unwrap();
    assert_eq!(states(&ground), ["free"]);
    assert_eq!(fs::read_to_string(&ran).unwrap(), "once\n");
    let attention = ground.task(&id).attention;
    assert!(attention[0].starts_with("run_command"), "{attention:?}");
}

#[test]
fn what_an_ended_task_still_holds_is_taken_back() {
    let ground = HomeFixture::new(1);
    let id = ground.create(Some("fix"));
    ground.ask(&id, RequestKind::Verb(Verb::Cancel));
    // As if its performer had been killed after the reservation and never came back.
    let project = ProjectName::new("app");
    let name = WorkspaceName::new("app--1");
    let mut store = ground.store();
    store
        .add_workspace(&name, &project, 1, &ground.yard.slot())
        .unwrap();
    store.reserve_workspace(&name, &id).unwrap();
    let held = store.workspace_of(&id).unwrap().unwrap();
    assert_eq!(held.state, WorkspaceState::Reserved(id.clone()));
    drop(store);
    let answer = ground.json(&["workspace", "gc"]);
    assert_eq!(answer["freed_workspaces"], serde_json::json!(["app--1"]));
    assert_eq!(states(&ground), ["free"]);
}

#[test]
fn a_retired_workspace_comes_back_when_somebody_has_put_it_in_order() {
    let ground = HomeFixture::new(1);
    let id = ground.create_with_workspace();
    let slot = ground.yard.slot();
    ground.yard.git(&slot, &["init", "-q", "inner"]);
    ground.yard.commit(&slot.join("inner"), "a", "a\n");
    fs::write(slot.join("README"), "unsaved\n").unwrap();
    ground.go(&id, "closed");
    assert_eq!(states(&ground), ["retired"]);
    let before = files(&slot);
    let answer = ground.json(&["workspace", "gc", "--yes"]);
    assert!(
        answer["unusable_workspaces"][0]["reason"]
            .as_str()
            .unwrap()
            .contains("inner"),
        "{answer}"
    );
    assert_eq!(files(&slot), before);
    fs::rename(slot.join("inner"), ground.yard.path("inner")).unwrap();
    let answer = ground.json(&["workspace", "gc"]);
    assert_eq!(answer["freed_workspaces"], serde_json::json!(["app--1"]));
    // Other unsaved files in it were saved first.
    let kept = ground.driver().workspaces.rescues_of(&id, None).unwrap();
    assert_eq!(kept[0].paths, ["README"]);
    let next = ground.create(Some("next"));
    assert_eq!(ground.go(&next, "held").status.as_str(), "held");
}

/// Holds the lock of the first workspace, as a process that changes it does.
fn hold_lock(ground: &HomeFixture) -> (fs::File, PathBuf) {
    let path = ground.home().workspaces().join(".locks/app--1");
    let lock = fs::File::open(&path).unwrap();
    lock.lock().unwrap();
    (lock, path)
}

/// Starts the program, and waits until it has decided what to do and waits for the lock.
fn call_until_locked(ground: &HomeFixture, lock: &Path, arguments: &[&str]) -> Child {
    let mut orange = ground.orange(arguments);
    let orange = orange.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = orange.spawn().unwrap();
    let folder = PathBuf::from(format!("/proc/{}/fd", child.id()));
    wait_for("the lock to be wanted", || {
        let open = fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut open = open.filter_map(|it| fs::read_link(it.path()).ok());
        open.any(|it| it == lock)
    });
    child
}

#[test]
fn a_workspace_that_somebody_got_since_it_was_listed_is_not_touched() {
    let ground = HomeFixture::new(1);
    let id = ground.create(Some("fix"));
    ground.json(&["workspace", "init"]);
    let name = WorkspaceName::new("app--1");
    ground.store().retire_workspace(&name).unwrap();
    let (lock, path) = hold_lock(&ground);
    let child = call_until_locked(&ground, &path, &["workspace", "gc", "--yes", "--json"]);
    // Another `gc` frees it, and a task takes it.
    let mut store = ground.store();
    let listed = store.workspaces(&ProjectName::new("app")).unwrap();
    assert!(store.free_workspace(&listed[0]).unwrap());
    store.reserve_workspace(&name, &id).unwrap();
    let git = ground.yard.open();
    ground.yard.acquire(&git, id.as_str(), "fix");
    let slot = ground.yard.slot();
    fs::write(slot.join("README"), "unsaved\n").unwrap();
    drop(lock);
    let (code, said) = told(&child.wait_with_output().unwrap());
    assert_eq!(code, 0, "{said}");
    assert_eq!(fs::read(slot.join("README")).unwrap(), b"unsaved\n");
    let head = ground.yard.git(&slot, &["symbolic-ref", "HEAD"]);
    assert_eq!(head, "refs/heads/fix\n");
    let held = store.workspace_of(&id).unwrap().unwrap();
    assert_eq!(held.state, WorkspaceState::Reserved(id));
}

#[test]
fn a_retired_workspace_in_which_somebody_works_is_left() {
    let ground = HomeFixture::new(1);
    let id = ground.create_with_workspace();
    ground.go(&id, "manned");
    let slot = ground.yard.slot();
    fs::write(slot.join("README"), "unsaved\n").unwrap();
    let before = files_without_task(&slot);
    let left = |why: &str| {
        let answer = ground.json(&["workspace", "gc", "--yes"]);
        let reason = answer["unusable_workspaces"][0]["reason"].as_str().unwrap();
        assert!(reason.contains(why), "{answer}");
        assert_eq!(answer["freed_workspaces"], serde_json::json!([]));
        assert_eq!(files_without_task(&slot), before);
        assert!(slot.join("TASK.md").is_file());
        assert_eq!(states(&ground), ["retired"]);
    };
    let name = WorkspaceName::new("app--1");
    ground.store().retire_workspace(&name).unwrap();
    let link = ground.home().tasks().join("app").join(id.as_str());
    let link = link.join(".bound");
    let file = fs::read_link(&link).unwrap();
    fs::remove_file(&link).unwrap();
    left("an agent of task");
    // Without its agent it still belongs to the task.
    std::os::unix::fs::symlink(file, &link).unwrap();
    ground.go(&id, "held");
    left("uses it: release it");
    ground.go(&id, "closed");
    let answer = ground.json(&["workspace", "gc"]);
    assert_eq!(answer["freed_workspaces"], serde_json::json!(["app--1"]));
    let kept = ground.driver().workspaces.rescues_of(&id, None).unwrap();
    assert_eq!(kept[0].paths, ["README"]);
}

#[test]
fn a_rebuild_that_left_a_task_out_does_not_cost_its_agent_the_worktree() {
    let ground = HomeFixture::new(1);
    let id = ground.create_with_workspace();
    let task = ground.go(&id, "manned");
    let run = &task.runs[&Role::Worker].id;
    let slot = ground.yard.slot();
    fs::write(slot.join("README"), "unsaved\n").unwrap();
    let history = ground.home().tasks().join("app").join(id.as_str());
    fs::write(history.join("history.jsonl"), "torn\n").unwrap();
    let (code, said) = ground.call(&["rebuild", "--move-aside"]);
    assert_eq!(code, 3, "{said}");
    // The pool no longer knows the worktree, until a task finds an agent in it.
    let next = ground.create(Some("next"));
    ground.go(&next, "held");
    assert_eq!(states(&ground)[0], "retired");
    let before = files(&slot);
    let answer = ground.json(&["workspace", "gc", "--yes"]);
    let reason = answer["unusable_workspaces"][0]["reason"].as_str().unwrap();
    assert!(reason.contains(id.as_str()), "{answer}");
    assert_eq!(answer["freed_workspaces"], serde_json::json!([]));
    assert_eq!(files(&slot), before);
    let head = ground.yard.git(&slot, &["symbolic-ref", "HEAD"]);
    assert_eq!(head, "refs/heads/fix\n");
    let own = format!("ORANGE_RUN_ID={run}");
    assert_ne!(
        processes_with(own.as_bytes()),
        [] as [u32; 0],
        "it works on"
    );
}

#[test]
fn ignored_files_are_listed_and_moved_only_when_that_was_said() {
    let ground = HomeFixture::new(1);
    let id = ground.create_with_workspace();
    let slot = ground.yard.slot();
    fs::create_dir_all(slot.join("cache/deep")).unwrap();
    fs::write(slot.join("cache/deep/a"), "cached\n").unwrap();
    fs::write(slot.join(".env"), "SECRET=1\n").unwrap();
    ground.go(&id, "closed");
    let before = files(&slot);
    let (code, said) = ground.call(&["workspace", "gc"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains(".env") && said.contains("--yes"), "{said}");
    let answer = ground.json(&["workspace", "gc"]);
    let entries = serde_json::json!([".env", "cache"]);
    assert_eq!(answer["ignored_files"][0]["entries"], entries);
    assert_eq!(answer["ignored_files"][0]["bytes"], 16);
    assert_eq!(files(&slot), before);
    let answer = ground.json(&["workspace", "gc", "--yes"]);
    let aside = answer["ignored_files"][0]["moved_to"].as_str().unwrap();
    let aside = files(Path::new(aside));
    assert_eq!(aside.get(Path::new(".env")), before.get(Path::new(".env")));
    let deep = Path::new("cache/deep/a");
    assert_eq!(aside.get(deep), before.get(deep));
    assert!(!slot.join(".env").exists() && !slot.join("cache").exists());
    let answer = ground.json(&["workspace", "gc", "--yes"]);
    assert_eq!(answer["ignored_files"], serde_json::json!([]));
}

#[test]
fn a_rescue_is_forgotten_only_when_every_byte_is_merged() {
    let ground = HomeFixture::new(1);
    let yard = &ground.yard;
    let id = ground.create_with_workspace();
    let slot = yard.slot();
    fs::write(slot.join("README"), "staged\n").unwrap();
    yard.git(&slot, &["add", "README"]);
    fs::write(slot.join("README"), "unsaved\n").unwrap();
    fs::write(slot.join("new"), "new\n").unwrap();
    ground.go(&id, "closed");
    let merged = |confirmed: &[&str]| {
        let words = ["workspace", "gc"].iter().chain(confirmed);
        let answer = ground.json(&words.copied().collect::<Vec<_>>());
        answer["merged_rescues"].as_array().unwrap().len()
    };
    assert_eq!(merged(&["--yes"]), 0);
    yard.commit(&yard.app(), "new", "new\n");
    yard.commit(&yard.app(), "README", "unsaved\n");
    // The staged content exists only in the rescue.
    assert_eq!(merged(&["--yes"]), 0);
    assert_eq!(yard.open().all_rescues().unwrap().len(), 1);
    // Another task, whose work is fully merged.
    let other = ground.create(Some("other"));
    ground.go(&other, "held");
    fs::write(slot.join("README"), "merged\n").unwrap();
    ground.go(&other, "closed");
    assert_eq!(yard.open().all_rescues().unwrap().len(), 2);
    yard.commit(&yard.app(), "README", "merged\n");
    assert_eq!(merged(&[]), 1);
    assert_eq!(yard.open().all_rescues().unwrap().len(), 2);
    assert_eq!(merged(&["--yes"]), 1);
    let left = yard.open().all_rescues().unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].about.task, id);
}

#[test]
fn lesson_3_a_torn_task_file_triggers_no_cleanup() {
    let ground = HomeFixture::new(1);
    let id = ground.create_with_workspace();
    let slot = ground.yard.slot();
    fs::write(slot.join("README"), "unsaved\n").unwrap();
    for torn in [
        &b"---\nstatus: he"[..],
        b"",
        b"\xff\xfe\x00",
        b"---\nid: [\n---\n",
    ] {
        fs::write(slot.join("TASK.md"), torn).unwrap();
        let before = files(&slot);
        let answer = ground.json(&["workspace", "gc", "--yes"]);
        assert_eq!(answer["freed_workspaces"], serde_json::json!([]));
        assert_eq!(files(&slot), before);
        assert_eq!(states(&ground), ["bound"]);
    }
    fs::remove_file(slot.join("TASK.md")).unwrap();
    ground.json(&["workspace", "gc", "--yes"]);
    assert_eq!(fs::read(slot.join("README")).unwrap(), b"unsaved\n");
    assert_eq!(ground.task(&id).status.as_str(), "held");
}

#[test]
fn lesson_6_two_who_collect_and_one_who_starts_lose_nothing() {
    let ground = HomeFixture::new(1);
    let id = ground.create_with_workspace();
    fs::write(ground.yard.slot().join(".env"), "SECRET=1\n").unwrap();
    ground.go(&id, "open");
    let mut calls = Vec::new();
    for _ in 0..4 {
        calls.push(
            ground
                .orange(&["workspace", "gc", "--yes"])
                .spawn()
                .unwrap(),
        );
    }
    calls.push(
        ground
            .orange(&["task", "spawn", id.as_str(), "--wait", "60"])
            .spawn()
            .unwrap(),
    );
    for mut call in calls {
        assert!(call.wait().unwrap().success());
    }
    ground.driver().performer.perform_until_done(&id).unwrap();
    assert_eq!(ground.task(&id).status.as_str(), "held");
    assert_eq!(states(&ground), ["bound"]);
    let mut copies = Vec::new();
    for folder in fs::read_dir(ground.home().set_aside())
        .into_iter()
        .flatten()
    {
        copies.extend(fs::read(folder.unwrap().path().join(".env")).ok());
    }
    copies.extend(fs::read(ground.yard.slot().join(".env")).ok());
    assert_eq!(copies, [b"SECRET=1\n"], "in one place");
}

#[test]
fn lesson_7_what_was_brought_back_once_does_not_undo_newer_work() {
    let ground = HomeFixture::new(1);
    let id = ground.create_with_workspace();
    let slot = ground.yard.slot();
    fs::write(slot.join("draft"), "old\n").unwrap();
    ground.go(&id, "open");
    ground.go(&id, "held");
    assert_eq!(fs::read(slot.join("draft")).unwrap(), b"old\n");
    // The agent removes it on purpose, and releases a clean worktree.
    fs::remove_file(slot.join("draft")).unwrap();
    ground.go(&id, "open");
    ground.go(&id, "held");
    assert!(!slot.join("draft").exists());
    assert_eq!(ground.task(&id).attention, [] as [&str; 0]);
    let kept = ground.driver().workspaces.rescues_of(&id, None).unwrap();
    assert!(kept[0].is_restored && kept.len() == 1);
}

#[test]
fn rescues_are_listed_shown_and_brought_back_by_the_program() {
    let ground = HomeFixture::new(1);
    let id = ground.create_with_workspace();
    let task = id.as_str();
    let slot = ground.yard.slot();
    let (code, said) = ground.call(&["task", "restore", task]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("no saved work"), "{said}");
    fs::write(slot.join("README"), "unsaved\n").unwrap();
    fs::write(slot.join("new\nline"), "odd\n").unwrap();
    ground.go(&id, "closed");
    let said = ground.call(&["task", "restore", task]).1;
    assert!(said.contains("fix, 2 files"), "{said}");
    let said = ground.call(&["task", "restore", task, "1"]).1;
    assert!(
        said.contains("README") && said.contains("new\\nline"),
        "{said}"
    );
    assert_eq!(ground.call(&["task", "restore", task, "2"]).0, 4);
    assert_eq!(ground.call(&["task", "restore", task, "--worktree"]).0, 2);
    let (code, said) = ground.call(&["task", "restore", task, "1", "--worktree"]);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("--branch"), "{said}");
    let (code, said) = ground.call(&["task", "restore", task, "1", "--branch=-x"]);
    assert_eq!(code, 2, "{said}");
    let (code, said) = ground.call(&["task", "restore", task, "1", "--branch", "kept"]);
    assert_eq!(code, 0, "{said}");
    let shown = ground
        .yard
        .git(&ground.yard.app(), &["show", "kept:README"]);
    assert_eq!(shown, "unsaved\n");
    // Relative to the user's directory; existing files are not replaced.
    let (code, said) = ground.call(&["task", "restore", task, "1", "--directory", "../out"]);
    assert_eq!(code, 0, "{said}");
    let out = ground.yard.path("out");
    assert_eq!(fs::read(out.join("new\nline")).unwrap(), b"odd\n");
    fs::write(out.join("README"), "mine\n").unwrap();
    let (code, said) = ground.call(&["task", "restore", task, "1", "--directory", "../out"]);
    assert_eq!(code, 3, "{said}");
    assert_eq!(fs::read(out.join("README")).unwrap(), b"mine\n");
}

/// A task in the first workspace whose rescue was restored once and then removed.
fn hold_with_rescue(ground: &HomeFixture) -> TaskId {
    let id = ground.create_with_workspace();
    let draft = ground.yard.slot().join("draft");
    fs::write(&draft, "old\n").unwrap();
    ground.go(&id, "open");
    ground.go(&id, "held");
    fs::remove_file(draft).unwrap();
    id
}

#[test]
fn a_rescue_does_not_come_back_into_what_the_pool_gave_away() {
    let ground = HomeFixture::new(1);
    let id = hold_with_rescue(&ground);
    let (lock, path) = hold_lock(&ground);
    let words = ["task", "restore", id.as_str(), "1", "--worktree"];
    let child = call_until_locked(&ground, &path, &words);
    let mut store = ground.store();
    let held = store.workspace_of(&id).unwrap().unwrap();
    assert!(store.free_workspace(&held).unwrap());
    drop(lock);
    let (code, said) = told(&child.wait_with_output().unwrap());
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("has no worktree now"), "{said}");
    assert!(!ground.yard.slot().join("draft").exists());
}

#[test]
fn a_rescue_does_not_come_back_into_what_is_marked_as_anothers() {
    let ground = HomeFixture::new(1);
    let id = hold_with_rescue(&ground);
    let git = ground.yard.open();
    ground.yard.release(&git, id.as_str());
    ground.yard.acquire(&git, "other", "other");
    let (code, said) = ground.call(&["task", "restore", id.as_str(), "1", "--worktree"]);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("has no worktree now"), "{said}");
    assert!(!ground.yard.slot().join("draft").exists());
}

#[test]
fn an_agent_does_not_change_the_pool() {
    let ground = HomeFixture::new(2);
    ground.create_with_workspace();
    for words in [&["workspace", "gc", "--yes"][..], &["workspace", "init"]] {
        // A caller inside a bound worktree counts as its worker.
        let mut orange = ground.orange(words);
        let output = orange.current_dir(ground.yard.slot()).output().unwrap();
        let (code, said) = told(&output);
        assert_eq!(code, 3, "{said}");
        assert!(said.contains("only the user may"), "{said}");
    }
    assert_eq!(states(&ground), ["bound"]);
    assert_eq!(ground.call(&["workspace", "init"]).0, 0);
    assert_eq!(states(&ground), ["bound", "free"]);
}

#[test]
fn a_renamed_branch_is_adopted_and_found_again() {
    let ground = HomeFixture::new(1);
    let id = ground.create(None);
    ground.go(&id, "held");
    let slot = ground.yard.slot();
    let usual = format!("orange-tasks/{id}");
    assert_eq!(ground.task(&id).branch.as_str(), usual);
    ground
        .yard
        .git(&slot, &["branch", "-m", &usual, "meaningful"]);
    let (code, said) = ground.call(&["task", "update", id.as_str(), "--branch"]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(ground.task(&id).branch.as_str(), "meaningful");
    ground.yard.commit(&slot, "work", "done\n");
    ground.go(&id, "open");
    ground.ask_waiting(&id, RequestKind::Verb(Verb::Spawn), WaitPolicy::Here);
    assert_eq!(fs::read(slot.join("work")).unwrap(), b"done\n");
    let branches = ground
        .yard
        .git(&ground.yard.app(), &["branch", "--list", "orange-tasks/*"]);
    assert_eq!(branches, "");
}

/// A second project, registered before the first one.
fn add_project_first(ground: &HomeFixture, name: &str, path: &Path) {
    let file = ground.home().projects();
    let text = fs::read_to_string(&file).unwrap();
    let mut projects: serde_json::Value = serde_json::from_str(&text).unwrap();
    let all = projects["projects"].as_array_mut().unwrap();
    let mut other = all[0].clone();
    other["name"] = name.into();
    other["path"] = path.display().to_string().into();
    all.insert(0, other);
    fs::write(file, projects.to_string()).unwrap();
}

#[test]
fn one_project_that_fails_keeps_no_other_waiting() {
    let ground = HomeFixture::new(1);
    let id = ground.create_with_workspace();
    ground.wrap_git("case \"$PWD\" in */workspaces/*) exit 128;; esac\nexec $real \"$@\"");
    ground.ask(&id, RequestKind::Verb(Verb::Cancel));
    ground.driver().performer.perform_until_done(&id).unwrap();
    ground.unwrap_git();
    add_project_first(&ground, "gone", &ground.yard.path("gone"));
    let (code, said) = ground.call(&["workspace", "gc", "--json"]);
    assert_eq!(code, 6, "{said}");
    let answer: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(answer["retried_tasks"], serde_json::json!([id.as_str()]));
    assert_eq!(answer["problems"][0]["project"], "gone", "{answer}");
    assert_eq!(answer["problems"].as_array().unwrap().len(), 1, "{answer}");
    assert_eq!(states(&ground), ["free"]);
    let (code, said) = ground.call(&["workspace", "gc"]);
    assert_eq!(code, 6, "{said}");
    assert!(said.contains("gone: not cleaned up: "), "{said}");
}

#[test]
fn a_rebuild_finds_the_workspaces_that_are_on_the_disk() {
    let ground = HomeFixture::new(4);
    let id = ground.create_with_workspace();
    ground.json(&["workspace", "init"]);
    // Someone else's directory with such a name is not ours.
    let theirs = ground.yard.path("workspaces/app--9");
    fs::create_dir(&theirs).unwrap();
    fs::write(theirs.join("mine"), "mine\n").unwrap();
    let listed = || ground.json(&["workspace", "list"])["workspaces"].clone();
    let before = listed();
    let rebuilt = ground.json(&["rebuild", "--move-aside"]);
    let found = serde_json::json!(["app--2", "app--3", "app--4"]);
    assert_eq!(rebuilt["workspaces"], found);
    assert_eq!(listed(), before, "states and ports included");
    assert_eq!(states(&ground), ["bound", "free", "free", "free"]);
    // They fill the pool, and a freed one is reused.
    ground.go(&id, "closed");
    let next = ground.create(Some("next"));
    ground.go(&next, "held");
    assert_eq!(states(&ground), ["bound", "free", "free", "free"]);
    assert!(theirs.join("mine").exists());
}

#[test]
fn two_projects_of_a_home_share_no_port() {
    let ground = HomeFixture::new(2);
    let other = ground.yard.path("other");
    let clone = ["clone", "-q", ".", &other.display().to_string()];
    ground.yard.git(&ground.yard.app(), &clone);
    ground.json(&["workspace", "init", "--project", "app"]);
    add_project_first(&ground, "tea", &other);
    ground.json(&["workspace", "init", "--project", "tea"]);
    let offsets = || {
        let listed = ground.json(&["workspace", "list"]);
        let listed = listed["workspaces"].as_array().unwrap().clone();
        let mut offsets: Vec<(String, u64)> = listed
            .iter()
            .map(|it| {
                let name = it["name"].as_str().unwrap().to_owned();
                (name, it["port_offset"].as_u64().unwrap())
            })
            .collect();
        offsets.sort();
        offsets
    };
    let expected = [
        (String::from("app--1"), 100),
        (String::from("app--2"), 200),
        (String::from("tea--1"), 300),
        (String::from("tea--2"), 400),
    ];
    assert_eq!(offsets(), expected);
    // They stay the same when the pool's records are rebuilt, in whatever order.
    ground.json(&["rebuild", "--move-aside"]);
    assert_eq!(offsets(), expected);
}
