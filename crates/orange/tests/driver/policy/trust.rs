//! Nothing but the user's command makes orange use a policy.

use std::fs;

use serde_json::json;

use super::{POLICY, SETTINGS, TEAM, write_files};
use crate::support::Stage;

#[test]
fn only_the_commit_of_the_default_branch_is_read() {
    let stage = Stage::new("default");
    let repo = stage.path("repo");
    assert_eq!(stage.policy_state(), "none");
    // In the working tree, in the index, on another branch that is checked out.
    write_files(&repo, POLICY);
    assert_eq!(stage.refused(&["allow", "--yes"]), "policy-missing");
    stage.git_output("repo", "add -f .orange");
    assert_eq!(stage.refused(&["allow", "--yes"]), "policy-missing");
    stage.git_output("repo", "checkout -qb pull-request");
    stage.git_output("repo", "commit -qm policy");
    assert_eq!(stage.refused(&["allow", "--yes"]), "policy-missing");
    assert_eq!(stage.policy_state(), "none");
    stage.git_output("repo", "tag main pull-request");
    assert_eq!(stage.refused(&["allow", "--yes"]), "policy-missing");

    // A policy that is allowed is not replaced by what those say.
    stage.git_output("repo", "checkout -q refs/heads/main");
    stage.git_output("repo", "checkout -q main --");
    stage.git_output("repo", "tag -d main");
    stage.commit_files(
        &repo,
        &[(".orange/policy.toml", "[merge]\nstrategy = \"squash\"\n")],
    );
    stage.run_ok(&["allow", "--yes"]);
    write_files(&repo, POLICY);
    assert_eq!(stage.setting("merge.strategy").0, "squash");
    assert_eq!(stage.setting("merge.verify").1, "default");
    assert_eq!(stage.policy_state(), "allowed");
}

#[test]
fn a_policy_on_a_tasks_branch_has_no_effect_and_its_agent_cannot_allow_it() {
    let stage = Stage::with_policy(POLICY);
    let away = "env -u ORANGE_RUN_ID -u ORANGE_RUN_PROOF -u ORANGE_ROLE -u ORANGE_TASK_ID";
    let repo = stage.path("repo");
    let script = format!(
        "mkdir -p .orange\nprintf 'harness = \"pi\"\\n' > .orange/policy.toml\n\
         git add -f .orange; git commit -qm policy\n\
         ask allow --yes\nask allow --yes --project app\nask allow --revoke\n\
         cd '{}'\nask allow --yes\n\
         {away} orange allow --yes > $SCRIPTS/away 2>&1; echo $? >> $SCRIPTS/away",
        repo.display()
    );
    stage.script("worker-1", &script);
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_turn("worker-1");
    let calls = stage.calls();
    assert_eq!(calls.matches("-> 3\n").count(), 4, "{calls}");
    assert_eq!(
        calls.matches("only the user may do this").count(),
        4,
        "{calls}"
    );
    let away = fs::read_to_string(stage.path("scripts/away")).unwrap();
    assert!(
        away.contains("only the user may do this") && away.ends_with("3\n"),
        "{away}"
    );
    assert_eq!(stage.policy_state(), "not_allowed");
    assert!(!stage.home().policies().exists());
    // From its worktree even a user counts as its worker.
    let mut orange = stage.orange(&["allow", "--yes"]);
    let refused = orange.current_dir(stage.worktree(&id)).output().unwrap();
    assert_eq!(refused.status.code(), Some(3));
    // What the user allows is that of the default branch.
    stage.run_ok(&["allow", "--yes"]);
    assert_eq!(stage.setting("workflow").0, "team");
    assert_eq!(stage.setting("harness").1, "project");
}

