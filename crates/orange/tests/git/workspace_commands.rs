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

use crate::home_fixture::{
    HomeFixture, code_and_text, files_without_task, processes_with, wait_for,
};
use crate::repo_fixture::files;

fn states(fixture: &HomeFixture) -> Vec<String> {
    let listed = fixture.json(&["workspace", "list"]);
    let listed = listed["workspaces"].as_array().unwrap();
    let state = |it: &serde_json::Value| it["state"].as_str().unwrap().to_owned();
    listed.iter().map(state).collect()
}

#[test]
fn the_pool_is_created_lazily_or_in_advance_within_its_size() {
    let fixture = HomeFixture::new(3);
    assert_eq!(states(&fixture), [] as [&str; 0]);
    let id = fixture.create_with_workspace();
    assert_eq!(states(&fixture), ["bound"]);
    let (code, output) = fixture.call(&["workspace", "init", "4"]);
    assert_eq!(code, 2, "{output}");
    assert!(output.contains("--pool-size"), "{output}");
    for _twice in 0..2 {
        let made = fixture.json(&["workspace", "init"]);
        let made = made["workspaces"].as_array().unwrap();
        assert_eq!(made.len(), 3);
        for (number, it) in made.iter().enumerate() {
            assert_eq!(it["name"], format!("app--{}", number + 1));
            assert_eq!(it["port_offset"], (number + 1) * 100);
            assert_eq!(it["exists"], true);
            let path = Path::new(it["path"].as_str().unwrap());
            assert!(path.join("README").is_file());
            let head = fixture.repo.try_git(path, &["symbolic-ref", "-q", "HEAD"]);
            assert_eq!(head.status.success(), number == 0, "detached when idle");
        }
    }
    assert_eq!(states(&fixture), ["bound", "free", "free"]);
    assert_eq!(
        fixture.json(&["workspace", "list"])["workspaces"][0]["task"],
        id.as_str()
    );
    let (code, output) = fixture.call(&["workspace", "list"]);
    assert_eq!(code, 0);
    assert!(
        output.contains("app--1") && output.contains("+100"),
        "{output}"
    );
    // Reused, not recreated.
    fixture.move_to(&id, "closed");
    let next = fixture.create(Some("next"));
    fixture.move_to(&next, "held");
    assert_eq!(states(&fixture), ["bound", "free", "free"]);
}

#[test]
fn lesson_34_an_obstacle_to_a_new_workspace_is_left_alone() {
    let fixture = HomeFixture::new(2);
    let slot = fixture.repo.slot();
    fs::create_dir_all(&slot).unwrap();
    fs::write(slot.join("mine"), "mine\n").unwrap();
    let theirs = fixture.repo.path("workspaces/app--2").display().to_string();
    let add = ["worktree", "add", "-q", "-b", "theirs", &theirs];
    fixture.repo.git(&fixture.repo.app(), &add);
    fs::write(Path::new(&theirs).join("theirs"), "theirs\n").unwrap();
    let before = files(Path::new(&theirs));
    let id = fixture.create(Some("fix"));
    let task = fixture.move_to(&id, "held");
    assert_eq!(task.status.as_str(), "held", "{}", fixture.diagnostics(&id));
    let workspace = fixture.store().workspace_of(&id).unwrap().unwrap();
    assert_eq!(workspace.name.as_str(), "app--3");
    let answer = fixture.json(&["workspace", "gc", "--yes"]);
    assert_eq!(
        answer["unusable_workspaces"].as_array().unwrap().len(),
        2,
        "{answer}"
    );
    assert_eq!(fs::read(slot.join("mine")).unwrap(), b"mine\n");
    assert_eq!(files(Path::new(&theirs)), before);
    // No task ever works on the default branch.
    let head = fixture.repo.git(&workspace.path, &["symbolic-ref", "HEAD"]);
    assert_eq!(head, "refs/heads/fix\n");
    // Once the file is gone, the place is usable again.
    fs::remove_file(slot.join("mine")).unwrap();
    let answer = fixture.json(&["workspace", "gc"]);
    assert_eq!(answer["freed_workspaces"], serde_json::json!(["app--1"]));
}

