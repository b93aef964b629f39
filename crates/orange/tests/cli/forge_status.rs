//! `orange forge status`.

use orange_config::Environment;
use scripted_forge::Permission;
use serde_json::json;

use crate::support::forge_stage::{ForgeStage, REPOSITORY};

#[test]
fn the_status_says_where_the_token_comes_from_and_never_shows_it() {
    let it = ForgeStage::new("minimal");
    let text = it.stage.run_ok(&["forge", "status"]);
    for part in [
        "github.com",
        "ada/app",
        "$GH_TOKEN, account ada",
        "may push",
        "repo, workflow",
        "graphql requests left",
        "clock",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains(&it.token), "{text}");
    let (code, status) = it.stage.json(&["forge", "status", "--json"]);
    assert_eq!(code, 0, "{status}");
    let project = &status["projects"][0];
    assert_eq!(project["repository"], REPOSITORY);
    assert_eq!(project["account"], "ada");
    assert_eq!(project["may_push"], true);
    assert_eq!(project["scopes"], json!(["repo", "workflow"]));
    assert!(project["clock_skew"].as_i64().unwrap().abs() < 60);
    assert!(!status.to_string().contains(&it.token));
    let doctor = it.stage.call(&["doctor"]).1;
    assert!(doctor.contains("GitHub for app"), "{doctor}");
    assert!(doctor.contains("scopes repo, workflow"), "{doctor}");
    assert!(!doctor.contains(&it.token));
}

#[test]
fn what_is_wrong_is_said() {
    let mut it = ForgeStage::new("minimal");
    let problem = |it: &ForgeStage| {
        let (code, status) = it.stage.json(&["forge", "status", "--json"]);
        assert_eq!(code, 3, "{status}");
        let problem = status["projects"][0]["problem"].as_str();
        problem.unwrap().to_owned()
    };
    it.forge.token_works("ada", false);
    assert!(problem(&it).contains("rejected the token"));
    it.forge.token_works("ada", true);
    for scopes in ["", "gist, read:org"] {
        it.forge.set_scopes("ada", Some(scopes));
        assert!(problem(&it).contains("lacks the scope `repo`"), "{scopes}");
    }
    // A fine-grained token has no scopes, and GitHub says nothing about what it allows.
    it.forge.set_scopes("ada", None);
    let (code, status) = it.stage.json(&["forge", "status", "--json"]);
    assert_eq!((code, &status["projects"][0]["scopes"]), (0, &json!(null)));
    let eve = it.forge.user("eve");
    it.forge.allow(REPOSITORY, "eve", Permission::Read);
    let known = it.stage.environment.variables().clone().into_iter();
    let other = ("GH_TOKEN".into(), eve.into());
    it.stage.environment = Environment::of(known.chain([other]));
    assert!(problem(&it).contains("does not allow to push"));
    // Only a loopback address may replace the forge's own.
    let known = it.stage.environment.variables().clone().into_iter();
    let other = ("ORANGE_FORGE_API".into(), "http://example.org:80".into());
    it.stage.environment = Environment::of(known.chain([other]));
    assert!(problem(&it).contains("loopback"));
}

#[test]
fn a_project_elsewhere_has_no_forge() {
    let it = ForgeStage::new("minimal");
    it.stage.configure("forge_repository", &json!(null));
    let text = it.stage.run_ok(&["forge", "status"]);
    assert!(text.contains("none on GitHub"), "{text}");
    assert!(it.forge.calls().is_empty(), "nothing was asked");
}
