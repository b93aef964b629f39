//! Who sees and may do what.

use scripted_forge::{Forge, Permission};
use serde_json::json;

use crate::client::Client;

#[test]
fn what_may_not_be_seen_does_not_exist() {
    let forge = Forge::start();
    forge.repository("octo/secret");
    forge.configure("octo/secret", |it| it.private = true);
    let number = forge.pull("octo/secret", "feature");
    let stranger = Client::new(&forge, "stranger");
    assert_eq!(stranger.get("/repos/octo/secret").status, 404);
    assert_eq!(stranger.get("/repos/octo/absent").status, 404);
    let query = "query($id: ID!) { node(id: $id) { id } repository(owner: \"octo\", name: \"secret\") { id } }";
    let id = forge.node_id("octo/secret", number);
    let answer = stranger.graphql(query, &json!({ "id": id }));
    assert_eq!(answer["data"], json!({ "node": null, "repository": null }));
    assert_eq!(answer["errors"][0]["type"], "NOT_FOUND");
    forge.allow("octo/secret", "stranger", Permission::Read);
    assert_eq!(stranger.get("/repos/octo/secret").status, 200);
    // Seen, but not to be changed.
    let merge = format!("/repos/octo/secret/pulls/{number}/merge");
    assert_eq!(stranger.send("PUT", &merge, &json!({})).status, 403);
    let ready = "mutation($id: ID!) { convertPullRequestToDraft(input: { pullRequestId: $id }) { pullRequest { isDraft } } }";
    let answer = stranger.graphql(ready, &json!({ "id": id }));
    assert_eq!(answer["errors"][0]["type"], "FORBIDDEN");
    forge.finish();
}

#[test]
fn one_unreachable_node_does_not_hide_the_others() {
    let forge = Forge::start();
    forge.repository("octo/demo");
    let octo = Client::new(&forge, "octo");
    let number = forge.pull("octo/demo", "feature");
    let ids = json!({ "ids": [forge.node_id("octo/demo", number), "PR_kwDOffffffff"] });
    let answer = octo.graphql("query($ids: [ID!]!) { nodes(ids: $ids) { id } }", &ids);
    assert_eq!(answer["data"]["nodes"][0]["id"], ids["ids"][0]);
    assert_eq!(answer["data"]["nodes"][1], json!(null));
    assert_eq!(answer["errors"][0]["path"], json!(["nodes", 1]));
    forge.finish();
}

#[test]
fn roles_have_old_and_new_names() {
    let forge = Forge::start();
    forge.repository("octo/demo");
    let octo = Client::new(&forge, "octo");
    forge.user("helper");
    for (permission, old, role) in [
        (Permission::Triage, "read", "triage"),
        (Permission::Write, "write", "write"),
        (Permission::Maintain, "write", "maintain"),
    ] {
        forge.allow("octo/demo", "helper", permission);
        let answer = octo
            .get("/repos/octo/demo/collaborators/helper/permission")
            .json();
        assert_eq!(
            (&answer["permission"], &answer["role_name"]),
            (&json!(old), &json!(role))
        );
    }
    let helper = Client::new(&forge, "helper");
    assert_eq!(
        helper.get("/repos/octo/demo").json()["permissions"]["push"],
        true
    );
    assert_eq!(
        octo.get("/repos/octo/demo/collaborators/nobody/permission")
            .status,
        404
    );
    forge.finish();
}

#[test]
fn a_revoked_token_is_refused() {
    let forge = Forge::start();
    let octo = Client::new(&forge, "octo");
    assert_eq!(octo.get("/user").json()["login"], "octo");
    forge.token_works("octo", false);
    let refused = octo.get("/user");
    assert_eq!(
        (refused.status, refused.message().as_str()),
        (401, "Bad credentials")
    );
    forge.token_works("octo", true);
    assert_eq!(octo.get("/user").status, 200);
    forge.finish();
}