#[test]
fn a_failed_release_is_retried() {
    let fixture = HomeFixture::new(1);
    let id = fixture.create_with_workspace();
    fs::write(fixture.repo.slot().join("README"), "unsaved\n").unwrap();
    // Every git call in the worktree fails, as with a full disk.
    fixture.wrap_git("case \"$PWD\" in */workspaces/*) exit 128;; esac\nexec $real \"$@\"");
    fixture.ask(&id, RequestKind::Verb(Verb::Cancel));
    fixture.driver().performer.perform_until_done(&id).unwrap();
    fixture.unwrap_git();
    let task = fixture.task(&id);
    assert_eq!(task.status.as_str(), "closed");
    assert!(
        task.attention[0].starts_with("release_workspace"),
        "{task:?}"
    );
    assert_eq!(states(&fixture), ["bound"]);
    let answer = fixture.json(&["workspace", "gc"]);
    assert_eq!(answer["retried_tasks"], serde_json::json!([id.as_str()]));
    assert_eq!(states(&fixture), ["free"]);
    assert_eq!(fixture.repo.open().rescues(&id).unwrap().len(), 1);
    let output = fixture.call(&["workspace", "gc"]).1;
    assert!(output.contains("nothing to do"), "{output}");
}

#[test]
fn a_failed_command_is_not_repeated() {
    let fixture = HomeFixture::new(1);
    let workflow = fixture.repo.path("workflows/roads.yml");
    let text = fs::read_to_string(&workflow).unwrap();
    let ran = fixture.repo.path("ran");
    let script = format!("echo once >>'{}'; exit 1", ran.display());
    let command = serde_json::json!(["/bin/sh", "-c", script]);
    let ends = "    to: closed\n    by: human\n    hooks: *let_go\n";
    assert!(text.contains(ends));
    let runs = format!(
        "    to: closed\n    by: human\n    hooks:\n      - kill_session\n      \
         - {{ action: run_command, command: {command} }}\n      - release_workspace\n"
    );
    fs::write(&workflow, text.replace(ends, &runs)).unwrap();
    let id = fixture.create_with_workspace();
    fixture.ask(&id, RequestKind::Verb(Verb::Cancel));
    fixture.driver().performer.perform_until_done(&id).unwrap();
    assert_eq!(states(&fixture), ["bound"]);
    assert_eq!(fs::read_to_string(&ran).unwrap(), "once\n");
    let answer = fixture.json(&["workspace", "gc"]);
    assert_eq!(answer["retried_tasks"], serde_json::json!([id.as_str()]));
    fixture.driver().performer.perform_until_done(&id).unwrap();
    assert_eq!(states(&fixture), ["free"]);
    assert_eq!(fs::read_to_string(&ran).unwrap(), "once\n");
    let attention = fixture.task(&id).attention;
    assert!(attention[0].starts_with("run_command"), "{attention:?}");
}

#[test]
fn the_workspace_of_a_finished_task_is_reclaimed() {
    let fixture = HomeFixture::new(1);
    let id = fixture.create(Some("fix"));
    fixture.ask(&id, RequestKind::Verb(Verb::Cancel));
    // As if its performer had been killed after the reservation and never came back.
    let project = ProjectName::new("app");
    let name = WorkspaceName::new("app--1");
    let mut store = fixture.store();
    store
        .add_workspace(&name, &project, 1, &fixture.repo.slot())
        .unwrap();
    store.reserve_workspace(&name, &id).unwrap();
    let workspace = store.workspace_of(&id).unwrap().unwrap();
    assert_eq!(workspace.state, WorkspaceState::Reserved(id.clone()));
    drop(store);
    let answer = fixture.json(&["workspace", "gc"]);
    assert_eq!(answer["freed_workspaces"], serde_json::json!(["app--1"]));
    assert_eq!(states(&fixture), ["free"]);
}

