//! Which role a request of a person needs.

use orange_fleet::json::Json;
use serde::Deserialize;

use crate::access::Role;

/// The verbs by which a person judges work. The server reads no workflow, so it knows them by name.
const REVIEWED: [&str; 2] = ["approve", "merge"];

/// The part of a request that the server reads. A second `verb` is an error, because the runner
/// might read the other one.
#[derive(Deserialize)]
struct Ask {
    verb: String,
}

/// `None` when the request is no object with one verb.
pub fn role_for(ask: &Json) -> Option<Role> {
    // An array would be read as an object too, by the order of its values.
    if !ask.as_str().trim_start().starts_with('{') {
        return None;
    }
    let ask: Ask = serde_json::from_str(ask.as_str()).ok()?;
    if ask.verb.is_empty() {
        return None;
    }
    let is_reviewed = REVIEWED.iter().any(|it| ask.verb.eq_ignore_ascii_case(it));
    Some(if is_reviewed {
        Role::Review
    } else {
        Role::Operate
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(ask: &str) -> Option<Role> {
        role_for(&Json::new(ask).unwrap())
    }

    #[test]
    fn merging_and_approving_need_a_review() {
        for verb in ["merge", "approve", "MERGE", r"m\u0065rge"] {
            assert_eq!(role(&format!(r#"{{"verb":"{verb}"}}"#)), Some(Role::Review));
        }
        for verb in ["tell", "answer", "cancel", "merged", "anything"] {
            assert_eq!(
                role(&format!(r#"{{"verb":"{verb}"}}"#)),
                Some(Role::Operate)
            );
        }
    }

    #[test]
    fn a_request_has_exactly_one_verb() {
        for bad in [
            "null",
            "[]",
            "\"merge\"",
            r#"["tell"]"#,
            "{}",
            r#"{"verb":""}"#,
            r#"{"verb":["merge"]}"#,
            r#"{"verb":"tell","verb":"merge"}"#,
            r#"{"verb":"merge","v\u0065rb":"tell"}"#,
        ] {
            assert_eq!(role(bad), None, "{bad}");
        }
    }
}
