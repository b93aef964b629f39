//! `orange project update`.

use std::fs;

use orange_engine::names::ProjectName;
use orange_store::WorkspaceState;
use serde_json::{Value, json};

use crate::support::Stage;
use crate::task_retry::create_reviewed_task;

#[test]
fn a_project_is_changed_and_the_rest_of_the_file_stays() {
    let stage = Stage::new("default");
    let file = stage.home().projects();
    let text = fs::read_to_string(&file).unwrap();
    let text = text.replacen('{', "{\n  \"note\":   [1,2],", 1);
    let text = text.replace(
        "\"delete_branch\": false",
        "\"delete_branch\": false,\n      \"pool_size\":    8,\n      \"mine\": \"\\u00e4\"",
    );
    fs::write(&file, &text).unwrap();
    stage.run_ok(&["project", "update", "--pool-size", "3"]);
    let expected = text.replace("\"pool_size\":    8", "\"pool_size\":    3");
    assert_eq!(fs::read_to_string(&file).unwrap(), expected);
    stage.run_ok(&[
        "project",
        "update",
        "app",
        "--workflow",
        "minimal",
        "--harness",
        "script",
        "--review-harness",
        "script",
        "--push",
        "true",
        "--delete-branch",
        "true",
        "--default-branch",
        "main",
        "--setup",
        "[\"sh\", \"-c\", \"exit 0\"]",
        "--setup-timeout",
        "60",
        "--teardown",
        "true",
        "--teardown-timeout",
        "61",
        "--sandbox-mode",
        "required",
        "--sandbox-network",
        "list",
        "--sandbox-hosts",
        "registry.example.org, a.example.org:8443",
    ]);
    let (_, shown) = stage.json(&["project", "show", "--json"]);
    let project = &shown["project"];
    assert_eq!(project["workflow"], "minimal");
    assert_eq!(project["review_harness"], "script");
    assert_eq!(
        (&project["push"], &project["delete_branch"]),
        (&true.into(), &true.into())
    );
    assert_eq!(project["setup"][2], "exit 0");
    assert_eq!(
        (&project["setup_timeout"], &project["teardown_timeout"]),
        (&60.into(), &61.into())
    );
    assert_eq!(
        (&project["mine"], &project["pool_size"]),
        (&"\u{e4}".into(), &3.into())
    );
    assert_eq!(
        (&project["sandbox_mode"], &project["sandbox_network"]),
        (&"required".into(), &"list".into())
    );
    assert_eq!(
        project["sandbox_hosts"],
        json!(["registry.example.org:443", "a.example.org:8443"])
    );
    let id = stage.create(&["fix", "Fix it"]);
    assert_eq!(stage.task(&id).workflow.as_str(), "minimal");
    let update = ["project", "update", "--sandbox-mode", "default"];
    let more = ["--sandbox-network", "default", "--sandbox-hosts", ""];
    stage.run_ok(&[&update[..], &more].concat());
    let (_, shown) = stage.json(&["project", "show", "--json"]);
    for key in ["sandbox_mode", "sandbox_network", "sandbox_hosts"] {
        assert_eq!(shown["project"][key], Value::Null, "{key}");
    }
}

#[test]
fn invalid_project_values_are_refused() {
    let stage = Stage::new("default");
    let file = stage.home().projects();
    let before = fs::read(&file).unwrap();
    let table: [&[&str]; 9] = [
        &[],
        &["tea", "--push", "true"],
        &["--workflow", "nothing"],
        &["--harness", "nobody"],
        &["--review-harness", "nobody"],
        &["--default-branch", "nowhere"],
        &["--pool-size", "0"],
        &["--push", "maybe"],
        &["--setup", "[\"sh\""],
    ];
    let text = table
        .iter()
        .map(|it| stage.transcript(&[&["project", "update"], *it].concat()));
    insta::assert_snapshot!(text.collect::<String>());
    assert_eq!(fs::read(&file).unwrap(), before);
    // `project add` makes the same checks.
    let (code, _) = stage.call(&["project", "add", "--name", "other", "--harness", "nobody"]);
    assert_eq!(code, 4);
    let (code, _) = stage.call(&["project", "add", "--name", "other", "--workflow", "nothing"]);
    assert_eq!(code, 4);
    assert_eq!(fs::read(&file).unwrap(), before);
    // A file with a mistake is left alone.
    fs::write(&file, "{").unwrap();
    let (code, answer) = stage.json(&["project", "update", "--push", "true", "--json"]);
    assert_eq!(
        (code, &answer["error"]["code"]),
        (3, &"projects-unreadable".into())
    );
    assert_eq!(fs::read(&file).unwrap(), b"{");
}