#[test]
fn a_retired_workspace_returns_once_it_is_cleaned_up() {
    let fixture = HomeFixture::new(1);
    let id = fixture.create_with_workspace();
    let slot = fixture.repo.slot();
    fixture.repo.git(&slot, &["init", "-q", "inner"]);
    fixture.repo.commit(&slot.join("inner"), "a", "a\n");
    fs::write(slot.join("README"), "unsaved\n").unwrap();
    fixture.move_to(&id, "closed");
    assert_eq!(states(&fixture), ["retired"]);
    let before = files(&slot);
    let answer = fixture.json(&["workspace", "gc", "--yes"]);
    assert!(
        answer["unusable_workspaces"][0]["reason"]
            .as_str()
            .unwrap()
            .contains("inner"),
        "{answer}"
    );
    assert_eq!(files(&slot), before);
    fs::rename(slot.join("inner"), fixture.repo.path("inner")).unwrap();
    let answer = fixture.json(&["workspace", "gc"]);
    assert_eq!(answer["freed_workspaces"], serde_json::json!(["app--1"]));
    // Other unsaved files in it were saved first.
    let kept = fixture.driver().workspaces.rescues_of(&id, None).unwrap();
    assert_eq!(kept[0].paths, ["README"]);
    let next = fixture.create(Some("next"));
    assert_eq!(fixture.move_to(&next, "held").status.as_str(), "held");
}

/// Holds the lock of the first workspace, as a process that changes it does.
fn hold_lock(fixture: &HomeFixture) -> (fs::File, PathBuf) {
    let path = fixture.home().workspaces().join(".locks/app--1");
    let lock = fs::File::open(&path).unwrap();
    lock.lock().unwrap();
    (lock, path)
}

