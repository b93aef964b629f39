//! What an allowed policy does to tasks.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::POLICY;
use crate::support::Stage;

/// How many times git is started to create a task and start its agent.
fn git_starts(stage: &Stage) -> usize {
    let folder = stage.path("counted");
    fs::create_dir(&folder).unwrap();
    let path = stage
        .environment
        .variable("PATH")
        .unwrap()
        .to_str()
        .unwrap();
    let real = path.split(':').map(|it| format!("{it}/git"));
    let real = real
        .into_iter()
        .find(|it| fs::metadata(it).is_ok())
        .unwrap();
    let log = folder.join("log");
    let script = format!(
        "#!/bin/sh\necho \"$*\" >> '{}'\nexec '{real}' \"$@\"\n",
        log.display()
    );
    fs::write(folder.join("git"), script).unwrap();
    fs::set_permissions(folder.join("git"), fs::Permissions::from_mode(0o700)).unwrap();
    stage.script("worker-1", "true");
    let typed = [
        "new",
        "Counted",
        "--branch",
        "counted",
        "--wait",
        "2m",
        "--workflow",
        "default",
    ];
    let mut orange = stage.orange(&typed);
    orange.env("PATH", format!("{}:{path}", folder.display()));
    let output = orange.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    stage.wait_for_turn("worker-1");
    fs::read_to_string(&log)
        .unwrap()
        .lines()
        .filter(|it| !it.contains("log --format"))
        .count()
}

#[test]
fn a_start_reads_the_repository_no_more_than_before() {
    let policy = [(".orange/policy.toml", "[merge]\nverify = \"true\"\n")];
    let without = Stage::with_policy(&policy);
    let with = Stage::with_policy(&policy);
    with.run_ok(&["allow", "--yes"]);
    // The default branch moves on, so a comparison would have to ask git.
    for stage in [&without, &with] {
        let changed = [(".orange/policy.toml", "[merge]\nverify = \"false\"\n")];
        stage.commit_files(&stage.path("repo"), &changed);
    }
    assert_eq!(git_starts(&with), git_starts(&without));
    assert_eq!(with.setting("merge.verify").0, "true");
}

#[test]
fn the_scripts_and_the_verification_of_a_policy_run() {
    let script = ["sh", "-c", "echo $ORANGE_TASK_ID > made-by-setup"];
    let settings = format!("setup = {script:?}\nsetup_timeout = \"1m\"\n");
    let stage = Stage::with_policy(&[(".orange/policy.toml", &settings)]);
    stage.script("worker-1", "true");
    let start = |name: &str| {
        let id = stage.create(&[name, "--branch", name]);
        stage.run_ok(&["task", "spawn", id.as_str(), "--wait", "2m"]);
        id
    };
    let id = start("before");
    assert!(!stage.worktree(&id).join("made-by-setup").exists());
    stage.run_ok(&["allow", "--yes"]);
    let id = start("after");
    let made = fs::read_to_string(stage.worktree(&id).join("made-by-setup")).unwrap();
    assert_eq!(made.trim(), id.as_str());
    // The user's own script replaces it.
    stage.configure("setup", &json!(["sh", "-c", "echo mine > made-by-setup"]));
    let id = start("own");
    let made = fs::read_to_string(stage.worktree(&id).join("made-by-setup")).unwrap();
    assert_eq!(made, "mine\n");
}

#[test]
fn a_policy_can_require_a_sandbox_but_not_take_one_away() {
    let settings =
        "[sandbox]\nmode = \"off\"\nnetwork = \"open\"\nhosts = [\"evil.example.org\"]\n";
    let stage = Stage::with_policy(&[(".orange/policy.toml", settings)]).sandbox_by_settings();
    let own = "[sandbox]\nmode = \"auto\"\nnetwork = \"list\"\nhosts = [\"a.example.org\"]\n";
    fs::write(stage.home().settings(), own).unwrap();
    let shown = stage.call(&["allow"]).1;
    assert!(shown.contains("evil.example.org:443"), "{shown}");
    assert_eq!(shown.matches("your value counts").count(), 3, "{shown}");
    stage.run_ok(&["allow", "--yes"]);
    assert_eq!(
        stage.setting("sandbox.mode"),
        (json!("auto"), "file".to_owned())
    );
    assert_eq!(
        stage.setting("sandbox.network"),
        (json!("list"), "file".to_owned())
    );
    assert_eq!(
        stage.setting("sandbox.hosts").0,
        json!(["a.example.org:443"])
    );
    let strict = "[sandbox]\nmode = \"required\"\nnetwork = \"none\"\n";
    stage.commit_files(&stage.path("repo"), &[(".orange/policy.toml", strict)]);
    stage.run_ok(&["allow", "--yes"]);
    assert_eq!(
        stage.setting("sandbox.mode"),
        (json!("required"), "policy".to_owned())
    );
    assert_eq!(
        stage.setting("sandbox.network"),
        (json!("none"), "policy".to_owned())
    );
    // The entry of the project is the user's word about this very repository.
    stage.configure("sandbox_network", &json!("open"));
    assert_eq!(
        stage.setting("sandbox.network"),
        (json!("open"), "project".to_owned())
    );
}

#[test]
fn the_users_workflow_wins_over_the_policys_which_wins_over_the_shipped() {
    let text = POLICY[1].1.replace("name: team", "name: minimal");
    let stage = Stage::with_policy(&[(".orange/workflows/minimal.yml", &text)]);
    let shown = stage.call(&["allow"]).1;
    assert!(shown.contains("replaces the shipped workflow"), "{shown}");
    let pinned = |name: &str| {
        let id = stage.create(&[name, "--workflow", "minimal", "--branch", name]);
        stage.store().require(&id).unwrap().workflow_text
    };
    assert!(!pinned("shipped").contains("asked"));
    stage.run_ok(&["allow", "--yes"]);
    assert_eq!(pinned("policy"), text);
    fs::create_dir_all(stage.home().workflows()).unwrap();
    let own = text.replace("asked", "mine");
    fs::write(stage.home().workflows().join("minimal.yml"), &own).unwrap();
    assert_eq!(pinned("own"), own);
}
