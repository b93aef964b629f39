//! `orange allow`: a request is allowed once.

use serde_json::json;

use crate::support::ReportingAgent;

#[test]
fn an_allowed_request_is_printed_in_full() {
    let agent = ReportingAgent::new();
    let hook = agent.ask("git push\nmake\u{1b}[2J");
    let printed = agent.stage.run_ok(&["allow", &hook.id]);
    let expected = format!(
        "{}: allowed once: Bash\n    git push\n    make\u{fffd}[2J\n",
        agent.id
    );
    assert_eq!(printed, expected);
    assert_eq!(hook.decision(), json!({ "behavior": "allow" }));
    let hook = agent.ask("git push");
    let (code, answer) = agent.stage.json(&["allow", &hook.id, "--json"]);
    assert_eq!(code, 0, "{answer}");
    crate::schema_check::judge(&answer);
    assert_eq!(answer["task"], agent.id.as_str());
    assert_eq!(answer["request"]["command"], "git push");
    assert_eq!(answer["answer"]["outcome"], "allowed");
    assert_eq!(hook.decision(), json!({ "behavior": "allow" }));
    // The second answer comes too late.
    let id = answer["request"]["id"].as_str().unwrap();
    let (code, answer) = agent.stage.json(&["deny", id, "--json"]);
    crate::schema_check::judge(&answer);
    assert_eq!(
        (code, &answer["error"]["code"]),
        (3, &json!("request-closed"))
    );
    assert_eq!(answer["error"]["details"]["outcome"]["outcome"], "allowed");
}

#[test]
fn an_unknown_request_is_refused() {
    let agent = ReportingAgent::new();
    for id in ["nothing", "../x", "", "ä"] {
        let (code, answer) = agent.stage.json(&["allow", id, "--json"]);
        crate::schema_check::judge(&answer);
        assert_eq!(
            (code, &answer["error"]["code"]),
            (4, &json!("request-not-found"))
        );
    }
}