/// Starts the program, and waits until it has decided what to do and waits for the lock.
fn call_until_locked(fixture: &HomeFixture, lock: &Path, arguments: &[&str]) -> Child {
    let mut orange = fixture.orange(arguments);
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
fn a_workspace_acquired_since_it_was_listed_is_not_touched() {
    let fixture = HomeFixture::new(1);
    let id = fixture.create(Some("fix"));
    fixture.json(&["workspace", "init"]);
    let name = WorkspaceName::new("app--1");
    fixture.store().retire_workspace(&name).unwrap();
    let (lock, path) = hold_lock(&fixture);
    let child = call_until_locked(&fixture, &path, &["workspace", "gc", "--yes", "--json"]);
    // Another `gc` frees it, and a task takes it.
    let mut store = fixture.store();
    let listed = store.workspaces(&ProjectName::new("app")).unwrap();
    assert!(store.free_workspace(&listed[0]).unwrap());
    store.reserve_workspace(&name, &id).unwrap();
    let git = fixture.repo.open();
    fixture.repo.acquire(&git, id.as_str(), "fix");
    let slot = fixture.repo.slot();
    fs::write(slot.join("README"), "unsaved\n").unwrap();
    drop(lock);
    let (code, output) = code_and_text(&child.wait_with_output().unwrap());
    assert_eq!(code, 0, "{output}");
    assert_eq!(fs::read(slot.join("README")).unwrap(), b"unsaved\n");
    let head = fixture.repo.git(&slot, &["symbolic-ref", "HEAD"]);
    assert_eq!(head, "refs/heads/fix\n");
    let workspace = store.workspace_of(&id).unwrap().unwrap();
    assert_eq!(workspace.state, WorkspaceState::Reserved(id));
}

#[test]
fn a_retired_workspace_in_use_is_left_alone() {
    let fixture = HomeFixture::new(1);
    let id = fixture.create_with_workspace();
    fixture.move_to(&id, "manned");
    let slot = fixture.repo.slot();
    fs::write(slot.join("README"), "unsaved\n").unwrap();
    let before = files_without_task(&slot);
    let left = |why: &str| {
        let answer = fixture.json(&["workspace", "gc", "--yes"]);
        let reason = answer["unusable_workspaces"][0]["reason"].as_str().unwrap();
        assert!(reason.contains(why), "{answer}");
        assert_eq!(answer["freed_workspaces"], serde_json::json!([]));
        assert_eq!(files_without_task(&slot), before);
        assert!(slot.join("TASK.md").is_file());
        assert_eq!(states(&fixture), ["retired"]);
    };
    let name = WorkspaceName::new("app--1");
    fixture.store().retire_workspace(&name).unwrap();
    let link = fixture.home().tasks().join("app").join(id.as_str());
    let link = link.join(".bound");
    let file = fs::read_link(&link).unwrap();
    fs::remove_file(&link).unwrap();
    left("an agent of task");
    // Without its agent it still belongs to the task.
    std::os::unix::fs::symlink(file, &link).unwrap();
    fixture.move_to(&id, "held");
    left("uses it: release it");
    fixture.move_to(&id, "closed");
    let answer = fixture.json(&["workspace", "gc"]);
    assert_eq!(answer["freed_workspaces"], serde_json::json!(["app--1"]));
    let kept = fixture.driver().workspaces.rescues_of(&id, None).unwrap();
    assert_eq!(kept[0].paths, ["README"]);
}

#[test]
fn a_rebuild_without_a_task_keeps_its_agents_worktree() {
    let fixture = HomeFixture::new(1);
    let id = fixture.create_with_workspace();
    let task = fixture.move_to(&id, "manned");
    let run = &task.runs[&Role::Worker].id;
    let slot = fixture.repo.slot();
    fs::write(slot.join("README"), "unsaved\n").unwrap();
    let history = fixture.home().tasks().join("app").join(id.as_str());
    fs::write(history.join("history.jsonl"), "torn\n").unwrap();
    let (code, output) = fixture.call(&["rebuild", "--move-aside"]);
    assert_eq!(code, 3, "{output}");
    // The pool no longer knows the worktree, until a task finds an agent in it.
    let next = fixture.create(Some("next"));
    fixture.move_to(&next, "held");
    assert_eq!(states(&fixture)[0], "retired");
    let before = files(&slot);
    let answer = fixture.json(&["workspace", "gc", "--yes"]);
    let reason = answer["unusable_workspaces"][0]["reason"].as_str().unwrap();
    assert!(reason.contains(id.as_str()), "{answer}");
    assert_eq!(answer["freed_workspaces"], serde_json::json!([]));
    assert_eq!(files(&slot), before);
    let head = fixture.repo.git(&slot, &["symbolic-ref", "HEAD"]);
    assert_eq!(head, "refs/heads/fix\n");
    let own = format!("ORANGE_RUN_ID={run}");
    assert_ne!(
        processes_with(own.as_bytes()),
        [] as [u32; 0],
        "it works on"
    );
}

#[test]
fn ignored_files_are_listed_and_moved_only_on_request() {
    let fixture = HomeFixture::new(1);
    let id = fixture.create_with_workspace();
    let slot = fixture.repo.slot();
    fs::create_dir_all(slot.join("cache/deep")).unwrap();
    fs::write(slot.join("cache/deep/a"), "cached\n").unwrap();
    fs::write(slot.join(".env"), "SECRET=1\n").unwrap();
    fixture.move_to(&id, "closed");
    let before = files(&slot);
    let (code, output) = fixture.call(&["workspace", "gc"]);
    assert_eq!(code, 0, "{output}");
    assert!(
        output.contains(".env") && output.contains("--yes"),
        "{output}"
    );
    let answer = fixture.json(&["workspace", "gc"]);
    let entries = serde_json::json!([".env", "cache"]);
    assert_eq!(answer["ignored_files"][0]["entries"], entries);
    assert_eq!(answer["ignored_files"][0]["bytes"], 16);
    assert_eq!(files(&slot), before);
    let answer = fixture.json(&["workspace", "gc", "--yes"]);
    let aside = answer["ignored_files"][0]["moved_to"].as_str().unwrap();
    let aside = files(Path::new(aside));
    assert_eq!(aside.get(Path::new(".env")), before.get(Path::new(".env")));
    let deep = Path::new("cache/deep/a");
    assert_eq!(aside.get(deep), before.get(deep));
    assert!(!slot.join(".env").exists() && !slot.join("cache").exists());
    let answer = fixture.json(&["workspace", "gc", "--yes"]);
    assert_eq!(answer["ignored_files"], serde_json::json!([]));
}

#[test]
fn a_rescue_is_deleted_only_when_every_byte_is_merged() {
    let fixture = HomeFixture::new(1);
    let repo = &fixture.repo;
    let id = fixture.create_with_workspace();
    let slot = repo.slot();
    fs::write(slot.join("README"), "staged\n").unwrap();
    repo.git(&slot, &["add", "README"]);
    fs::write(slot.join("README"), "unsaved\n").unwrap();
    fs::write(slot.join("new"), "new\n").unwrap();
    fixture.move_to(&id, "closed");
    let merged = |confirmed: &[&str]| {
        let words = ["workspace", "gc"].iter().chain(confirmed);
        let answer = fixture.json(&words.copied().collect::<Vec<_>>());
        answer["merged_rescues"].as_array().unwrap().len()
    };
    assert_eq!(merged(&["--yes"]), 0);
    repo.commit(&repo.app(), "new", "new\n");
    repo.commit(&repo.app(), "README", "unsaved\n");
    // The staged content exists only in the rescue.
    assert_eq!(merged(&["--yes"]), 0);
    assert_eq!(repo.open().all_rescues().unwrap().len(), 1);
    // Another task, whose work is fully merged.
    let other = fixture.create(Some("other"));
    fixture.move_to(&other, "held");
    fs::write(slot.join("README"), "merged\n").unwrap();
    fixture.move_to(&other, "closed");
    assert_eq!(repo.open().all_rescues().unwrap().len(), 2);
    repo.commit(&repo.app(), "README", "merged\n");
    assert_eq!(merged(&[]), 1);
    assert_eq!(repo.open().all_rescues().unwrap().len(), 2);
    assert_eq!(merged(&["--yes"]), 1);
    let left = repo.open().all_rescues().unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].about.task, id);
}

