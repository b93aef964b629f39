//! Mergeability and merging.

use scripted_forge::{Forge, Protection};
use serde_json::json;

use crate::client::Client;

#[test]
fn mergeability_is_unknown_at_first() {
    let forge = Forge::start();
    forge.repository("octo/demo");
    let octo = Client::new(&forge, "octo");
    let number = forge.pull("octo/demo", "feature");
    let path = format!("/repos/octo/demo/pulls/{number}");
    let read = || {
        let shown = octo.get(&path).json();
        (shown["mergeable"].clone(), shown["mergeable_state"].clone())
    };
    assert_eq!(read(), (json!(null), json!("unknown")));
    assert_eq!(read(), (json!(true), json!("clean")));
    // A change of the base makes it unknown again.
    forge.commit("octo/demo", "main", &[("other.txt", "x\n")]);
    let ids = json!({ "ids": [forge.node_id("octo/demo", number)] });
    let query = "query($ids: [ID!]!) { nodes(ids: $ids) { ... on PullRequest { mergeable mergeStateStatus } } }";
    let first = octo.graphql(query, &ids)["data"]["nodes"][0].clone();
    assert_eq!(
        first,
        json!({ "mergeable": "UNKNOWN", "mergeStateStatus": "UNKNOWN" })
    );
    let second = octo.graphql(query, &ids)["data"]["nodes"][0].clone();
    assert_eq!(
        second,
        json!({ "mergeable": "MERGEABLE", "mergeStateStatus": "CLEAN" })
    );
    forge.finish();
}

#[test]
fn a_merge_is_bound_to_the_head() {
    let forge = Forge::start();
    let path = forge.repository("octo/demo");
    let octo = Client::new(&forge, "octo");
    let number = forge.pull("octo/demo", "feature");
    let old = forge.head("octo/demo", number);
    let new = forge.commit("octo/demo", "feature", &[("later.txt", "x\n")]);
    let merge = format!("/repos/octo/demo/pulls/{number}/merge");
    let refused = octo.send("PUT", &merge, &json!({ "sha": old }));
    assert_eq!(refused.status, 409);
    assert!(refused.message().starts_with("Head branch was modified"));
    let merged = octo.send("PUT", &merge, &json!({ "sha": new }));
    assert_eq!(merged.status, 200, "{}", merged.text);
    let sha = merged.json()["sha"].as_str().unwrap().to_owned();
    assert_eq!(forge.tip("octo/demo", "main"), Some(sha.clone()));
    let parents = crate::gh::git(&path, &["show", "-s", "--format=%P", &sha]).unwrap();
    assert!(parents.trim().ends_with(&new), "{parents}");
    let shown = octo.get(&format!("/repos/octo/demo/pulls/{number}")).json();
    assert_eq!(shown["merged"], true);
    assert_eq!(shown["merge_commit_sha"], sha);
    assert_eq!(octo.send("PUT", &merge, &json!({})).status, 405);
    forge.finish();
}

#[test]
fn squash_and_rebase_are_real() {
    let forge = Forge::start();
    let path = forge.repository("octo/demo");
    let octo = Client::new(&forge, "octo");
    for (branch, method, commits) in [("one", "squash", 1), ("two", "rebase", 2)] {
        let before = forge.tip("octo/demo", "main").unwrap();
        let number = forge.pull("octo/demo", branch);
        forge.commit("octo/demo", branch, &[(&format!("{branch}-2.txt"), "x\n")]);
        let body = json!({ "merge_method": method, "commit_title": "A title" });
        let merge = octo.send(
            "PUT",
            &format!("/repos/octo/demo/pulls/{number}/merge"),
            &body,
        );
        assert_eq!(merge.status, 200, "{}", merge.text);
        let range = format!("{before}..main");
        let count = crate::gh::git(&path, &["rev-list", "--count", &range]).unwrap();
        assert_eq!(count.trim().parse::<usize>().unwrap(), commits);
        let files = crate::gh::git(&path, &["ls-tree", "--name-only", "main"]).unwrap();
        assert!(files.contains(&format!("{branch}-2.txt")));
    }
    forge.finish();
}

