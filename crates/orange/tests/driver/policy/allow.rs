//! A policy is shown in full, and pinned as it was shown.

use std::fs;

use serde_json::json;

use super::{POLICY, SETTINGS, TEAM};
use crate::support::{Stage, Terminal};

#[test]
fn a_policy_counts_once_it_is_allowed() {
    let stage = Stage::with_policy(POLICY);
    assert_eq!(stage.policy_state(), "not_allowed");
    assert_eq!(stage.setting("workflow").1, "default");
    let before = stage.create(&["Before"]);
    assert_eq!(stage.task(&before).workflow.as_str(), "default");
    let (code, shown) = stage.call(&["allow"]);
    assert_eq!(code, 3, "{shown}");
    for line in [SETTINGS.lines().next().unwrap(), TEAM]
        .concat()
        .lines()
        .skip(1)
    {
        assert!(shown.contains(line), "`{line}` is missing:\n{shown}");
    }
    assert!(shown.contains("\"echo ready > made-by-setup\""), "{shown}");
    assert!(!stage.home().policies().exists(), "showing pins nothing");
    let (code, answer) = stage.json(&["allow", "--json"]);
    assert_eq!((code, &answer["outcome"]), (3, &json!("not_confirmed")));
    assert_eq!(answer["policy"]["workflows"][0]["text"], TEAM);
    let hash = answer["policy"]["hash"].as_str().unwrap().to_owned();
    assert!(
        shown.contains(&format!("--yes --hash {}", &hash[..16])),
        "{shown}"
    );
    assert_eq!(
        stage.refused(&["allow", "--yes", "--hash", "000000000000"]),
        "policy-differs"
    );
    assert_eq!(
        stage.refused(&["allow", "--yes", "--hash", &hash[..4]]),
        "policy-differs"
    );
    assert_eq!(stage.policy_state(), "not_allowed");

    stage.run_ok(&["allow", "--yes", "--hash", &hash[..16]]);
    assert_eq!(stage.policy_state(), "allowed");
    assert_eq!(
        stage.setting("workflow"),
        (json!("team"), "policy".to_owned())
    );
    assert_eq!(stage.setting("setup").1, "policy");
    // What the user says about the project wins.
    stage.configure("merge_verify", &json!("mine"));
    assert_eq!(
        stage.setting("merge.verify"),
        (json!("mine"), "project".to_owned())
    );
    let shown = stage.run_ok(&["config", "show"]);
    assert!(shown.contains("repository policy (app)"), "{shown}");
    let (_, answer) = stage.json(&["allow", "--json"]);
    assert_eq!(answer["outcome"], "already");
    let settings = answer["policy"]["settings"].as_array().unwrap();
    let overridden: Vec<&str> = settings
        .iter()
        .filter(|it| it["is_overridden"] == true)
        .map(|it| it["key"].as_str().unwrap())
        .collect();
    assert_eq!(overridden, ["merge.verify"]);
    let id = stage.create(&["After"]);
    assert_eq!(stage.task(&id).workflow.as_str(), "team");
    assert_eq!(stage.task(&before).workflow.as_str(), "default");
    let listed = stage.run_ok(&["workflow", "list"]);
    assert!(listed.contains("repository policy"), "{listed}");
    assert!(
        stage
            .run_ok(&["workflow", "show", "team"])
            .contains("asked")
    );
    assert!(stage.run_ok(&["doctor"]).contains("allowed (commit"));

    // An adopted workflow and a job may be the policy's, too.
    stage.run_ok(&["task", "update", before.as_str(), "--workflow", "minimal"]);
    let (code, answer) = stage.json(&["allow", "--revoke", "--json"]);
    assert_eq!((code, &answer["outcome"]), (0, &json!("revoked")));
    assert_eq!(stage.policy_state(), "not_allowed");
    assert_eq!(stage.setting("workflow").1, "default");
    assert_eq!(
        stage.refused(&["new", "Gone", "--workflow", "team", "--no-spawn"]),
        "workflow-not-found"
    );
    // A task keeps what it was created with.
    stage.run_ok(&["task", "update", id.as_str(), "--status", "done"]);
    let (code, answer) = stage.json(&["allow", "--revoke", "--json"]);
    assert_eq!((code, &answer["outcome"]), (0, &json!("none_allowed")));
}

#[test]
fn the_user_is_asked_and_a_killed_command_has_allowed_nothing() {
    let stage = Stage::with_policy(POLICY);
    let question = "Allow this policy for project app? [y/N]";
    let line = format!("cd '{}' && orange allow", stage.path("repo").display());
    let killed = Terminal::start(&stage, "killed", 120, &line);
    killed.wait_for(question);
    killed.press(&["C-c"]);
    let screen = killed.finish();
    assert!(!screen.contains("policy allowed"), "{screen}");
    assert_eq!(stage.policy_state(), "not_allowed");
    let denied = Terminal::start(&stage, "denied", 120, &line);
    denied.wait_for(question);
    denied.press(&["Enter"]);
    let screen = denied.finish();
    assert!(screen.contains("you answered no"), "{screen}");
    assert_eq!(stage.policy_state(), "not_allowed");
    let allowed = Terminal::start(&stage, "allowed", 120, &line);
    allowed.wait_for(question);
    // What is pinned is what is on the screen, whatever is committed meanwhile.
    let evil = SETTINGS.replace("make test", "evil");
    stage.commit_files(&stage.path("repo"), &[(".orange/policy.toml", &evil)]);
    allowed.press(&["y", "Enter"]);
    let screen = allowed.finish();
    assert!(screen.contains("app: policy allowed"), "{screen}");
    assert_eq!(stage.setting("merge.verify").0, "make test");
    assert_eq!(stage.policy_state(), "changed");
}

#[test]
fn what_was_shown_is_pinned_byte_for_byte() {
    let stage = Stage::with_policy(POLICY);
    let driver = stage.driver();
    let project = driver.callers.project_for(None).unwrap();
    let proposal = driver.admin.propose_policy(&project).unwrap();
    let evil = TEAM.replace("team", "evil");
    stage.commit_files(
        &stage.path("repo"),
        &[(".orange/workflows/evil.yml", &evil)],
    );
    let pinned = driver.admin.allow_policy(&proposal).unwrap();
    assert_eq!(pinned.hash, proposal.committed.hash);
    assert_eq!(pinned.files, proposal.committed.files);
    assert_eq!(pinned.files.len(), 2);
    // A pinned text that was changed later is not used, and the error says what to run.
    let path = stage.home().policy(&project.name);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("make test", "evil test")).unwrap();
    assert_eq!(
        stage.refused(&["new", "Task", "--no-spawn"]),
        "policy-unusable"
    );
    stage.run_ok(&["project", "list"]);
    let (_, text) = stage.call(&["doctor"]);
    assert!(text.contains("orange allow --project app"), "{text}");
    stage.run_ok(&["allow", "--yes"]);
    stage.create(&["Task"]);
}