#[test]
fn lesson_3_a_torn_task_file_triggers_no_cleanup() {
    let fixture = HomeFixture::new(1);
    let id = fixture.create_with_workspace();
    let slot = fixture.repo.slot();
    fs::write(slot.join("README"), "unsaved\n").unwrap();
    for torn in [
        &b"---\nstatus: he"[..],
        b"",
        b"\xff\xfe\x00",
        b"---\nid: [\n---\n",
    ] {
        fs::write(slot.join("TASK.md"), torn).unwrap();
        let before = files(&slot);
        let answer = fixture.json(&["workspace", "gc", "--yes"]);
        assert_eq!(answer["freed_workspaces"], serde_json::json!([]));
        assert_eq!(files(&slot), before);
        assert_eq!(states(&fixture), ["bound"]);
    }
    fs::remove_file(slot.join("TASK.md")).unwrap();
    fixture.json(&["workspace", "gc", "--yes"]);
    assert_eq!(fs::read(slot.join("README")).unwrap(), b"unsaved\n");
    assert_eq!(fixture.task(&id).status.as_str(), "held");
}

#[test]
fn lesson_6_two_collections_and_a_start_lose_nothing() {
    let fixture = HomeFixture::new(1);
    let id = fixture.create_with_workspace();
    fs::write(fixture.repo.slot().join(".env"), "SECRET=1\n").unwrap();
    fixture.move_to(&id, "open");
    let mut calls = Vec::new();
    for _ in 0..4 {
        calls.push(
            fixture
                .orange(&["workspace", "gc", "--yes"])
                .spawn()
                .unwrap(),
        );
    }
    calls.push(
        fixture
            .orange(&["task", "spawn", id.as_str(), "--wait", "60"])
            .spawn()
            .unwrap(),
    );
    for mut call in calls {
        assert!(call.wait().unwrap().success());
    }
    fixture.driver().performer.perform_until_done(&id).unwrap();
    assert_eq!(fixture.task(&id).status.as_str(), "held");
    assert_eq!(states(&fixture), ["bound"]);
    let mut copies = Vec::new();
    for folder in fs::read_dir(fixture.home().set_aside())
        .into_iter()
        .flatten()
    {
        copies.extend(fs::read(folder.unwrap().path().join(".env")).ok());
    }
    copies.extend(fs::read(fixture.repo.slot().join(".env")).ok());
    assert_eq!(copies, [b"SECRET=1\n"], "in one place");
}

#[test]
fn lesson_7_a_restored_rescue_does_not_undo_newer_work() {
    let fixture = HomeFixture::new(1);
    let id = fixture.create_with_workspace();
    let slot = fixture.repo.slot();
    fs::write(slot.join("draft"), "old\n").unwrap();
    fixture.move_to(&id, "open");
    fixture.move_to(&id, "held");
    assert_eq!(fs::read(slot.join("draft")).unwrap(), b"old\n");
    // The agent removes it on purpose, and releases a clean worktree.
    fs::remove_file(slot.join("draft")).unwrap();
    fixture.move_to(&id, "open");
    fixture.move_to(&id, "held");
    assert!(!slot.join("draft").exists());
    assert_eq!(fixture.task(&id).attention, [] as [&str; 0]);
    let kept = fixture.driver().workspaces.rescues_of(&id, None).unwrap();
    assert!(kept[0].is_restored && kept.len() == 1);
}