#[test]
fn a_change_is_shown_everywhere_and_used_nowhere() {
    let stage = Stage::with_policy(POLICY);
    stage.create(&["Task"]);
    stage.run_ok(&["allow", "--yes"]);
    let first = stage.git_output("repo", "rev-parse main");
    let repo = stage.path("repo");
    // A commit that leaves the policy alone changes nothing.
    stage.git_output("repo", "commit -q --allow-empty -m other");
    assert_eq!(stage.policy_state(), "allowed");
    let (_, attention) = stage.json(&["attention", "--json"]);
    assert_eq!(
        attention["items"].as_array().unwrap().len(),
        0,
        "{attention}"
    );

    let evil = SETTINGS.replace("make test", "evil");
    let evil_workflow = TEAM.replace("asked", "evil");
    stage.commit_files(
        &repo,
        &[
            (".orange/policy.toml", &evil),
            (".orange/workflows/team.yml", &evil_workflow),
        ],
    );
    assert_eq!(stage.setting("merge.verify").0, "make test");
    let id = stage.create(&["Later"]);
    assert!(
        stage
            .store()
            .require(&id)
            .unwrap()
            .workflow_text
            .contains("asked")
    );
    assert_eq!(stage.policy_state(), "changed");
    let (_, attention) = stage.json(&["attention", "--json"]);
    let item = &attention["items"][0];
    assert_eq!(item["kind"], "policy", "{attention}");
    assert_eq!(item["command"], "orange allow --project app");
    let shown = stage.run_ok(&["project", "show"]);
    assert!(shown.contains("orange allow --project app"), "{shown}");
    assert!(
        stage
            .call(&["doctor"])
            .1
            .contains("orange allow --project app")
    );

    // The old text again, by a revert: nothing to allow.
    stage.git_output("repo", "revert --no-edit HEAD");
    assert_eq!(stage.policy_state(), "allowed");
    // Taken away: the allowed text stays in use, and the command is to revoke it.
    stage.git_output("repo", "rm -rq .orange");
    stage.git_output("repo", "commit -qm removed");
    assert_eq!(stage.policy_state(), "changed");
    assert_eq!(stage.setting("merge.verify").0, "make test");
    let (_, shown) = stage.json(&["project", "show", "--json"]);
    assert_eq!(
        shown["policy"]["command"],
        "orange allow --revoke --project app"
    );
    // Moved back to the very commit.
    stage.git_output("repo", &format!("reset -q --hard {first}"));
    assert_eq!(stage.policy_state(), "allowed");

    stage.commit_files(&repo, &[(".orange/policy.toml", &evil)]);
    let shown = stage.call(&["allow"]).1;
    assert!(shown.contains("team.yml, unchanged"), "{shown}");
    let changes = "Changed since you allowed it\n  merge.verify: was make test\n\n";
    assert!(shown.contains(changes), "{shown}");
    stage.run_ok(&["allow", "--yes"]);
    assert_eq!(stage.setting("merge.verify").0, "evil");
    let other = [
        (".orange/policy.toml", "teardown = [\"true\"]\n"),
        (".orange/workflows/team.yml", &evil_workflow),
        (
            ".orange/workflows/more.yml",
            &TEAM.replace("name: team", "name: more"),
        ),
    ];
    stage.commit_files(&repo, &other);
    let shown = stage.call(&["allow"]).1;
    for change in [
        "  teardown: new\n",
        "  merge.verify: removed\n",
        "  workflow team: changed\n",
        "  workflow more: new\n",
    ] {
        assert!(shown.contains(change), "{shown}");
    }
}

#[test]
fn each_project_has_its_own_policy() {
    let stage = Stage::with_policy(POLICY);
    let other = stage.path("other");
    stage.git_output(
        "repo",
        &format!("worktree add -q -b trunk {}", other.display()),
    );
    let path = other.to_str().unwrap();
    stage.run_ok(&["project", "add", path, "--name", "other"]);
    stage.run_ok(&["project", "update", "other", "--default-branch", "trunk"]);
    stage.run_ok(&["allow", "--yes", "--project", "app"]);
    let show = |name: &str| stage.json(&["project", "show", name, "--json"]).1["policy"].clone();
    assert_eq!(show("app")["state"], "allowed");
    assert_eq!(show("other")["state"], "not_allowed");
    let trunk = [(".orange/policy.toml", "[merge]\nstrategy = \"squash\"\n")];
    stage.commit_files(&other, &trunk);
    stage.run_ok(&["allow", "--yes", "--project", "other"]);
    assert_eq!(show("app")["state"], "allowed");
    assert_ne!(show("app")["hash"], show("other")["hash"]);
    assert_eq!(stage.setting("merge.strategy").1, "default");
    stage.run_ok(&["allow", "--revoke", "--project", "other"]);
    assert_eq!(show("app")["state"], "allowed");
}

#[test]
fn a_policy_ends_with_its_project() {
    let stage = Stage::with_policy(POLICY);
    stage.run_ok(&["allow", "--yes"]);
    let app = stage.path("repo");
    stage.run_ok(&["project", "remove", "app"]);
    assert!(!stage.home().policies().join("app.json").exists());
    stage.run_ok(&["project", "add", app.to_str().unwrap(), "--name", "app"]);
    assert_eq!(stage.policy_state(), "not_allowed");
    stage.run_ok(&["allow", "--yes"]);
    // The user removes it by hand, and another repository gets its name.
    fs::write(stage.home().projects(), "{}").unwrap();
    let other = stage.path("other");
    fs::create_dir(&other).unwrap();
    for call in ["init -q -b main", "commit -q --allow-empty -m first"] {
        let call = format!("-c user.name=A -c user.email=a@example.org {call}");
        assert!(stage.git_in(&other, &call).status.success());
    }
    stage.run_ok(&["project", "add", other.to_str().unwrap(), "--name", "app"]);
    assert_eq!(stage.policy_state(), "none");
    assert_eq!(
        stage.setting("workflow"),
        (json!("default"), "default".to_owned())
    );
}
