//! `orange uninstall`: what it removes, what it saves, and how it continues.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use orange_engine::names::TaskId;
use orange_engine::role::Role;
use serde_json::json;

use crate::support::{Stage, Terminal};

/// A task with a commit, a changed file, an untracked file and an ignored one; its agent lives.
fn stage_with_work() -> (Stage, TaskId) {
    let stage = Stage::new("default");
    fs::write(stage.path("repo/.gitignore"), ".env\n").unwrap();
    fs::write(stage.path("repo/tracked"), "one\n").unwrap();
    fs::write(stage.path("repo/.git/info/exclude"), "# mine\n*.mine\n").unwrap();
    stage.git("add .");
    stage.git("commit -qm ignore");
    let skills = "name = \"teachable\"\nbinary = \"/bin/sh\"\nskills = \"~/.teachable/skills\"\n\
                  [args]\nfull = []\n";
    fs::write(stage.path("home/harnesses/teachable.toml"), skills).unwrap();
    stage.run_ok(&["install"]);
    stage.script(
        "worker-1",
        "commit one; echo changed > tracked; echo new > untracked; echo secret > .env",
    );
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    stage.wait_until_idle(&id);
    stage.run_ok(&["workspace", "init", "2"]);
    fs::write(stage.path("home/forge-looks.json"), "{}").unwrap();
    let texts = stage.path("home/pull-requests/app");
    fs::create_dir_all(&texts).unwrap();
    fs::write(texts.join("7-abc.md"), "# Pull request #7\n").unwrap();
    stage.git("update-ref refs/orange/pull-requests/7 HEAD");
    (stage, id)
}

/// Asserts that nothing of orange is left, and that all work is.
#[track_caller]
fn assert_gone_and_saved(stage: &Stage, id: &TaskId) {
    let text = |arguments: &str| {
        let output = stage.git(arguments);
        String::from_utf8(output.stdout).unwrap()
    };
    let left = fs::read_dir(stage.home().path());
    let left: Vec<_> = left.into_iter().flatten().collect();
    assert!(!stage.home().path().exists(), "{left:?}");
    let worktrees = text("worktree list --porcelain");
    assert_eq!(worktrees.matches("worktree ").count(), 1, "{worktrees}");
    let exclude = fs::read_to_string(stage.path("repo/.git/info/exclude")).unwrap();
    assert_eq!(exclude, "# mine\n*.mine\n");
    assert!(!stage.path("repo/.git/orange-merge.lock").exists());
    assert_eq!(text("for-each-ref refs/orange/pull-requests"), "");
    assert_ne!(text("for-each-ref refs/orange/rescue"), "");
    assert!(!stage.path(".teachable/skills/orange").exists());
    assert_eq!(stage.panes(), Vec::<String>::new());
    assert!(text("log --format=%s main..fix").contains("one"));
    let saved = format!("orange-saved/{id}-1");
    assert_eq!(text(&format!("show {saved}:tracked")), "changed\n");
    assert_eq!(text(&format!("show {saved}:untracked")), "new\n");
    let export = stage.path("home-export");
    let task = export.join("tasks/app").join(id.as_str()).join("TASK.md");
    assert!(fs::read_to_string(task).unwrap().contains("Fix it"));
    assert!(export.join("harnesses/script.toml").exists());
    let aside = fs::read_dir(export.join("set-aside")).unwrap();
    let mut kept = aside.map(|it| it.unwrap().path().join(".env"));
    assert!(kept.any(|it| it.exists()), "ignored files are moved");
    assert!(!export.join(".unfinished").exists());
}

