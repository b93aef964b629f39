//! REST: finds the operation, checks the request, calls its handler.

mod ci;
mod context;
mod issues;
mod labels;
mod pulls;
mod render;
mod render_ci;
mod render_pull;
mod repositories;
mod schema;

use serde_json::Value;

pub use context::{Context, Outcome};
pub use schema::{OPERATIONS, Operation};

use crate::http::Answer;

type Handler = fn(&mut Context) -> Outcome;

/// The handler of each operation.
const HANDLERS: &[(&str, Handler)] = &[
    ("users/get-authenticated", repositories::own_account),
    ("rate-limit/get", repositories::rate_limit),
    ("repos/get", repositories::get),
    (
        "repos/get-collaborator-permission-level",
        repositories::permission,
    ),
    (
        "repos/get-status-checks-protection",
        repositories::required_checks,
    ),
    ("repos/get-branch-rules", repositories::branch_rules),
    ("pulls/list", pulls::list),
    ("pulls/create", pulls::create),
    ("pulls/get", pulls::get),
    ("pulls/update", pulls::update),
    ("pulls/merge", pulls::merge),
    ("pulls/create-reply-for-review-comment", pulls::reply),
    ("issues/list-for-repo", issues::list),
    ("issues/get", issues::get),
    ("issues/update", issues::update),
    ("issues/list-comments-for-repo", issues::all_comments),
    ("issues/list-comments", issues::comments),
    ("issues/create-comment", issues::create_comment),
    ("issues/update-comment", issues::update_comment),
    ("issues/delete-comment", issues::delete_comment),
    ("issues/list-events", issues::events),
    ("issues/create-label", labels::create),
    ("issues/get-label", labels::get),
    ("issues/add-labels", labels::add),
    ("issues/remove-label", labels::remove),
    ("checks/list-for-ref", ci::checks),
    ("repos/get-combined-status-for-ref", ci::status),
    ("actions/list-workflow-runs-for-repo", ci::runs),
    ("actions/list-jobs-for-workflow-run", ci::jobs),
    ("actions/download-job-logs-for-workflow-run", ci::logs),
    ("actions/re-run-workflow-failed-jobs", ci::rerun),
];

/// The longest text that GitHub accepts.
pub const LONGEST_BODY: usize = 65_536;

/// The operation for a method and a path, and the values of the path's parameters.
pub fn find(method: &str, path: &str) -> Option<(&'static Operation, Vec<(String, String)>)> {
    let operations = OPERATIONS.iter().filter(|it| it.method == method);
    // A fixed word is preferred to a parameter, as in `issues/comments/1`.
    let matching = operations.filter_map(|it| Some((it, it.matches(path)?)));
    matching.min_by_key(|(_, values)| values.len())
}

/// What is wrong with the parameters of a request.
pub fn judge_parameters(
    operation: &Operation,
    path: &[(String, String)],
    query: &[(String, String)],
) -> Vec<String> {
    let mut found = Vec::new();
    for (name, value) in path.iter().chain(query) {
        let is_path = path.iter().any(|it| it.0 == *name);
        let mut known = operation.parameters.iter();
        let Some(known) = known.find(|it| it.name == *name && it.is_path == is_path) else {
            found.push(format!(
                "`{}` does not know the parameter `{name}`",
                operation.id
            ));
            continue;
        };
        let wants_number = known.schema["type"] == "integer";
        let typed = match (wants_number, value.parse::<i64>(), value.as_str()) {
            (true, Ok(number), _) => Value::from(number),
            (_, _, "true" | "false") if known.schema["type"] == "boolean" => {
                Value::from(value == "true")
            }
            _ => Value::from(value.as_str()),
        };
        let errors = schema::judge(&known.schema, &typed);
        found.extend(errors.iter().map(|it| format!("parameter `{name}` {it}")));
    }
    let mut required = operation
        .parameters
        .iter()
        .filter(|it| it.required && !it.is_path);
    if let Some(missing) = required.find(|it| !query.iter().any(|(name, _)| *name == it.name)) {
        found.push(format!(
            "`{}` needs the parameter `{}`",
            operation.id, missing.name
        ));
    }
    found
}

/// Calls the handler of the operation.
pub fn perform(operation: &Operation, context: &mut Context) -> Answer {
    let handler = HANDLERS.iter().find(|(id, _)| *id == operation.id);
    let Some((_, handler)) = handler else {
        return Answer::error(501, "the operation has no handler");
    };
    handler(context).unwrap_or_else(|refusal| refusal)
}

/// Refuses a text that is too long.
fn judge_length(resource: &str, body: Option<&str>) -> Result<(), Answer> {
    if body.is_some_and(|it| it.chars().count() > LONGEST_BODY) {
        let message = "body is too long (maximum is 65536 characters)";
        return Err(Answer::invalid(resource, "body", "custom", message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_one_handler() {
        assert_eq!(OPERATIONS.len(), HANDLERS.len());
        for operation in OPERATIONS.iter() {
            let count = HANDLERS
                .iter()
                .filter(|(id, _)| *id == operation.id)
                .count();
            assert_eq!(count, 1, "{}", operation.id);
        }
    }

    #[test]
    fn a_fixed_word_is_preferred() {
        let (operation, values) = find("PATCH", "/repos/o/r/issues/comments/5").unwrap();
        assert_eq!(operation.id, "issues/update-comment");
        assert_eq!(values[2], ("comment_id".to_owned(), "5".to_owned()));
        assert!(find("GET", "/repos/o/r/nothing").is_none());
    }
}
