//! Opening, finding, changing and closing pull requests.

use scripted_forge::{Forge, Permission};
use serde_json::json;

use crate::client::Client;

#[test]
fn a_second_pull_request_for_a_head_is_refused() {
    let forge = Forge::start();
    forge.repository("octo/demo");
    let octo = Client::new(&forge, "octo");
    forge.commit("octo/demo", "feature", &[("a.txt", "a\n")]);
    let body = json!({ "title": "A", "head": "feature", "base": "main", "draft": true });
    let made = octo.send("POST", "/repos/octo/demo/pulls", &body);
    assert_eq!(made.status, 201, "{}", made.text);
    assert_eq!(made.json()["draft"], true);
    let again = octo.send("POST", "/repos/octo/demo/pulls", &body);
    assert_eq!(again.status, 422);
    let message = again.json()["errors"][0]["message"].clone();
    assert_eq!(message, "A pull request already exists for octo:feature.");
    let found = octo.get("/repos/octo/demo/pulls?head=octo:feature&state=all");
    assert_eq!(found.json().as_array().unwrap().len(), 1);
    assert_eq!(forge.count("pulls/create"), 2);
    assert_eq!(forge.writes().len(), 1);
    assert_eq!(forge.writes()[0].input["head"], "feature");
    forge.finish();
}

#[test]
fn a_head_without_commits_or_without_a_branch_is_refused() {
    let forge = Forge::start();
    forge.repository("octo/demo");
    let octo = Client::new(&forge, "octo");
    let open = |head: &str| {
        let body = json!({ "title": "A", "head": head, "base": "main" });
        octo.send("POST", "/repos/octo/demo/pulls", &body)
    };
    assert_eq!(open("nothing").status, 422);
    assert_eq!(open("nothing").json()["errors"][0]["field"], "head");
    let message = open("main").json()["errors"][0]["message"].clone();
    assert_eq!(message, "No commits between main and main");
    forge.finish();
}

#[test]
fn a_text_over_65536_characters_is_refused() {
    let forge = Forge::start();
    forge.repository("octo/demo");
    let octo = Client::new(&forge, "octo");
    let number = forge.pull("octo/demo", "feature");
    let longest = "ü".repeat(65_536);
    let path = format!("/repos/octo/demo/pulls/{number}");
    assert_eq!(
        octo.send("PATCH", &path, &json!({ "body": longest }))
            .status,
        200
    );
    let reply = octo.send("PATCH", &path, &json!({ "body": longest + "x" }));
    assert_eq!(reply.status, 422);
    assert!(reply.text.contains("maximum is 65536 characters"));
    let path = format!("/repos/octo/demo/issues/{number}/comments");
    let reply = octo.send("POST", &path, &json!({ "body": "x".repeat(65_537) }));
    assert_eq!(reply.status, 422);
    forge.finish();
}

#[test]
fn deleting_the_head_or_the_base_closes_it() {
    let forge = Forge::start();
    forge.repository("octo/demo");
    let octo = Client::new(&forge, "octo");
    let headless = forge.pull("octo/demo", "feature");
    forge.commit("octo/demo", "base", &[("b.txt", "b\n")]);
    forge.commit("octo/demo", "stacked", &[("c.txt", "c\n")]);
    let body = json!({ "title": "S", "head": "stacked", "base": "base" });
    let stacked = octo.send("POST", "/repos/octo/demo/pulls", &body).json()["number"].clone();
    forge.delete_branch("octo/demo", "feature");
    forge.delete_branch("octo/demo", "base");
    for (number, event) in [
        (headless, "head_ref_deleted"),
        (stacked.as_u64().unwrap(), "base_ref_deleted"),
    ] {
        let shown = octo.get(&format!("/repos/octo/demo/pulls/{number}")).json();
        assert_eq!(
            (&shown["state"], &shown["merged"]),
            (&json!("closed"), &json!(false))
        );
        let events = octo
            .get(&format!("/repos/octo/demo/issues/{number}/events"))
            .json();
        assert_eq!(events[0]["event"], event);
        assert_eq!(events[1]["event"], "closed");
    }
    forge.finish();
}