#[test]
fn unmerged_and_uncommitted_work_survives_an_uninstall() {
    let (stage, id) = stage_with_work();
    let (code, refused) = stage.json(&["uninstall", "--json"]);
    assert_eq!(code, 3, "{refused}");
    assert_eq!(refused["error"]["code"], "not-confirmed");
    let listed = stage.orange(&["uninstall"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    for part in [
        format!("the worker of task {id}"),
        format!("app--1 (task {id}); 2 uncommitted files saved first"),
        String::from("branch `fix` in"),
        String::from("1 commit not merged"),
        String::from("`/TASK.md` in"),
        format!(
            "refs/orange/pull-requests in {}: 1 head",
            stage.path("repo").display()
        ),
        String::from("skills/orange/SKILL.md"),
    ] {
        assert!(listed.contains(&part), "{part}: {listed}");
    }
    assert!(stage.worktree(&id).join("untracked").exists());
    let (code, answer) = stage.json(&["uninstall", "--yes", "--json"]);
    assert_eq!(code, 0, "{answer}");
    assert_eq!(answer["report"]["is_removed"], true, "{answer}");
    assert_gone_and_saved(&stage, &id);
    // A second run finds nothing to do.
    let (code, again) = stage.json(&["uninstall", "--yes", "--json"]);
    assert_eq!(code, 0, "{again}");
    assert_gone_and_saved(&stage, &id);
}

#[test]
fn uninstall_asks_at_a_terminal_and_names_the_program() {
    let (stage, id) = stage_with_work();
    let terminal = Terminal::start(&stage, "no", 120, "orange uninstall");
    terminal.wait_for("Uninstall orange? [y/N]");
    terminal.press(&["n", "Enter"]);
    let screen = terminal.finish();
    assert!(screen.contains("[exit 3]"), "{screen}");
    assert!(stage.worktree(&id).join("untracked").exists());
    let terminal = Terminal::start(&stage, "yes", 120, "orange uninstall");
    terminal.wait_for("Uninstall orange? [y/N]");
    terminal.press(&["y", "Enter"]);
    let screen = terminal.finish();
    assert!(screen.contains("[exit 0]"), "{screen}");
    assert!(screen.contains("to remove the program itself"), "{screen}");
    assert_gone_and_saved(&stage, &id);
}

#[test]
fn an_uninstall_that_is_killed_can_be_run_again() {
    let (stage, id) = stage_with_work();
    for delay in [20, 60, 120, 200, 300, 400, 500] {
        let mut killed = stage.orange(&["uninstall", "--yes"]);
        let mut killed = killed.spawn().unwrap();
        thread::sleep(Duration::from_millis(delay));
        let _exited = killed.kill();
        killed.wait().unwrap();
    }
    stage.run_ok(&["uninstall", "--yes"]);
    assert_gone_and_saved(&stage, &id);
}

#[test]
fn what_cannot_be_saved_keeps_its_worktree_and_the_home() {
    let (stage, id) = stage_with_work();
    let worktree = stage.worktree(&id);
    let nested = worktree.join("nested");
    stage.git_in(&worktree, "init -q nested");
    fs::write(nested.join("work"), "only here\n").unwrap();
    // The plan promises nothing that the uninstall does not do.
    let listed = stage.orange(&["uninstall"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let (removed, kept) = listed.split_once("Will keep:").unwrap();
    let path = worktree.display().to_string();
    assert!(!removed.contains(&path), "{listed}");
    assert!(!removed.contains("orange's home directory "), "{listed}");
    let reason = format!("worktree {path}: `nested` is a nested repository");
    assert!(kept.contains(&reason), "{listed}");
    assert!(kept.contains("orange's home directory "), "{listed}");
    let (code, answer) = stage.json(&["uninstall", "--yes", "--json"]);
    assert_eq!(code, 6, "{answer}");
    let problem = answer["report"]["problems"][0].as_str().unwrap();
    assert!(problem.contains("nested"), "{problem}");
    assert!(nested.join("work").exists() && worktree.join("untracked").exists());
    assert!(stage.home().database().exists());
    fs::rename(&nested, stage.path("nested")).unwrap();
    stage.run_ok(&["uninstall", "--yes"]);
    assert_gone_and_saved(&stage, &id);
}

#[test]
fn files_of_others_in_the_home_and_a_lost_repository_are_kept() {
    let (stage, id) = stage_with_work();
    fs::write(stage.path("home/mine.txt"), "mine\n").unwrap();
    let worktree = stage.worktree(&id);
    let name = worktree.file_name().unwrap().to_owned();
    fs::rename(stage.path("repo"), stage.path("moved")).unwrap();
    let mut uninstall = stage.orange(&["uninstall", "--yes"]);
    let output = uninstall.current_dir(stage.path("")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(
        fs::read_to_string(stage.path("home/mine.txt")).unwrap(),
        "mine\n"
    );
    assert!(!stage.home().database().exists());
    let moved = stage.path("home-export/worktrees").join(name);
    assert_eq!(
        fs::read_to_string(moved.join("untracked")).unwrap(),
        "new\n"
    );
    let mode = fs::metadata(&moved).unwrap().permissions().mode();
    assert_ne!(mode & 0o700, 0);
}

#[test]
fn an_uninstall_leaves_the_repository_around_the_home_alone() {
    let (stage, id) = stage_with_work();
    let worktree = stage.worktree(&id);
    let name = worktree.file_name().unwrap().to_owned();
    let root = stage.path("");
    for call in [
        "init -q -b main",
        "config user.email user@example.org",
        "config user.name User",
        "commit -q --allow-empty -m outer",
    ] {
        assert!(stage.git_in(&root, call).status.success(), "git {call}");
    }
    let exclude = stage.path(".git/info/exclude");
    fs::write(&exclude, "/TASK.md\n").unwrap();
    fs::rename(stage.path("repo"), stage.path("moved")).unwrap();
    fs::remove_file(worktree.join(".git")).unwrap();
    let mut uninstall = stage.orange(&["uninstall", "--yes"]);
    let output = uninstall.current_dir(&root).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let moved = stage.path("home-export/worktrees").join(name);
    assert_eq!(
        fs::read_to_string(moved.join("untracked")).unwrap(),
        "new\n"
    );
    assert_eq!(fs::read_to_string(exclude).unwrap(), "/TASK.md\n");
}

#[test]
fn uninstall_waits_for_what_is_being_performed() {
    let (stage, id) = stage_with_work();
    let directory = stage.home().tasks().join("app").join(id.as_str());
    let performer = fs::File::create(directory.join(".performer")).unwrap();
    performer.lock().unwrap();
    let (code, answer) = stage.json(&["uninstall", "--yes", "--json"]);
    assert_eq!(code, 5, "{answer}");
    assert_eq!(answer["error"]["code"], "task-busy");
    assert!(stage.worktree(&id).join("untracked").exists());
    drop(performer);
    stage.run_ok(&["uninstall", "--yes"]);
    assert_gone_and_saved(&stage, &id);
}

/// `/dev/shm` is another disk on Linux.
#[test]
fn a_home_behind_a_link_to_another_disk_is_removed() {
    let stage = Stage::new("default");
    let id = stage.create(&["fix", "Fix it"]);
    let shared_memory = Path::new("/dev/shm");
    let other_disk = if shared_memory.is_dir() {
        tempfile::tempdir_in(shared_memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    };
    let real = other_disk.path().join("home");
    let copied = Command::new("cp")
        .arg("-a")
        .args([&stage.path("home"), &real])
        .status();
    assert!(copied.unwrap().success());
    fs::remove_dir_all(stage.path("home")).unwrap();
    symlink(&real, stage.path("home")).unwrap();

    let output = stage.run_ok(&["uninstall", "--yes"]);
    assert!(!stage.path("home").is_symlink(), "{output}");
    assert!(!real.exists(), "{output}");
    let task = format!("home-export/tasks/app/{id}/TASK.md");
    let text = fs::read_to_string(other_disk.path().join(task)).unwrap();
    assert!(text.contains("Fix it"), "{text}");
}

#[test]
fn folders_that_only_orange_emptied_do_not_keep_the_home() {
    let stage = Stage::new("default");
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "cancel", "fix", "--yes", "--wait", "60"]);
    stage.wait_until_idle(&id);
    stage.run_ok(&["task", "delete", id.as_str(), "--yes"]);
    stage.run_ok(&["task", "delete", id.as_str(), "--undo"]);
    let output = stage.run_ok(&["uninstall", "--yes"]);
    assert!(!stage.path("home").exists(), "{output}");
}

#[test]
fn the_worktree_of_an_agent_that_cannot_be_stopped_is_kept() {
    let (stage, id) = stage_with_work();
    let worktree = stage.worktree(&id);
    // A directory in the place of a file that is removed when a run ends.
    let run = stage.task(&id).runs[&Role::Worker].id.clone();
    let task = stage.home().tasks().join("app").join(id.as_str());
    let obstacle = task.join("runs").join(run.as_str()).join("launch/run.json");
    fs::create_dir(&obstacle).unwrap();
    let (code, answer) = stage.json(&["uninstall", "--yes", "--json"]);
    assert_eq!(code, 6, "{answer}");
    let problems = answer["report"]["problems"].to_string();
    assert!(problems.contains("cannot stop the worker"), "{problems}");
    assert!(problems.contains("its worktree is kept"), "{problems}");
    assert!(worktree.join("untracked").exists(), "{problems}");
    assert!(stage.home().database().exists());
    fs::remove_dir(&obstacle).unwrap();
    stage.run_ok(&["uninstall", "--yes"]);
    assert_gone_and_saved(&stage, &id);
}

#[test]
fn a_repository_that_cannot_be_opened_is_not_taken_for_gone() {
    let (stage, id) = stage_with_work();
    let worktree = stage.worktree(&id);
    let config = stage.path("repo/.git/config");
    let text = fs::read(&config).unwrap();
    fs::write(&config, "[broken").unwrap();
    let uninstall = |arguments: &[&str]| {
        let mut command = stage.orange(arguments);
        let output = command.current_dir(stage.path("")).output().unwrap();
        let code = output.status.code();
        (code, String::from_utf8(output.stdout).unwrap())
    };
    let (_, listed) = uninstall(&["uninstall"]);
    let (removed, kept) = listed.split_once("Will keep:").unwrap();
    let path = worktree.display().to_string();
    assert!(!removed.contains(&path), "{listed}");
    assert!(kept.contains(&path), "{listed}");
    assert!(kept.contains("could not be opened: "), "{listed}");
    let (code, report) = uninstall(&["uninstall", "--yes"]);
    assert_eq!(code, Some(6), "{report}");
    let (_, report) = report.split_once("Not removed:").unwrap();
    assert!(report.contains("could not be opened: "), "{report}");
    assert!(worktree.join("untracked").exists());
    assert!(stage.home().database().exists());
    fs::write(&config, text).unwrap();
    stage.run_ok(&["uninstall", "--yes"]);
    assert_gone_and_saved(&stage, &id);
}

#[test]
fn a_worktree_that_cannot_be_read_is_not_shown_as_clean() {
    let (stage, id) = stage_with_work();
    let worktree = stage.worktree(&id);
    let index = stage.git_in(&worktree, "rev-parse --absolute-git-dir");
    let index = String::from_utf8(index.stdout).unwrap();
    let index = Path::new(index.trim()).join("index");
    let bytes = fs::read(&index).unwrap();
    fs::write(&index, "broken").unwrap();
    let listed = stage.orange(&["uninstall"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let (removed, kept) = listed.split_once("Will keep:").unwrap();
    let path = worktree.display().to_string();
    assert!(!removed.contains(&path), "{listed}");
    assert!(kept.contains(&path) && kept.contains("unknown"), "{listed}");
    let (code, answer) = stage.json(&["uninstall", "--yes", "--json"]);
    assert_eq!(code, 6, "{answer}");
    assert!(worktree.join("untracked").exists());
    fs::write(&index, bytes).unwrap();
    stage.run_ok(&["uninstall", "--yes"]);
    assert_gone_and_saved(&stage, &id);
}

#[test]
fn the_verification_worktree_of_a_removed_project_is_removed() {
    let stage = Stage::new("default");
    stage.configure("merge_verify", &json!("true"));
    stage.script("worker-1", "commit one");
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    stage.run_ok(&["task", "merge", "fix", "--yes", "--wait", "60"]);
    stage.wait_until_idle(&id);
    let verification = stage.home().verification().join("app");
    assert!(verification.exists());
    let (_, plan) = stage.call(&["uninstall"]);
    assert!(plan.contains(&verification.display().to_string()), "{plan}");
    assert!(plan.contains("info/exclude"), "{plan}");
    stage.run_ok(&["project", "remove", "app"]);
    let (_, plan) = stage.call(&["uninstall"]);
    assert!(plan.contains(&verification.display().to_string()), "{plan}");
    let output = stage.run_ok(&["uninstall", "--yes"]);
    assert!(!stage.home().path().exists(), "{output}");
    let worktrees = stage.git_output("repo", "worktree list --porcelain");
    assert_eq!(worktrees.matches("worktree ").count(), 1, "{worktrees}");
}

#[test]
fn saved_work_never_hides_behind_a_branch_that_exists() {
    let (stage, id) = stage_with_work();
    stage.git(&format!("branch orange-saved/{id}-1"));
    let (code, answer) = stage.json(&["uninstall", "--yes", "--json"]);
    assert_eq!(code, 0, "{answer}");
    let saved = format!("orange-saved/{id}-1-2");
    let branches = answer["report"]["saved_branches"].as_array().unwrap();
    assert_eq!(branches.len(), 1, "{answer}");
    assert_eq!(branches[0]["branch"], saved, "{answer}");
    let text = stage.git_output("repo", &format!("show {saved}:untracked"));
    assert_eq!(text, "new");
    let old = stage.git_output("repo", &format!("rev-parse orange-saved/{id}-1"));
    assert_eq!(old, stage.git_output("repo", "rev-parse main"));
}

#[test]
fn the_plan_keeps_the_exclude_line_that_another_home_needs() {
    let (stage, _) = stage_with_work();
    let plan = |home: &str| {
        let mut orange = stage.orange(&["uninstall"]);
        let output = orange.env("ORANGE_HOME", stage.path(home)).output();
        let output = output.unwrap();
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    assert!(plan("home").contains("info/exclude"), "{}", plan("home"));
    let second = |words: &[&str]| {
        let mut orange = stage.orange(words);
        let output = orange.env("ORANGE_HOME", stage.path("second")).output();
        assert!(output.unwrap().status.success(), "{words:?}");
    };
    second(&["project", "add"]);
    second(&["workspace", "init", "1"]);
    for home in ["home", "second"] {
        let plan = plan(home);
        assert!(plan.contains("worktree "), "{plan}");
        assert!(!plan.contains("info/exclude"), "{plan}");
    }
}

#[test]
fn submodules_do_not_block_an_uninstall_and_their_commits_stay() {
    let stage = Stage::new("default");
    let git = |directory: &Path, arguments: &str| {
        let identity = "-c user.name=ada -c user.email=ada@example.invalid";
        let output = stage.git_in(directory, &format!("{identity} {arguments}"));
        assert!(output.status.success(), "{arguments}: {output:?}");
    };
    let repo = stage.path("repo");
    git(&repo, "init -q -b main ../library");
    git(&stage.path("library"), "commit -q --allow-empty -m one");
    git(
        &repo,
        "-c protocol.file.allow=always submodule add -q ../library lib",
    );
    git(&repo, "commit -qm submodule");
    stage.run_ok(&["workspace", "init", "2"]);
    for name in ["app--1", "app--2"] {
        let worktree = stage.home().workspaces().join(name);
        let update = "-c protocol.file.allow=always submodule update --init -q";
        git(&worktree, update);
    }
    // A commit that only the submodule's reflog and a branch of its own have.
    let lib = stage.home().workspaces().join("app--2/lib");
    git(&lib, "switch -qc own");
    git(&lib, "commit -q --allow-empty -m own");
    git(&lib, "switch -q --detach HEAD~1");
    let (code, answer) = stage.json(&["uninstall", "--yes", "--json"]);
    assert_eq!(code, 0, "{answer}");
    assert_eq!(answer["report"]["is_removed"], true, "{answer}");
    let kept = answer["report"]["kept_submodules"].as_array().unwrap();
    assert_eq!(kept.len(), 1, "{answer}");
    let place = Path::new(kept[0].as_str().unwrap());
    let log = stage.git_in(
        &place.join("lib"),
        "--git-dir=. --work-tree=. log --format=%s own",
    );
    assert!(String::from_utf8(log.stdout).unwrap().contains("own"));
}

#[test]
fn a_home_whose_path_is_too_long_for_tmux_can_be_removed() {
    let stage = Stage::new("default");
    let home = stage.path(&"x".repeat(120));
    fs::create_dir_all(home.join("harnesses")).unwrap();
    let harness = "harnesses/script.toml";
    fs::copy(stage.path("home").join(harness), home.join(harness)).unwrap();
    let call = |words: &[&str]| {
        let output = stage.orange(words).env("ORANGE_HOME", &home).output();
        let output = output.unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).unwrap();
        (
            output.status.code(),
            text.split_whitespace().collect::<Vec<_>>().join(" "),
        )
    };
    let (code, text) = call(&["new", "Fix it", "--harness", "script", "--no-spawn"]);
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = call(&["doctor"]);
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("choose a shorter ORANGE_HOME"), "{text}");
    let (code, text) = call(&["uninstall", "--yes"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(!home.exists(), "{text}");
}
