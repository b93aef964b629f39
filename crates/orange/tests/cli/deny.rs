//! `orange deny`: a request is denied, with a reason.

use serde_json::json;

use crate::support::ReportingAgent;

#[test]
fn the_agent_is_told_the_reason() {
    let agent = ReportingAgent::new();
    let hook = agent.ask("git push");
    let printed = agent
        .stage
        .run_ok(&["deny", &hook.id, "-m", "Push after the review"]);
    let expected = format!("{}: denied: Bash\n    git push\n", agent.id);
    assert_eq!(printed, expected);
    let expected = json!({ "behavior": "deny", "message": "Push after the review" });
    assert_eq!(hook.decision(), expected);
    let hook = agent.ask("git push");
    agent.stage.run_ok(&["deny", &hook.id]);
    let expected = json!({ "behavior": "deny", "message": "the user denied it" });
    assert_eq!(hook.decision(), expected);
}