#[test]
fn a_conflict_is_not_mergeable() {
    let forge = Forge::start();
    forge.repository("octo/demo");
    let octo = Client::new(&forge, "octo");
    let number = forge.pull("octo/demo", "feature");
    forge.commit("octo/demo", "main", &[("feature.txt", "other\n")]);
    let path = format!("/repos/octo/demo/pulls/{number}");
    octo.get(&path);
    let shown = octo.get(&path).json();
    assert_eq!(
        (&shown["mergeable"], &shown["mergeable_state"]),
        (&json!(false), &json!("dirty"))
    );
    let refused = octo.send("PUT", &format!("{path}/merge"), &json!({}));
    assert_eq!(
        (refused.status, refused.message().as_str()),
        (405, "Pull Request is not mergeable")
    );
    forge.finish();
}

#[test]
fn drafts_and_required_checks_stand_in_the_way() {
    let forge = Forge::start();
    forge.repository("octo/demo");
    let octo = Client::new(&forge, "octo");
    forge.unknown_reads(0);
    let number = forge.pull("octo/demo", "feature");
    let merge = format!("/repos/octo/demo/pulls/{number}/merge");
    forge.set_draft("octo/demo", number, "octo", true);
    assert_eq!(
        octo.send("PUT", &merge, &json!({})).message(),
        "Pull Request is still a draft"
    );
    let state = |field: &str| {
        let id = forge.node_id("octo/demo", number);
        let query =
            "query($id: ID!) { node(id: $id) { ... on PullRequest { isDraft mergeStateStatus } } }";
        octo.graphql(query, &json!({ "id": id }))["data"]["node"][field].clone()
    };
    assert_eq!(
        (state("isDraft"), state("mergeStateStatus")),
        (json!(true), json!("BLOCKED"))
    );
    forge.set_draft("octo/demo", number, "octo", false);
    let required_checks = vec!["test".to_owned(), "legacy".to_owned()];
    forge.protect(
        "octo/demo",
        "main",
        Protection {
            required_checks,
            ..Protection::default()
        },
    );
    let reply = octo.send("PUT", &merge, &json!({}));
    assert_eq!(
        reply.message(),
        "Required status check \"test\" is expected."
    );
    let protection = octo.get("/repos/octo/demo/branches/main/protection/required_status_checks");
    assert_eq!(protection.json()["contexts"], json!(["test", "legacy"]));
    // A skipped required job counts as success.
    forge.check("octo/demo", number, "test", Some("skipped"));
    forge.status("octo/demo", number, "legacy", "failure", "octo");
    let reply = octo.send("PUT", &merge, &json!({}));
    assert_eq!(
        reply.message(),
        "Required status check \"legacy\" is failing."
    );
    forge.status("octo/demo", number, "legacy", "success", "octo");
    assert_eq!(octo.send("PUT", &merge, &json!({})).status, 200);
    forge.finish();
}

#[test]
fn rulesets_require_checks_and_every_reader_sees_them() {
    let forge = Forge::start();
    forge.repository("octo/demo");
    let octo = Client::new(&forge, "octo");
    let reader = Client::new(&forge, "reader");
    let number = forge.pull("octo/demo", "feature");
    let rules = "/repos/octo/demo/rules/branches/main";
    assert_eq!(reader.get(rules).json(), json!([]));
    forge.protect(
        "octo/demo",
        "main",
        Protection {
            ruleset_checks: vec!["lint".to_owned()],
            ..Protection::default()
        },
    );
    let shown = reader.get(rules).json();
    let parameters = &shown[1]["parameters"];
    assert_eq!(parameters["required_status_checks"][0]["context"], "lint");
    let protection = "/repos/octo/demo/branches/main/protection/required_status_checks";
    assert_eq!(octo.get(protection).status, 404);
    let merge = format!("/repos/octo/demo/pulls/{number}/merge");
    assert_eq!(
        octo.send("PUT", &merge, &json!({})).message(),
        "Required status check \"lint\" is expected."
    );
    forge.check("octo/demo", number, "lint", Some("success"));
    assert_eq!(octo.send("PUT", &merge, &json!({})).status, 200);
    forge.finish();
}

#[test]
fn a_merge_made_with_git_alone_is_seen() {
    let forge = Forge::start();
    let path = forge.repository("octo/demo");
    let octo = Client::new(&forge, "octo");
    let number = forge.pull("octo/demo", "feature");
    let head = forge.head("octo/demo", number);
    crate::gh::git(&path, &["update-ref", "refs/heads/main", &head]).unwrap();
    let shown = octo.get(&format!("/repos/octo/demo/pulls/{number}")).json();
    assert_eq!(
        (&shown["merged"], &shown["state"]),
        (&json!(true), &json!("closed"))
    );
    forge.finish();
}