#[test]
fn all_work_of_a_release_is_restored_although_a_gitignore_hid_a_part() {
    let fixture = HomeFixture::new(1);
    let id = fixture.create_with_workspace();
    let slot = fixture.repo.slot();
    fs::write(slot.join(".gitignore"), "node_modules/\n").unwrap();
    fs::create_dir(slot.join("node_modules")).unwrap();
    fs::write(slot.join("node_modules/j.js"), "hidden\n").unwrap();
    fs::write(slot.join("work.txt"), "hours of work\n").unwrap();
    let status = || fixture.repo.git(&slot, &["status", "--porcelain"]);
    let before = status();
    assert_eq!(before, " M .gitignore\n?? work.txt\n");
    // The second time, the same is not saved again.
    for _time in 0..2 {
        fixture.move_to(&id, "open");
        assert!(!slot.join("node_modules").exists());
        let kept = fixture.driver().workspaces.rescues_of(&id, None).unwrap();
        let links: Vec<_> = kept.iter().map(|it| (it.number, it.earlier)).collect();
        assert_eq!(links, [(1, None), (2, Some(1))]);
        assert_eq!(kept[0].paths, [".gitignore", "work.txt"]);
        assert_eq!(kept[1].paths, ["node_modules/j.js"]);
        assert_eq!(kept[1].branch, kept[0].branch);
        let (_, listed) = fixture.call(&["task", "restore", id.as_str()]);
        assert!(listed.contains(", belongs to 1"), "{listed}");
        fixture.move_to(&id, "held");
        assert_eq!(fixture.task(&id).attention, [] as [&str; 0]);
        assert_eq!(status(), before);
        assert_eq!(fs::read(slot.join("work.txt")).unwrap(), b"hours of work\n");
        assert!(slot.join("node_modules/j.js").exists());
    }
}

#[test]
fn a_release_that_saved_twice_is_restored_as_a_whole_or_reported() {
    let fixture = HomeFixture::new(1);
    let id = fixture.create_with_workspace();
    let slot = fixture.repo.slot();
    fs::write(slot.join(".gitignore"), "node_modules/\n").unwrap();
    fs::create_dir(slot.join("node_modules")).unwrap();
    fs::write(slot.join("node_modules/j.js"), "hidden\n").unwrap();
    fixture.move_to(&id, "open");
    let branch = fixture.task(&id).branch;
    let app = fixture.repo.app();
    fixture.repo.git(&app, &["switch", "-q", branch.as_str()]);
    fixture.repo.commit(&app, ".gitignore", "other\n");
    fixture.repo.git(&app, &["switch", "-q", "main"]);
    fixture.move_to(&id, "held");
    assert!(!slot.join("node_modules").exists());
    let attention = fixture.task(&id).attention;
    let expected = format!(
        "saved work 1 and 2 was not restored: 1 of its files have changed since it was saved \
         (`.gitignore`); it is kept, and `orange task restore {id}` lists it"
    );
    assert_eq!(attention, [expected]);
}

