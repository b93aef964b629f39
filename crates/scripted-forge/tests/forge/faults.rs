//! Scripted faults: which request gets them, and what takes effect.

use scripted_forge::{Fault, Forge};
use serde_json::json;

use crate::client::Client;

fn stage() -> (Forge, Client, String) {
    let forge = Forge::start();
    forge.repository("octo/demo");
    let octo = Client::new(&forge, "octo");
    let number = forge.issue("octo/demo", "octo", "A", "");
    (
        forge,
        octo,
        format!("/repos/octo/demo/issues/{number}/comments"),
    )
}

#[test]
fn every_fault_comes_once_and_says_whether_it_took_effect() {
    for fault in Fault::ALL {
        let (forge, octo, path) = stage();
        forge.fault("issues/create-comment", 2, fault);
        let write = || octo.ask("POST", &path, &[], Some(&json!({ "body": "x" })));
        assert_eq!(write().unwrap().status, 201);
        let spoiled = write();
        match fault {
            Fault::CutBefore | Fault::CutAfter => assert!(spoiled.is_err(), "{spoiled:?}"),
            // Only an answer of GraphQL can have a hole.
            Fault::Slow(_) | Fault::PartialData => assert_eq!(spoiled.unwrap().status, 201),
            Fault::Garbage | Fault::WrongType => {
                let reply = spoiled.unwrap();
                assert_eq!((reply.status, reply.json()), (200, json!(null)));
            }
            Fault::Truncated => {
                let reply = spoiled.unwrap();
                assert_eq!((reply.status, reply.json()), (201, json!(null)));
                assert!(reply.text.starts_with('{'));
            }
            Fault::BadGateway => assert_eq!(spoiled.unwrap().status, 502),
            Fault::GatewayTimeout => assert_eq!(spoiled.unwrap().status, 504),
            Fault::Unauthorized => assert_eq!(spoiled.unwrap().status, 401),
            Fault::QuotaUsedUp => {
                let reply = spoiled.unwrap();
                assert_eq!(
                    (reply.status, reply.header("x-ratelimit-remaining")),
                    (403, Some("0"))
                );
            }
            Fault::TooMany => {
                let reply = spoiled.unwrap();
                assert_eq!(
                    (reply.status, reply.header("retry-after")),
                    (429, Some("60"))
                );
            }
            Fault::ServerError => assert_eq!(spoiled.unwrap().status, 500),
        }
        let expected = 1 + usize::from(fault.takes_effect());
        assert_eq!(forge.writes().len(), expected, "{fault:?}");
        assert_eq!(write().unwrap().status, 201, "{fault:?}");
        assert_eq!(
            octo.get(&path).json().as_array().unwrap().len(),
            expected + 1
        );
        let faults: Vec<_> = forge.calls().iter().filter_map(|it| it.fault).collect();
        assert_eq!(faults, [fault]);
        forge.finish();
    }
}

#[test]
fn an_outage_hits_every_request() {
    let (forge, octo, path) = stage();
    forge.fault_all(Fault::BadGateway);
    assert_eq!(octo.get(&path).status, 502);
    assert_eq!(octo.get("/user").status, 502);
    let query = json!({});
    let asked = octo.graphql_reply("query it { viewer { login } }", &query);
    assert_eq!(asked.unwrap().status, 502);
    forge.clear_faults();
    assert_eq!(octo.get("/user").status, 200);
    forge.finish();
}

#[test]
fn graphql_is_spoiled_by_field_or_by_name() {
    let (forge, octo, _) = stage();
    let pulls = forge.many_pulls("octo/demo", 2);
    let ids: Vec<_> = pulls
        .iter()
        .map(|it| forge.node_id("octo/demo", *it))
        .collect();
    let query = "query glance($ids: [ID!]!) { nodes(ids: $ids) { id } rateLimit { cost } }";
    let ask = || octo.graphql(query, &json!({ "ids": ids }));
    forge.fault("nodes", 1, Fault::PartialData);
    let holed = ask();
    assert_eq!(holed["data"]["nodes"], json!([{ "id": ids[0] }, null]));
    assert_eq!(holed["errors"][0]["path"], json!(["nodes", 1]));
    assert_eq!(ask()["errors"], json!(null));
    forge.fault_always("glance", Fault::BadGateway);
    for _ in 0..3 {
        let reply = octo.graphql_reply(query, &json!({ "ids": ids })).unwrap();
        assert_eq!(
            (reply.status, reply.header("content-type")),
            (502, Some("text/html"))
        );
    }
    forge.clear_faults();
    assert_eq!(ask()["errors"], json!(null));
    forge.finish();
}