#[test]
fn an_agent_cannot_change_a_project() {
    let stage = Stage::new("default");
    stage.script(
        "worker-1",
        "ask project update --push true\nask project remove app",
    );
    stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let calls = stage.calls();
    assert_eq!(calls.matches("-> 3").count(), 2, "{calls}");
    assert!(calls.contains("only the user may"), "{calls}");
}

#[test]
fn a_pool_that_was_made_smaller_stays_small() {
    let stage = Stage::new("minimal");
    stage.run_ok(&["project", "update", "app", "--pool-size", "2"]);
    for branch in ["one", "two"] {
        stage.create(&[branch, "Add a line"]);
        stage.run_ok(&["task", "spawn", branch, "--wait", "60"]);
    }
    for branch in ["one", "two"] {
        stage.run_ok(&["task", "cancel", branch, "--wait", "60"]);
    }
    stage.run_ok(&["project", "update", "app", "--pool-size", "1"]);
    let bound = || {
        let all = stage.store().workspaces(&ProjectName::new("app")).unwrap();
        let bound = all.iter();
        let bound = bound.filter(|it| matches!(it.state, WorkspaceState::Bound(_)));
        bound.count()
    };
    for branch in ["three", "four"] {
        stage.create(&[branch, "Add a line"]);
        stage.call(&["task", "spawn", branch, "--wait", "60"]);
    }
    assert_eq!(bound(), 1);
}

#[test]
fn a_moved_repository_is_found_again() {
    let stage = Stage::new("minimal");
    let id = create_reviewed_task(&stage);
    fs::write(stage.worktree(&id).join("unsaved.txt"), "work").unwrap();
    stage.git("clone -q . ../clone");
    let update =
        |directory: &str| ["project", "update", "app", "--path", directory].map(String::from);
    let call = |here: &str, words: &[&str]| {
        let output = stage.orange(words).current_dir(stage.path(here)).output();
        let output = output.unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).unwrap();
        (output.status.code().unwrap(), text)
    };
    let update =
        |here: &str, directory: &str| call(here, &update(directory).each_ref().map(String::as_str));
    // A copy is refused while the repository is at its old place.
    let (code, output) = update("clone", ".");
    assert_eq!(code, 3, "{output}");
    assert!(output.contains("the repository is still at"), "{output}");
    fs::rename(stage.path("repo"), stage.path("moved")).unwrap();
    for command in ["diff", "merge"] {
        let (code, output) = call("moved", &["task", command, "fix"]);
        assert_ne!(code, 0, "{command}: {output}");
        assert!(!output.contains("git init"), "{output}");
        let fix = "orange project update app --path DIRECTORY";
        assert!(output.contains(fix), "{output}");
    }
    let (_, output) = call("moved", &["doctor"]);
    assert!(
        output.contains("orange project update app --path"),
        "{output}"
    );
    // Another repository is refused, because it does not know the worktree.
    let (code, output) = update("clone", ".");
    assert_eq!(code, 3, "{output}");
    assert!(
        output.contains("it has no record of the worktree"),
        "{output}"
    );
    let (code, output) = update("moved", ".");
    assert_eq!(code, 0, "{output}");
    let (code, output) = call("moved", &["task", "diff", "fix", "--stat"]);
    assert_eq!(code, 0, "{output}");
    assert!(output.contains("unsaved.txt"), "{output}");
    // Repeating it changes nothing.
    let (code, output) = update("moved", "../moved");
    assert_eq!(code, 0, "{output}");
    let worktree = stage.worktree(&id);
    assert!(stage.git_in(&worktree, "status").status.success());
    let (code, output) = call("moved", &["task", "cancel", "fix", "--wait", "60"]);
    assert_eq!(code, 0, "{output}");
    assert!(output.contains("saved as number 1"), "{output}");
    // A project that is registered there already is not replaced.
    fs::rename(stage.path("moved"), stage.path("repo")).unwrap();
    stage.run_ok(&["project", "add", "--name", "second"]);
    let (code, output) = update("repo", ".");
    assert_eq!(code, 3, "{output}");
    assert!(output.contains("orange project remove second"), "{output}");
}

