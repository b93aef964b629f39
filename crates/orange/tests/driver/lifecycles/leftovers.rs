//! What a task leaves in a worktree stays out of the next.

use std::fs;

use orange_engine::names::ProjectName;
use orange_store::WorkspaceState;

use crate::support::{Stage, wait_for};

/// Two tasks, one after the other, in a pool of one worktree: the first one runs this script. The
/// second one writes down what git shows it.
fn after(first: &str) -> Stage {
    let stage = Stage::new("minimal");
    fs::write(stage.path("home/config.toml"), "[pool]\nsize = 1\n").unwrap();
    stage.script("worker-1", &format!("{first}\ntouch $SCRIPTS/first\nhang"));
    let shows = "git status --porcelain --untracked-files=all > $SCRIPTS/status\nls -A > \
                 $SCRIPTS/files\ntouch $SCRIPTS/second\nhang";
    stage.script("worker-2", shows);
    let id = stage.create(&["Add dependencies"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    wait_for("the first agent", || stage.path("scripts/first").exists());
    stage.run_ok(&["task", "cancel", id.as_str(), "--yes", "--wait", "60"]);
    stage
}

#[test]
fn files_that_only_the_earlier_task_ignored_are_moved_aside() {
    let stage = after(
        "printf 'node_modules/\\n.env\\n' > .gitignore\ngit add .gitignore\ngit commit -qm ignore\n\
         mkdir node_modules\necho lib > node_modules/lib.js\necho SECRET=1 > .env",
    );
    let id = stage.create(&["--branch", "other", "Something else"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    wait_for("the second agent", || stage.path("scripts/second").exists());
    let read = |name: &str| fs::read_to_string(stage.path(name)).unwrap();
    assert_eq!(read("scripts/status"), "");
    assert!(
        !read("scripts/files").contains(".env"),
        "{}",
        read("scripts/files")
    );
    // Nothing is deleted, and the user is told where it is.
    let aside = fs::read_dir(stage.path("home/workspaces/.set-aside")).unwrap();
    let aside: Vec<_> = aside.map(|it| it.unwrap().path()).collect();
    assert_eq!(aside.len(), 1, "{aside:?}");
    assert_eq!(
        fs::read_to_string(aside[0].join(".env")).unwrap(),
        "SECRET=1\n"
    );
    assert!(aside[0].join("node_modules/lib.js").exists());
    let shown = stage.run_ok(&["task", "show", id.as_str()]);
    let notice = "an earlier task left `.env` and 1 more in app--1; moved to";
    assert!(shown.replace('\n', " ").contains(notice), "{shown}");
}

#[test]
fn files_that_every_commit_ignores_stay_for_the_next_task() {
    let stage = Stage::new("minimal");
    fs::write(stage.path("repo/.gitignore"), "cache/\n").unwrap();
    for call in ["add .gitignore", "commit -qm ignore"] {
        assert!(stage.git(call).status.success());
    }
    fs::write(stage.path("home/config.toml"), "[pool]\nsize = 1\n").unwrap();
    stage.script(
        "worker-1",
        "mkdir cache\ntouch cache/a $SCRIPTS/first\nhang",
    );
    stage.script(
        "worker-2",
        "ls cache > $SCRIPTS/files\ntouch $SCRIPTS/second\nhang",
    );
    let id = stage.create(&["Fill the cache"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    wait_for("the first agent", || stage.path("scripts/first").exists());
    stage.run_ok(&["task", "cancel", id.as_str(), "--yes", "--wait", "60"]);
    let id = stage.create(&["--branch", "other", "Use the cache"]);
    stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "60"]);
    wait_for("the second agent", || stage.path("scripts/second").exists());
    assert_eq!(
        fs::read_to_string(stage.path("scripts/files")).unwrap(),
        "a\n"
    );
}

#[test]
fn a_repository_that_was_committed_as_a_link_retires_its_workspace() {
    let stage = after(
        "git init -q sub\ncd sub\ngit config user.email a@b\ngit config user.name A\necho a > \
         a\ngit add a\ngit commit -qm 'only copy'\ncd ..\ngit add -A 2>/dev/null\ngit commit -qm \
         link",
    );
    let workspaces = stage.store().workspaces(&ProjectName::new("app")).unwrap();
    assert_eq!(workspaces.len(), 1);
    assert!(
        matches!(workspaces[0].state, WorkspaceState::Retired),
        "{workspaces:?}"
    );
    assert!(workspaces[0].path.join("sub/a").exists());
    let attention = stage.run_ok(&["attention"]);
    assert!(attention.contains("nested repository"), "{attention}");
}
