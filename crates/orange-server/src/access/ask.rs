//! Which role a request of a person needs.

use orange_fleet::json::Json;
use serde::Deserialize;

use crate::access::Role;

/// The verbs that judge no work. The server reads no workflow, so it knows them by name; any other
/// verb may approve or merge.
const OPERATING: [&str; 5] = ["spawn", "cancel", "request-changes", "retry", "unblock"];

/// The part of a request that the server reads; the runner refuses the same kinds and the same
/// fields. A field that comes twice is an error, because the runner might read the other one.
#[derive(Deserialize)]
struct Ask {
    kind: Kind,
    verb: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Move,
    Verb,
    Tell,
    Stop,
    Respawn,
}

/// `None` when the request is of no known kind.
pub fn role_for(ask: &Json) -> Option<Role> {
    // An array would be read as an object too, by the order of its values.
    if !ask.as_str().trim_start().starts_with('{') {
        return None;
    }
    let ask: Ask = serde_json::from_str(ask.as_str()).ok()?;
    match (ask.kind, ask.verb) {
        (Kind::Tell | Kind::Stop | Kind::Respawn, None) => Some(Role::Operate),
        (Kind::Verb, Some(verb)) if OPERATING.contains(&verb.as_str()) => Some(Role::Operate),
        // A move may lead to any status, a final one too.
        (Kind::Verb, Some(_)) | (Kind::Move, None) => Some(Role::Review),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(ask: &str) -> Option<Role> {
        role_for(&Json::new(ask).unwrap())
    }

    #[test]
    fn what_may_approve_needs_a_review() {
        for verb in [
            "merge",
            "complete",
            "MERGE",
            r"m\u0065rge",
            "anything",
            "",
            "Cancel",
        ] {
            let ask = format!(r#"{{"kind":"verb","verb":"{verb}"}}"#);
            assert_eq!(role(&ask), Some(Role::Review), "{verb}");
        }
        assert_eq!(role(r#"{"kind":"move","to":"done"}"#), Some(Role::Review));
        for verb in OPERATING {
            let ask = format!(r#"{{"kind":"verb","verb":"{verb}","confirmed":true}}"#);
            assert_eq!(role(&ask), Some(Role::Operate), "{verb}");
        }
        for kind in ["tell", "stop", "respawn"] {
            let ask = format!(r#"{{"kind":"{kind}","message":"go on"}}"#);
            assert_eq!(role(&ask), Some(Role::Operate), "{kind}");
        }
    }

    #[test]
    fn a_request_has_exactly_one_kind() {
        for bad in [
            "null",
            "[]",
            "\"merge\"",
            r#"["tell"]"#,
            "{}",
            r#"{"verb":"cancel"}"#,
            r#"{"kind":""}"#,
            r#"{"kind":"Tell"}"#,
            r#"{"kind":"verb"}"#,
            r#"{"kind":"verb","verb":["merge"]}"#,
            r#"{"kind":"tell","verb":"merge"}"#,
            r#"{"kind":"tell","kind":"move"}"#,
            r#"{"kind":"verb","verb":"cancel","verb":"merge"}"#,
            r#"{"kind":"verb","verb":"merge","v\u0065rb":"cancel"}"#,
        ] {
            assert_eq!(role(bad), None, "{bad}");
        }
    }
}