#[test]
fn a_push_moves_the_head() {
    let forge = Forge::start();
    let path = forge.repository("octo/demo");
    let octo = Client::new(&forge, "octo");
    let number = forge.pull("octo/demo", "feature");
    let old = forge.head("octo/demo", number);
    let new = forge.commit("octo/demo", "feature", &[("more.txt", "more\n")]);
    assert_ne!(old, new);
    let shown = octo.get(&format!("/repos/octo/demo/pulls/{number}")).json();
    assert_eq!(shown["head"]["sha"], new);
    assert_eq!(shown["commits"], 2);
    assert_eq!(shown["changed_files"], 2);
    let reference = path.join(format!("refs/pull/{number}/head"));
    assert_eq!(std::fs::read_to_string(reference).unwrap().trim(), new);
    forge.finish();
}

#[test]
fn a_fork_has_its_own_head_and_may_be_deleted() {
    let forge = Forge::start();
    forge.repository("octo/demo");
    forge.fork("octo/demo", "guest");
    let octo = Client::new(&forge, "octo");
    forge.commit("guest/demo", "feature", &[("g.txt", "g\n")]);
    let own = forge.pull("octo/demo", "feature");
    let foreign = forge.pull_from_fork("octo/demo", "guest", "feature");
    let listed = octo.get("/repos/octo/demo/pulls?head=guest:feature").json();
    assert_eq!(listed[0]["number"], foreign);
    assert_eq!(listed[0]["head"]["repo"]["full_name"], "guest/demo");
    assert_eq!(listed.as_array().unwrap().len(), 1);
    let query = "query($h: String!) { repository(owner: \"octo\", name: \"demo\") {
        pullRequests(headRefName: $h, first: 2) { nodes { number headRepository { nameWithOwner } } } } }";
    let found = octo.graphql(query, &json!({ "h": "feature" }));
    let nodes = &found["data"]["repository"]["pullRequests"]["nodes"];
    assert_eq!(nodes[0]["number"], own);
    assert_eq!(nodes[1]["headRepository"]["nameWithOwner"], "guest/demo");
    forge.delete_repository("guest/demo");
    let shown = octo
        .get(&format!("/repos/octo/demo/pulls/{foreign}"))
        .json();
    assert_eq!(shown["head"]["label"], "unknown:feature");
    // GitHub's own schema does not allow the null that GitHub sends for a deleted fork.
    assert!(
        forge
            .take_violations()
            .iter()
            .all(|it| it.contains("/head/repo"))
    );
}

#[test]
fn a_guest_cannot_open_one_from_a_branch_of_others() {
    let forge = Forge::start();
    forge.repository("octo/demo");
    forge.commit("octo/demo", "feature", &[("a.txt", "a\n")]);
    let guest = Client::new(&forge, "guest");
    let body = json!({ "title": "A", "head": "feature", "base": "main" });
    assert_eq!(
        guest.send("POST", "/repos/octo/demo/pulls", &body).status,
        403
    );
    forge.allow("octo/demo", "guest", Permission::Write);
    assert_eq!(
        guest.send("POST", "/repos/octo/demo/pulls", &body).status,
        201
    );
    forge.finish();
}

#[test]
fn workflow_files_need_a_permission_of_their_own() {
    let forge = Forge::start();
    let path = forge.repository("octo/demo");
    let clone = forge.folder().join("clone");
    let git = |folder: &std::path::Path, arguments: &[&str]| crate::gh::git(folder, arguments);
    git(
        forge.folder(),
        &["clone", "-q", path.to_str().unwrap(), "clone"],
    )
    .unwrap();
    std::fs::create_dir_all(clone.join(".github/workflows")).unwrap();
    std::fs::write(clone.join(".github/workflows/ci.yml"), "on: push\n").unwrap();
    git(&clone, &["checkout", "-q", "-b", "ci"]).unwrap();
    git(&clone, &["add", "."]).unwrap();
    git(&clone, &["commit", "-q", "-m", "ci"]).unwrap();
    forge.configure("octo/demo", |it| it.allow_workflow_files(false));
    let refused = git(&clone, &["push", "-q", "origin", "ci"]).unwrap_err();
    assert!(refused.contains("without `workflow` scope"), "{refused}");
    assert_eq!(forge.tip("octo/demo", "ci"), None);
    forge.configure("octo/demo", |it| it.allow_workflow_files(true));
    git(&clone, &["push", "-q", "origin", "ci"]).unwrap();
    assert!(forge.tip("octo/demo", "ci").is_some());
    forge.finish();
}