/// Makes the folder around the project a repository, as dotfiles are.
fn surround(stage: &Stage) {
    let root = stage.path("");
    for call in [
        "init -q -b main",
        "config user.email user@example.org",
        "config user.name User",
        "commit -q --allow-empty -m outer",
    ] {
        assert!(stage.git_in(&root, call).status.success(), "git {call}");
    }
}

#[test]
fn a_missing_repository_is_never_replaced_by_the_one_around_it() {
    let stage = Stage::new("minimal");
    let id = stage.create(&["fix", "Fix it"]);
    surround(&stage);
    // With a second project, the directory decides which one is meant.
    stage.git("clone -q . ../second");
    let mut add = stage.orange(&["project", "add", "--name", "second"]);
    let added = add.current_dir(stage.path("second")).output().unwrap();
    assert!(added.status.success(), "{added:?}");
    fs::rename(stage.path("repo"), stage.path("moved")).unwrap();
    for broken in [false, true] {
        if broken {
            // git passes by an empty `.git`, too.
            fs::create_dir_all(stage.path("repo/.git")).unwrap();
        }
        // The start that failed is not over while the repository is missing.
        let start = (!broken).then_some(&["task", "spawn", "fix", "--wait", "60"][..]);
        for words in start.into_iter().chain([&["task", "diff", "fix"][..]]) {
            let mut orange = stage.orange(words);
            let output = orange.current_dir(stage.path("home")).output().unwrap();
            let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            assert_ne!(output.status.code(), Some(0), "{text}");
            let missing = stage.path("repo").display().to_string();
            assert!(text.contains(&missing), "{text}");
            let fix = "orange project update app --path DIRECTORY";
            assert!(text.contains(fix), "{text}");
        }
        let branches = stage.git_in(&stage.path(""), "branch --list");
        assert_eq!(branches.stdout, b"* main\n", "the outer repository");
        let exclude = fs::read_to_string(stage.path(".git/info/exclude")).unwrap();
        assert!(!exclude.contains("TASK.md"), "{exclude}");
    }
    // The outer repository does not belong to the project: it becomes one of its own.
    let mut add = stage.orange(&["new", "Add a line", "--no-spawn", "--json"]);
    let output = add.current_dir(stage.path("")).output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let project = answer["task"]["project"].as_str().unwrap();
    assert!(!["app", "second"].contains(&project), "{answer}");
    fs::remove_dir_all(stage.path("repo")).unwrap();
    // A directory in another repository is not taken for that repository.
    fs::create_dir_all(stage.path("beside/inner")).unwrap();
    let mut update = stage.orange(&["project", "update", "app", "--path", "beside/inner"]);
    let output = update.current_dir(stage.path("")).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("is only a directory in it"), "{text}");
    let mut update = stage.orange(&["project", "update", "app", "--path", "moved"]);
    let output = update.current_dir(stage.path("")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    // The start succeeds now: a retry that is due does it, or a new start if none is left.
    stage.wait_until_idle(&id);
    if stage.task(&id).status.as_str() == "pending" {
        let mut spawn = stage.orange(&["task", "spawn", "fix", "--wait", "60"]);
        let output = spawn.current_dir(stage.path("moved")).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    stage.wait_for_turn("worker-1");
}