#[test]
fn rescues_are_listed_shown_and_restored_by_the_program() {
    let fixture = HomeFixture::new(1);
    let id = fixture.create_with_workspace();
    let task = id.as_str();
    let slot = fixture.repo.slot();
    let (code, output) = fixture.call(&["task", "restore", task]);
    assert_eq!(code, 0, "{output}");
    assert!(output.contains("no saved work"), "{output}");
    fs::write(slot.join("README"), "unsaved\n").unwrap();
    fs::write(slot.join("new\nline"), "odd\n").unwrap();
    fixture.move_to(&id, "closed");
    let output = fixture.call(&["task", "restore", task]).1;
    assert!(output.contains("fix, 2 files"), "{output}");
    let output = fixture.call(&["task", "restore", task, "1"]).1;
    assert!(
        output.contains("README") && output.contains("new\\nline"),
        "{output}"
    );
    assert_eq!(fixture.call(&["task", "restore", task, "2"]).0, 4);
    assert_eq!(fixture.call(&["task", "restore", task, "--worktree"]).0, 2);
    let (code, output) = fixture.call(&["task", "restore", task, "1", "--worktree"]);
    assert_eq!(code, 3, "{output}");
    assert!(output.contains("--branch"), "{output}");
    let (code, output) = fixture.call(&["task", "restore", task, "1", "--branch=-x"]);
    assert_eq!(code, 2, "{output}");
    let (code, output) = fixture.call(&["task", "restore", task, "1", "--branch", "kept"]);
    assert_eq!(code, 0, "{output}");
    let shown = fixture
        .repo
        .git(&fixture.repo.app(), &["show", "kept:README"]);
    assert_eq!(shown, "unsaved\n");
    // Relative to the user's directory; existing files are not replaced.
    let (code, output) = fixture.call(&["task", "restore", task, "1", "--directory", "../out"]);
    assert_eq!(code, 0, "{output}");
    let out = fixture.repo.path("out");
    assert_eq!(fs::read(out.join("new\nline")).unwrap(), b"odd\n");
    fs::write(out.join("README"), "mine\n").unwrap();
    let (code, output) = fixture.call(&["task", "restore", task, "1", "--directory", "../out"]);
    assert_eq!(code, 3, "{output}");
    assert_eq!(fs::read(out.join("README")).unwrap(), b"mine\n");
}

/// A task in the first workspace whose rescue was restored once and then removed.
fn hold_with_rescue(fixture: &HomeFixture) -> TaskId {
    let id = fixture.create_with_workspace();
    let draft = fixture.repo.slot().join("draft");
    fs::write(&draft, "old\n").unwrap();
    fixture.move_to(&id, "open");
    fixture.move_to(&id, "held");
    fs::remove_file(draft).unwrap();
    id
}

#[test]
fn a_rescue_is_not_restored_into_a_reassigned_workspace() {
    let fixture = HomeFixture::new(1);
    let id = hold_with_rescue(&fixture);
    let (lock, path) = hold_lock(&fixture);
    let words = ["task", "restore", id.as_str(), "1", "--worktree"];
    let child = call_until_locked(&fixture, &path, &words);
    let mut store = fixture.store();
    let workspace = store.workspace_of(&id).unwrap().unwrap();
    assert!(store.free_workspace(&workspace).unwrap());
    drop(lock);
    let (code, output) = code_and_text(&child.wait_with_output().unwrap());
    assert_eq!(code, 3, "{output}");
    assert!(output.contains("has no worktree now"), "{output}");
    assert!(!fixture.repo.slot().join("draft").exists());
}

#[test]
fn a_rescue_is_not_restored_into_a_workspace_marked_for_another_task() {
    let fixture = HomeFixture::new(1);
    let id = hold_with_rescue(&fixture);
    let git = fixture.repo.open();
    fixture.repo.release(&git, id.as_str());
    fixture.repo.acquire(&git, "other", "other");
    let (code, output) = fixture.call(&["task", "restore", id.as_str(), "1", "--worktree"]);
    assert_eq!(code, 3, "{output}");
    assert!(output.contains("has no worktree now"), "{output}");
    assert!(!fixture.repo.slot().join("draft").exists());
}

#[test]
fn an_agent_cannot_change_the_pool() {
    let fixture = HomeFixture::new(2);
    fixture.create_with_workspace();
    for words in [&["workspace", "gc", "--yes"][..], &["workspace", "init"]] {
        // A caller inside a bound worktree counts as its worker.
        let mut orange = fixture.orange(words);
        let output = orange.current_dir(fixture.repo.slot()).output().unwrap();
        let (code, text) = code_and_text(&output);
        assert_eq!(code, 3, "{text}");
        assert!(text.contains("only the user may"), "{text}");
    }
    assert_eq!(states(&fixture), ["bound"]);
    assert_eq!(fixture.call(&["workspace", "init"]).0, 0);
    assert_eq!(states(&fixture), ["bound", "free"]);
}

