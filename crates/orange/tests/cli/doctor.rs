//! `orange doctor`: what it finds, and the command that fixes it.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::{Child, Command};

use orange_config::Environment;
use orange_engine::names::WorkspaceName;
use serde_json::Value;

use crate::support::{Stage, wait_for};
use crate::task_retry::create_reviewed_task;

/// The doctor's findings and its exit code.
struct Findings {
    code: i32,
    all: Vec<Value>,
}

fn doctor(stage: &Stage) -> Findings {
    let (code, answer) = stage.json(&["doctor", "--json"]);
    let all = answer["checkups"].as_array().unwrap().clone();
    Findings { code, all }
}

impl Findings {
    /// The finding about `what` that contains these words.
    fn about(&self, what: &str, words: &str) -> Option<&Value> {
        let found = |it: &&Value| {
            let text = it["message"].as_str().unwrap();
            it["subject"] == what && text.contains(words)
        };
        self.all.iter().find(found)
    }

    #[track_caller]
    fn require(&self, what: &str, health: &str, words: &str, fix: &str) {
        let Some(found) = self.about(what, words) else {
            panic!("nothing about {what} says `{words}`: {:#?}", self.all);
        };
        assert_eq!(found["health"], health, "{found:#}");
        let fixes = found["fix"].as_str().unwrap_or_default();
        assert!(fixes.contains(fix), "{found:#}");
    }
}

/// A process that is killed with the test.
struct KilledOnDrop(Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _ended = self.0.wait();
    }
}

#[test]
fn a_healthy_home_has_nothing_to_fix() {
    let stage = Stage::new("minimal");
    let found = doctor(&stage);
    assert_eq!(found.code, 0, "{:#?}", found.all);
    found.require("git", "ok", "2.38 or newer is needed", "");
    found.require("tmux", "ok", "3.3 or newer is needed", "");
    found.require("leftovers", "ok", "none", "");
    found.require("saved work of app", "ok", "none", "");
    found.require(
        "claude",
        "missing",
        "is not an executable file",
        "install it",
    );
    let output = stage.run_ok(&["doctor"]);
    assert!(output.contains("leftovers"), "{output}");
}

#[test]
fn a_machine_without_an_agent_has_something_to_fix() {
    let mut stage = Stage::new("minimal");
    assert!(doctor(&stage).about("agents", "").is_none());
    // A fresh home, as after the installation.
    let programs = stage.path("programs");
    fs::create_dir(&programs).unwrap();
    let path = stage.environment.variable("PATH").unwrap();
    for program in ["git", "tmux"] {
        let mut found = std::env::split_paths(path).map(|folder| folder.join(program));
        let found = found.find(|it| it.exists()).unwrap();
        symlink(found, programs.join(program)).unwrap();
    }
    stage.environment = Environment::of([
        ("HOME", stage.path("nobody")),
        ("ORANGE_HOME", stage.path("nobody/orange")),
        ("PATH", programs),
    ]);
    let found = doctor(&stage);
    found.require("claude", "missing", "is not on the PATH", "install it");
    let fix = "install one of these: `claude`, `codex`, `gemini`, `opencode`, `pi`";
    found.require("agents", "error", "no coding agent is installed", fix);
    assert_eq!(found.code, 3, "{:#?}", found.all);
}

#[test]
fn leftovers_are_reported_with_their_fix() {
    let stage = Stage::new("minimal");
    stage.run_ok(&["workspace", "init", "2"]);
    let mut gone = Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let draft = |pid: u32| stage.path(&format!("home/draft-{pid}.md"));
    fs::write(draft(gone.id()), "half a thought").unwrap();
    fs::write(draft(std::process::id()), "being written").unwrap();
    for folder in [
        "workspaces/app--77",
        "workspaces/.set-aside/app--1-5",
        "tasks/app/zzzz",
    ] {
        fs::create_dir_all(stage.path("home").join(folder)).unwrap();
    }
    let mut store = stage.store();
    store
        .retire_workspace(&WorkspaceName::new("app--1"))
        .unwrap();
    fs::remove_file(stage.path("home/workspaces/app--2/.git")).unwrap();
    let before = fs::read(stage.home().database()).unwrap();
    let found = doctor(&stage);
    assert_eq!(
        found.code, 0,
        "none of it blocks an agent: {:#?}",
        found.all
    );
    let require = |words: &str, name: &str, fix: &str| {
        found.require("leftovers", "warning", words, fix);
        let text = found.about("leftovers", words).unwrap()["message"].to_string();
        assert!(text.contains(name), "{text}");
    };
    let name = format!("draft-{}.md", gone.id());
    require("a killed editor left", &name, "then remove it");
    let own = format!("draft-{}.md", std::process::id());
    let drafts = found.about("leftovers", "a killed editor left").unwrap();
    assert!(!drafts.to_string().contains(&own), "it is being written");
    require("moved aside", "app--1-5", "rm -r");
    require("not in the pool", "app--77", "mv ");
    require("retired from the pool", "app--1", "orange workspace gc");
    require("not created completely", "app--2", "mv ");
    require("not in the database", "zzzz", "orange rebuild --move-aside");
    assert_eq!(
        fs::read(stage.home().database()).unwrap(),
        before,
        "it only looks"
    );
}

