//! `orange task cancel`.

use std::fs;

use crate::support::{Stage, Terminal};

#[test]
fn cancel_asks_for_confirmation_at_a_terminal() {
    let stage = Stage::new("default");
    let id = stage.create(&["fix", "Add a line"]);
    let terminal = Terminal::start(&stage, "no", 120, "orange task cancel fix");
    terminal.wait_for("Cancel ");
    terminal.press(&["n", "Enter"]);
    let screen = terminal.finish();
    assert!(screen.contains("[exit 3]"), "{screen}");
    assert_eq!(stage.task(&id).status.as_str(), "pending");
    let confirmed = Terminal::start(&stage, "yes", 120, "orange task cancel fix --yes");
    let screen = confirmed.finish();
    assert!(screen.contains("[exit 0]"), "{screen}");
    assert_eq!(stage.task(&id).status.as_str(), "cancelled");
    // Without a terminal there is no confirmation prompt.
    let other = stage.create(&["other", "Another"]);
    stage.run_ok(&["task", "cancel", "other"]);
    assert_eq!(stage.task(&other).status.as_str(), "cancelled");
}

#[test]
fn an_agent_at_its_terminal_is_refused_without_a_question() {
    let stage = Stage::new("default");
    stage.script(
        "worker-1",
        "orange task cancel; echo $? > \"$SCRIPTS/code\"",
    );
    stage.create(&["fix", "Add a line"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let code = fs::read_to_string(stage.path("scripts/code")).unwrap();
    assert_eq!(code, "3\n");
}

#[test]
fn a_refusal_in_a_worktree_says_where_to_run_the_command() {
    let stage = Stage::new("default");
    let id = stage.create(&["fix", "Add a line"]);
    let other = stage.create(&["other", "Add another"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    let in_worktree = |line: &[&str]| {
        let mut command = stage.orange(line);
        let output = command.current_dir(stage.worktree(&id)).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{text}");
        text
    };
    let place = format!("you are in the worktree of `{id}`, where commands count as the worker's");
    for (line, command) in [
        (
            &["task", "cancel"][..],
            format!("`orange task cancel {id}`"),
        ),
        (
            &["task", "tell", "-m", "hi"],
            format!("`orange task tell {id} --message TEXT`"),
        ),
        (
            &["task", "delete", id.as_str()],
            format!("`orange task delete {id}`"),
        ),
        (
            &["task", "cancel", other.as_str()],
            String::from("the command"),
        ),
        (&["project", "remove", "app"], String::from("the command")),
    ] {
        let text = in_worktree(line);
        let hint = format!("{place}; run {command} from another directory");
        assert!(text.contains(&hint), "{text}");
    }
}

#[test]
fn several_tasks_are_cancelled_and_each_is_reported() {
    let stage = Stage::new("default");
    let one = stage.create(&["one", "First"]);
    let two = stage.create(&["two", "Second"]);
    let (code, answer) = stage.json(&["task", "cancel", "one", "nothing", "two", "--json"]);
    assert_eq!(code, 3, "{answer}");
    assert_eq!(answer["schema"], "orange.task.several/1");
    let outcomes: Vec<_> = answer["tasks"].as_array().unwrap().iter().collect();
    let outcomes: Vec<_> = outcomes.iter().map(|it| &it["outcome"]).collect();
    assert_eq!(outcomes, ["succeeded", "refused", "succeeded"], "{answer}");
    assert_eq!(answer["tasks"][0]["task"], one.as_str());
    assert_eq!(answer["tasks"][1]["error"]["code"], "task-not-found");
    for id in [&one, &two] {
        assert_eq!(stage.task(id).status.as_str(), "cancelled");
    }
    // A second time, nothing is left to do.
    let output = stage.transcript(&["task", "cancel", "one", "two"]);
    assert!(output.contains("already in `cancelled`"), "{output}");
    let (code, answer) = stage.json(&["task", "delete", "one", "two", "--json"]);
    assert_eq!(code, 3, "{answer}");
    assert_eq!(answer["tasks"][1]["error"]["code"], "not-confirmed");
    let (one, two) = (one.as_str(), two.as_str());
    let (code, answer) = stage.json(&["task", "delete", one, two, "--yes", "--json"]);
    assert_eq!(code, 0, "{answer}");
    let (code, answer) = stage.json(&["task", "delete", one, two, "--undo", "--json"]);
    assert_eq!(code, 0, "{answer}");
    assert_eq!(answer["tasks"][1]["text"], "restored");
}

#[test]
fn one_question_lists_every_task_to_cancel() {
    let stage = Stage::new("default");
    let one = stage.create(&["one", "First"]);
    let two = stage.create(&["two", "Second"]);
    let terminal = Terminal::start(&stage, "no", 200, "orange cancel one two");
    terminal.wait_for("Cancel 2 tasks: ");
    terminal.press(&["n", "Enter"]);
    let screen = terminal.finish();
    assert!(
        screen.contains("`First`") && screen.contains("`Second`"),
        "{screen}"
    );
    assert!(screen.contains("[exit 3]"), "{screen}");
    for id in [&one, &two] {
        assert_eq!(stage.task(id).status.as_str(), "pending");
    }
}

#[test]
fn a_nested_repository_is_kept_and_every_answer_says_where() {
    let stage = Stage::new("default");
    let id = stage.create(&["fix", "Add a line"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_until_idle(&id);
    let worktree = stage.worktree(&id);
    stage.git_in(&worktree, "init -q vendored");
    fs::write(worktree.join("vendored/work"), "only here").unwrap();
    let (_, shown) = stage.json(&["task", "show", id.as_str(), "--json"]);
    assert_eq!(shown["kept_worktrees"].as_array().unwrap().len(), 0);

    let output = stage.run_ok(&["task", "cancel", "fix", "--yes", "--wait", "60"]);
    let output = output.replace("\n    ", " ");
    assert_eq!(stage.task(&id).status.as_str(), "cancelled");
    assert!(worktree.join("vendored/work").exists());
    let place = worktree.display().to_string();
    let reason = "`vendored` is a nested repository";
    assert!(
        output.contains(&place) && output.contains(reason),
        "{output}"
    );
    let (_, shown) = stage.json(&["task", "show", id.as_str(), "--json"]);
    let kept = &shown["kept_worktrees"][0];
    assert_eq!(kept["path"], place, "{shown}");
    assert_eq!(kept["reasons"][0], reason, "{shown}");
    for words in [["task", "show"], ["task", "restore"]] {
        let output = stage.run_ok(&[&words[..], &[id.as_str()]].concat());
        assert!(
            output.contains(&place) && output.contains(reason),
            "{output}"
        );
    }
    let (_, listed) = stage.json(&["task", "restore", id.as_str(), "--json"]);
    assert_eq!(listed["kept_worktrees"][0]["path"], place, "{listed}");

    // Once the repository is moved out, the rest is saved, and nothing is kept.
    fs::rename(worktree.join("vendored"), stage.path("vendored")).unwrap();
    let (_, shown) = stage.json(&["task", "show", id.as_str(), "--json"]);
    let reason = shown["kept_worktrees"][0]["reasons"][0].as_str().unwrap();
    assert!(reason.contains("orange workspace gc"), "{reason}");
    stage.run_ok(&["workspace", "gc"]);
    let (_, shown) = stage.json(&["task", "show", id.as_str(), "--json"]);
    assert_eq!(
        shown["kept_worktrees"].as_array().unwrap().len(),
        0,
        "{shown}"
    );
}

#[test]
fn kept_worktrees_are_named_when_several_tasks_are_cancelled() {
    let stage = Stage::new("default");
    let one = stage.create(&["one", "First"]);
    stage.create(&["two", "Second"]);
    stage.run_ok(&["task", "spawn", "one", "--wait", "60"]);
    stage.wait_until_idle(&one);
    let worktree = stage.worktree(&one);
    // A worktree inside the worktree is a repository of its own, too.
    stage.git_in(&worktree, "worktree add -q inner");
    let words = [
        "task", "cancel", "one", "two", "--yes", "--wait", "60", "--json",
    ];
    let (code, answer) = stage.json(&words);
    assert_eq!(code, 0, "{answer}");
    let text = answer["tasks"][0]["text"].as_str().unwrap();
    assert!(text.contains(&worktree.display().to_string()), "{text}");
    assert!(text.contains("`inner` is a nested repository"), "{text}");
    assert!(
        !answer["tasks"][1]["text"]
            .as_str()
            .unwrap()
            .contains("kept")
    );
    let (_, why) = stage.json(&["task", "cancel", "one", "--json"]);
    assert_eq!(why["outcome"], "already");
}

#[test]
fn saved_work_is_named_when_several_tasks_are_cancelled() {
    let stage = Stage::new("default");
    let one = stage.create(&["one", "First"]);
    stage.create(&["two", "Second"]);
    stage.run_ok(&["task", "spawn", "one", "--wait", "60"]);
    stage.wait_until_idle(&one);
    fs::write(stage.worktree(&one).join("unsaved.txt"), "work").unwrap();
    let words = ["task", "cancel", "one", "two", "--yes", "--wait", "60"];
    let text = stage.run_ok(&words);
    let saved = format!("orange task restore {one} 1 --branch NAME");
    assert!(text.contains(&saved), "{text}");
    assert_eq!(text.matches("is saved as").count(), 1, "{text}");
    for command in ["diff", "show", "why"] {
        let (_, output) = stage.call(&["task", command, "one"]);
        let output = output.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(output.contains(&saved), "{command}: {output}");
    }
    let listed = stage.run_ok(&["task", "restore", "one"]);
    assert!(listed.starts_with("1  one, 1 file, saved "), "{listed}");
    let restored = stage.run_ok(&["task", "restore", "one", "1", "--branch", "again"]);
    assert!(restored.contains("1 file, on branch `again`"), "{restored}");
}

#[test]
fn cancel_names_all_saved_work_and_reopen_restores_it() {
    let stage = Stage::new("default");
    let id = stage.create(&["fix", "Add a line"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_until_idle(&id);
    let worktree = stage.worktree(&id);
    fs::write(worktree.join(".gitignore"), "*.dat\n").unwrap();
    fs::write(worktree.join("x.dat"), "hidden").unwrap();
    fs::write(worktree.join("work.txt"), "work").unwrap();
    let (_, output) = stage.call(&["task", "cancel", "fix", "--wait", "60"]);
    let output = output.replace("\n      ", " ");
    let expected = format!(
        "uncommitted work in 2 files is saved as number 1, and 1 file that git ignored until then \
         as number 2; restore it with `orange task restore {id} 1 --branch NAME`"
    );
    assert!(output.contains(&expected), "{output}");
    stage.run_ok(&["task", "reopen", "fix", "--wait", "60"]);
    let worktree = stage.worktree(&id);
    let status = stage.git_in(&worktree, "status --porcelain").stdout;
    assert_eq!(status, b"?? .gitignore\n?? work.txt\n");
    assert!(worktree.join("x.dat").exists());
}

#[test]
fn a_worktree_that_lost_its_repository_is_kept_and_named() {
    let stage = Stage::new("default");
    let id = stage.create(&["fix", "Add a line"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_until_idle(&id);
    let worktree = stage.worktree(&id);
    fs::write(worktree.join("wip"), "only here").unwrap();
    // As after the repository was moved.
    let link = fs::read_to_string(worktree.join(".git")).unwrap();
    fs::write(
        worktree.join(".git"),
        "gitdir: /nowhere/.git/worktrees/app--1\n",
    )
    .unwrap();
    stage.run_ok(&["task", "cancel", "fix", "--yes", "--wait", "60"]);
    let place = worktree.display().to_string();
    for words in [
        &["task", "show", id.as_str(), "--json"][..],
        &["task", "restore", id.as_str(), "--json"],
        &["attention", "--json"],
    ] {
        let (_, output) = stage.call(words);
        let repair = "/repo' worktree repair`, then `orange workspace gc`";
        assert!(
            output.contains(&place) && output.contains(repair),
            "{output}"
        );
    }
    fs::write(worktree.join(".git"), link).unwrap();
    stage.run_ok(&["workspace", "gc"]);
    let (_, shown) = stage.json(&["task", "restore", id.as_str(), "--json"]);
    assert_eq!(shown["rescues"].as_array().unwrap().len(), 1, "{shown}");
    assert_eq!(shown["kept_worktrees"].as_array().unwrap().len(), 0);
}

/// The commands that a message names in backticks, apart from those of orange.
fn advised_commands(message: &str) -> Vec<&str> {
    let is_command = |it: &&str| it.starts_with("mkdir -p") || it.starts_with("git -C");
    message.split('`').filter(is_command).collect()
}

#[test]
fn the_advice_about_a_worktree_without_its_git_file_saves_the_work() {
    for is_repository in [false, true] {
        let stage = Stage::new("default");
        let id = stage.create(&["fix", "Add a line"]);
        stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
        stage.wait_until_idle(&id);
        let worktree = stage.worktree(&id);
        fs::write(worktree.join("draft"), "only here").unwrap();
        fs::remove_file(worktree.join(".git")).unwrap();
        if is_repository {
            stage.git_in(&worktree, "init -q");
        }
        let place = worktree.display().to_string();
        for words in [
            &["task", "cancel", "fix", "--yes", "--wait", "60"][..],
            &["task", "show", id.as_str()],
            &["task", "restore", id.as_str()],
            &["attention"],
            &["workspace", "gc"],
        ] {
            let (_, output) = stage.call(words);
            assert!(output.contains(&place), "{words:?}: {output}");
        }
        let (_, gc) = stage.json(&["workspace", "gc", "--json"]);
        let in_gc = gc["unusable_workspaces"][0]["reason"].as_str().unwrap();
        let (_, shown) = stage.json(&["task", "show", id.as_str(), "--json"]);
        let reason = shown["kept_worktrees"][0]["reasons"][0].as_str().unwrap();
        let commands = advised_commands(reason);
        assert_eq!(commands, advised_commands(in_gc), "{in_gc}");
        assert_eq!(commands.len(), 1 + usize::from(is_repository), "{reason}");
        for command in commands {
            let mut shell = std::process::Command::new("sh");
            shell.args(["-c", command]).env_clear();
            let output = shell.envs(stage.environment.variables()).output().unwrap();
            assert!(output.status.success(), "{command}: {output:?}");
        }
        stage.run_ok(&["workspace", "gc"]);
        let (_, listed) = stage.json(&["task", "restore", id.as_str(), "--json"]);
        assert_eq!(listed["rescues"][0]["paths"][0], "draft", "{listed}");
        assert_eq!(listed["kept_worktrees"].as_array().unwrap().len(), 0);
        let moved = stage.home().set_aside().join("app--1.git");
        assert_eq!(moved.is_dir(), is_repository);
    }
}

#[test]
fn commits_on_no_branch_are_named_wherever_the_saved_work_is() {
    let stage = Stage::new("default");
    let detached = "git checkout -q --detach; echo two > two.txt; git add two.txt; \
                    git commit -qm 'important work'; ask task show";
    stage.script("worker-1", detached);
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let (_, cancelled) = stage.call(&["task", "cancel", "fix", "--wait", "60"]);
    let cancelled = cancelled.replace("\n      ", " ");
    let expected = "1 commit on no branch is saved as number 1; restore it";
    assert!(cancelled.contains(expected), "{cancelled}");
    stage.wait_until_idle(&id);
    let listed = stage.run_ok(&["task", "restore", "fix"]);
    assert!(
        listed.contains("1  1 commit on no branch, 0 files"),
        "{listed}"
    );
    let shown = stage.run_ok(&["task", "restore", "fix", "1"]);
    assert!(shown.contains(" important work\n"), "{shown}");
    let directory = stage.path("files").display().to_string();
    let restored = stage.run_ok(&["task", "restore", "fix", "1", "--directory", &directory]);
    let restored = restored.replace("\n    ", " ");
    let expected = "`--branch NAME` also restores 1 commit on no branch";
    assert!(restored.contains(expected), "{restored}");
    stage.run_ok(&["task", "restore", "fix", "1", "--branch", "back"]);
    let files = stage.git_output("repo", "ls-tree --name-only back");
    assert!(files.contains("two.txt"), "{files}");
    let listed = stage.run_ok(&["task", "restore", "fix"]);
    assert!(listed.contains("1  no branch, 0 files"), "{listed}");
}

#[test]
fn commits_on_another_branch_are_named_until_the_task_has_them() {
    let stage = Stage::new("default");
    let elsewhere = "git checkout -qb other; echo two > two.txt; git add two.txt; \
                     git commit -qm 'important work'; ask task show";
    stage.script("worker-1", elsewhere);
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let commit = stage.git_output("repo", "rev-parse other");
    let named = format!("on git branch `other` at {}", &commit.trim()[..12]);
    let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, cancelled) = stage.call(&["task", "cancel", "fix", "--wait", "60"]);
    let cancelled = joined(&cancelled);
    assert!(cancelled.contains(&named), "{cancelled}");
    assert!(!cancelled.contains("uncommitted"), "{cancelled}");
    stage.wait_until_idle(&id);
    for words in [
        &["task", "show", "fix"][..],
        &["task", "why", "fix"],
        &["task", "restore", "fix"],
        &["task", "diff", "fix"],
    ] {
        let (code, output) = stage.call(words);
        assert!(
            code == 0 && joined(&output).contains(&named),
            "{words:?}: {output}"
        );
    }
    let shown = stage.run_ok(&["task", "restore", "fix", "1"]);
    assert!(shown.contains(" important work\n"), "{shown}");

    stage.script("worker-2", "hang");
    let (code, reopened) = stage.call(&["task", "reopen", "fix", "--wait", "60"]);
    assert!(
        code == 0 && joined(&reopened).contains(&named),
        "{reopened}"
    );
    let worktree = stage.worktree(&id);
    assert!(!worktree.join("two.txt").exists());
    let still = stage.git_output("repo", "rev-parse other");
    assert_eq!(still, commit, "the branch was moved");
    // The advised command brings the work, and then only the notice of the start names the branch.
    let merge = format!("merge -q {}", &commit.trim()[..12]);
    assert!(stage.git_in(&worktree, &merge).status.success());
    assert!(worktree.join("two.txt").exists());
    let (_, output) = stage.call(&["task", "diff", "fix"]);
    assert!(!joined(&output).contains("git branch `other`"), "{output}");
    let (_, shown) = stage.json(&["task", "show", "fix", "--json"]);
    let attention = shown["task"]["attention"].as_array().unwrap();
    assert_eq!(attention.len(), 1, "{shown}");
}