#[test]
fn a_renamed_branch_is_adopted_and_found_again() {
    let fixture = HomeFixture::new(1);
    let id = fixture.create(None);
    fixture.move_to(&id, "held");
    let slot = fixture.repo.slot();
    let usual = format!("orange-tasks/{id}");
    assert_eq!(fixture.task(&id).branch.as_str(), usual);
    fixture
        .repo
        .git(&slot, &["branch", "-m", &usual, "meaningful"]);
    let (code, output) = fixture.call(&["task", "update", id.as_str(), "--branch"]);
    assert_eq!(code, 0, "{output}");
    assert_eq!(fixture.task(&id).branch.as_str(), "meaningful");
    fixture.repo.commit(&slot, "work", "done\n");
    fixture.move_to(&id, "open");
    fixture.ask_waiting(&id, RequestKind::Verb(Verb::Spawn), WaitPolicy::Here);
    assert_eq!(fs::read(slot.join("work")).unwrap(), b"done\n");
    let branches = fixture
        .repo
        .git(&fixture.repo.app(), &["branch", "--list", "orange-tasks/*"]);
    assert_eq!(branches, "");
}

/// A second project, registered before the first one.
fn add_project_first(fixture: &HomeFixture, name: &str, path: &Path) {
    let file = fixture.home().projects();
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
fn a_failing_project_does_not_block_the_others() {
    let fixture = HomeFixture::new(1);
    let id = fixture.create_with_workspace();
    fixture.wrap_git("case \"$PWD\" in */workspaces/*) exit 128;; esac\nexec $real \"$@\"");
    fixture.ask(&id, RequestKind::Verb(Verb::Cancel));
    fixture.driver().performer.perform_until_done(&id).unwrap();
    fixture.unwrap_git();
    add_project_first(&fixture, "gone", &fixture.repo.path("gone"));
    let (code, output) = fixture.call(&["workspace", "gc", "--json"]);
    assert_eq!(code, 6, "{output}");
    let answer: serde_json::Value = serde_json::from_str(&output).unwrap();
    assert_eq!(answer["retried_tasks"], serde_json::json!([id.as_str()]));
    assert_eq!(answer["problems"][0]["project"], "gone", "{answer}");
    assert_eq!(answer["problems"].as_array().unwrap().len(), 1, "{answer}");
    assert_eq!(states(&fixture), ["free"]);
    let (code, output) = fixture.call(&["workspace", "gc"]);
    assert_eq!(code, 6, "{output}");
    assert!(output.contains("gone: not cleaned up: "), "{output}");
}

#[test]
fn a_rebuild_finds_the_workspaces_on_disk() {
    let fixture = HomeFixture::new(4);
    let id = fixture.create_with_workspace();
    fixture.json(&["workspace", "init"]);
    // Someone else's directory with such a name is not ours.
    let theirs = fixture.repo.path("workspaces/app--9");
    fs::create_dir(&theirs).unwrap();
    fs::write(theirs.join("mine"), "mine\n").unwrap();
    let listed = || fixture.json(&["workspace", "list"])["workspaces"].clone();
    let before = listed();
    let rebuilt = fixture.json(&["rebuild", "--move-aside"]);
    let found = serde_json::json!(["app--2", "app--3", "app--4"]);
    assert_eq!(rebuilt["workspaces"], found);
    assert_eq!(listed(), before, "states and ports included");
    assert_eq!(states(&fixture), ["bound", "free", "free", "free"]);
    // They fill the pool, and a freed one is reused.
    fixture.move_to(&id, "closed");
    let next = fixture.create(Some("next"));
    fixture.move_to(&next, "held");
    assert_eq!(states(&fixture), ["bound", "free", "free", "free"]);
    assert!(theirs.join("mine").exists());
}

#[test]
fn two_projects_of_a_home_share_no_port() {
    let fixture = HomeFixture::new(2);
    let other = fixture.repo.path("other");
    let clone = ["clone", "-q", ".", &other.display().to_string()];
    fixture.repo.git(&fixture.repo.app(), &clone);
    fixture.json(&["workspace", "init", "--project", "app"]);
    add_project_first(&fixture, "tea", &other);
    fixture.json(&["workspace", "init", "--project", "tea"]);
    let offsets = || {
        let listed = fixture.json(&["workspace", "list"]);
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
    fixture.json(&["rebuild", "--move-aside"]);
    assert_eq!(offsets(), expected);
}