#[test]
fn leftovers_and_rescues_of_finished_tasks_are_reported() {
    let stage = Stage::new("minimal");
    stage.script("worker-1", "echo unsaved > notes.txt; commit one");
    let id = stage.create(&["fix", "Fix it"]);
    stage.run_ok(&["task", "spawn", "fix", "--wait", "60"]);
    stage.wait_for_turn("worker-1");
    let run = stage.store().runs(&id).unwrap().remove(0).id;
    fs::write(stage.worktree(&id).join("unsaved.txt"), "unsaved").unwrap();
    stage.run_ok(&["task", "cancel", "fix", "--wait", "60"]);
    stage.wait_until_idle(&id);
    let mut escaped = Command::new("sleep");
    escaped
        .arg("300")
        .env_clear()
        .env("ORANGE_RUN_ID", run.as_str());
    let escaped = escaped.env("ORANGE_HOME", stage.home().path()).spawn();
    let _escaped = KilledOnDrop(escaped.unwrap());
    wait_for("what escaped to be told", || {
        let found = doctor(&stage);
        found.about("leftovers", "that no task needs").is_some()
    });
    let found = doctor(&stage);
    let fix = "orange serve --detach";
    found.require("leftovers", "warning", run.as_str(), fix);
    let kept = format!("entries: 1; the oldest is from task `{id}`, 20");
    let fix = format!("orange task restore {id}");
    found.require("saved work of app", "ok", &kept, &fix);
}

#[test]
fn a_home_on_a_temporary_file_system_is_reported() {
    let stage = Stage::in_memory("minimal");
    if !stage.path("").starts_with("/dev/shm") {
        println!("SKIPPED: this machine has no /dev/shm");
        return;
    }
    let found = doctor(&stage);
    for what in [
        "disk of orange's home",
        "disk of the worktrees",
        "disk of app",
    ] {
        found.require(
            what,
            "warning",
            "is on tmpfs: everything in it is lost after a reboot",
            "local disk",
        );
    }
}

#[test]
fn a_missing_repository_does_not_hide_other_findings() {
    let stage = Stage::new("minimal");
    let mut orange = stage.orange(&["doctor", "--json"]);
    fs::rename(stage.path("repo"), stage.path("moved")).unwrap();
    let output = orange.current_dir(stage.path("")).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let all = answer["checkups"].as_array().unwrap().clone();
    let found = Findings { code: 3, all };
    found.require("project app", "error", "repo", "orange project remove app");
    found.require("leftovers", "ok", "none", "");
}

#[test]
fn a_broken_configuration_is_a_finding_among_others() {
    let stage = Stage::new("default");
    fs::write(stage.path("home/config.toml"), "harnes = \"script\"\n").unwrap();
    let found = doctor(&stage);
    assert_eq!(found.code, 3, "{:#?}", found.all);
    found.require("config.toml", "error", "harnes", "did you mean `harness`?");
    found.require("git", "ok", "2.38 or newer is needed", "");
    found.require("script", "ok", "", "");
}

#[test]
fn missing_and_outdated_programs_are_reported() {
    let stage = Stage::new("minimal");
    fs::create_dir(stage.path("bin")).unwrap();
    let git = stage.path("bin/git");
    fs::write(&git, "#!/bin/sh\necho git version 2.30.2\n").unwrap();
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).unwrap();
    let mut orange = stage.orange(&["doctor", "--json"]);
    let output = orange.env("PATH", stage.path("bin")).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let all = answer["checkups"].as_array().unwrap().clone();
    let found = Findings { code: 3, all };
    found.require(
        "git",
        "error",
        "2.30.2, which is older than 2.38",
        "install git 2.38",
    );
    found.require("tmux", "error", "tmux", "install tmux 3.3");
}

#[test]
fn a_key_that_is_not_set_is_not_reported() {
    let stage = Stage::new("minimal");
    let definition = "name = \"apt\"\nbinary = \"/bin/sh\"\n[args]\nfull = []\n[[ready]]\n\
        what = \"the key is approved\"\nfix = \"approve it\"\nwhen_set = \"APT_KEY\"\n\
        places = [{ file = \"~/.apt\" }]\n";
    fs::write(stage.path("home/harnesses/apt.toml"), definition).unwrap();
    let output = |key: Option<&str>| {
        let mut orange = stage.orange(&["doctor", "--json"]);
        orange.envs(key.map(|key| ("APT_KEY", key)));
        String::from_utf8(orange.output().unwrap().stdout).unwrap()
    };
    let with = output(Some("key"));
    assert!(with.contains("the key is approved"), "{with}");
    let without = output(None);
    assert!(without.contains("apt"), "{without}");
    assert!(!without.contains("is approved"), "{without}");
}

#[test]
fn branches_that_stay_after_merging_are_mentioned() {
    let stage = Stage::new("minimal");
    let id = create_reviewed_task(&stage);
    let found = doctor(&stage);
    assert!(found.about("branches of app", "").is_none());
    stage.must_merge(&id, &[]);
    let fix = "orange project update app --delete-branch true";
    doctor(&stage).require("branches of app", "ok", "such as `fix`", fix);
    assert!(stage.git("branch -q -d fix").status.success());
    assert!(doctor(&stage).about("branches of app", "").is_none());
}

#[test]
fn an_outdated_skill_is_reported() {
    let stage = Stage::new("minimal");
    let definition =
        "name = \"apt\"\nbinary = \"/bin/sh\"\nskills = \"~/.apt/skills\"\n[args]\nfull = []\n";
    fs::write(stage.path("home/harnesses/apt.toml"), definition).unwrap();
    let told = |health: &str, words: &str, fix: &str| {
        doctor(&stage).require("skill of apt", health, words, fix);
    };
    told("missing", "not installed", "orange install --harness apt");
    stage.run_ok(&["install"]);
    told("ok", "up to date", "");
    stage.run_ok(&["project", "update", "--workflow", "respawn"]);
    told("warning", "out of date", "orange install --harness apt");
    stage.run_ok(&["install"]);
    told("ok", "up to date", "");
    fs::write(stage.path(".apt/skills/orange/SKILL.md"), "mine").unwrap();
    told("warning", "orange did not write it", ".mine");
}

#[test]
fn a_filter_of_the_repository_that_files_need_is_reported() {
    let stage = Stage::new("minimal");
    let repo = stage.path("repo");
    let git = |arguments: &str| assert!(stage.git(arguments).status.success(), "{arguments}");
    git("config filter.sorted.clean sort");
    let text = "uses the filter `sorted` of the repository's own configuration";
    assert!(
        doctor(&stage).about("filters", text).is_none(),
        "no file needs it"
    );
    fs::write(repo.join(".gitattributes"), "*.dat filter=sorted\n").unwrap();
    fs::write(repo.join("z.dat"), "b\na\n").unwrap();
    git("add -A");
    git("commit -qm data");
    let command = "git config --global filter.sorted.clean";
    doctor(&stage).require("filters", "warning", text, command);
    let (code, output) = stage.call(&["project", "add"]);
    assert_eq!(code, 0, "{output}");
    let output = output.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        output.contains(text) && output.contains(command),
        "{output}"
    );
    git("config --global filter.sorted.clean sort");
    assert!(doctor(&stage).about("filters", text).is_none());
    // Each command that the repository has is needed.
    git("config filter.sorted.smudge cat");
    doctor(&stage).require("filters", "warning", text, "set all of them");
    git("config --global filter.sorted.smudge cat");
    assert!(doctor(&stage).about("filters", text).is_none());
}

#[test]
fn doctor_reports_a_default_branch_that_was_renamed() {
    let stage = Stage::new("default");
    let (_, before) = stage.json(&["doctor", "--json"]);
    let is_missing = |answer: &Value| {
        let text = answer.to_string();
        text.contains("there is no branch `main`")
    };
    assert!(!is_missing(&before), "{before}");
    stage.git("branch -m main trunk");
    let (code, answer) = stage.json(&["doctor", "--json"]);
    assert_eq!(code, 3, "{answer}");
    assert!(is_missing(&answer), "{answer}");
    let fix = "orange project update app --default-branch trunk";
    assert!(answer.to_string().contains(fix), "{answer}");
    stage.run_ok(&["project", "update", "app", "--default-branch", "trunk"]);
    let (_, after) = stage.json(&["doctor", "--json"]);
    assert!(!after.to_string().contains("there is no branch"), "{after}");
}

#[test]
fn doctor_reports_a_harness_setting_that_does_not_exist() {
    let stage = Stage::new("default");
    let path = stage.path("home/config.toml");
    let text = fs::read_to_string(&path).unwrap_or_default();
    fs::write(&path, format!("review_harness = \"nope\"\n{text}")).unwrap();
    let (code, answer) = stage.json(&["doctor", "--json"]);
    assert_eq!(code, 3, "{answer}");
    let checks = answer["checkups"].as_array().unwrap();
    let found = checks.iter().find(|it| it["subject"] == "nope").unwrap();
    assert_eq!(found["health"], "error");
    assert!(found["fix"].as_str().unwrap().contains("config.toml"));
}
