//! Reads the examples of every operation in GitHub's descriptions.

use serde_json::Value;

use super::readers::Reader;
use super::{Tally, parse};

/// What the successful answer to an operation is read as.
enum Answer {
    One(Reader),
    List(Reader),
    /// Orange does not read the answer.
    Unread,
    /// Orange does not call the operation.
    Uncalled,
}

fn answer(method: &str, path: &str) -> Answer {
    let rest = path.strip_prefix("/repos/{owner}/{repo}").unwrap_or(path);
    match (method, rest) {
        ("get", "/user") => Answer::One(Reader::Account),
        ("get", "/rate_limit") => Answer::One(Reader::Quotas),
        ("get", "") => Answer::One(Reader::Repository),
        ("get", "/collaborators/{username}/permission") => Answer::One(Reader::Permission),
        ("get", "/pulls") => Answer::List(Reader::PullRequest),
        ("post", "/pulls") | (_, "/pulls/{pull_number}") => Answer::One(Reader::PullRequest),
        ("put", "/pulls/{pull_number}/merge") => Answer::One(Reader::Merge),
        ("post", "/pulls/{pull_number}/comments/{comment_id}/replies") => Answer::Uncalled,
        ("get", "/issues") => Answer::List(Reader::Issue),
        (_, "/issues/{issue_number}") => Answer::One(Reader::Issue),
        ("get", "/issues/comments") => Answer::List(Reader::ListedComment),
        ("get", "/issues/{issue_number}/comments") => Answer::List(Reader::Comment),
        ("post", "/issues/{issue_number}/comments")
        | ("patch", "/issues/comments/{comment_id}") => Answer::One(Reader::Comment),
        ("get", "/issues/{issue_number}/events") => Answer::List(Reader::Event),
        ("get", "/labels/{name}") => Answer::One(Reader::Label),
        ("get", "/commits/{ref}/check-runs") => Answer::One(Reader::CheckRuns),
        ("get", "/commits/{ref}/status") => Answer::One(Reader::Statuses),
        ("get", "/actions/runs") => Answer::One(Reader::Runs),
        ("get", "/actions/runs/{run_id}/jobs") => Answer::One(Reader::Jobs),
        ("get", "/branches/{branch}/protection/required_status_checks") => {
            Answer::One(Reader::RequiredChecks)
        }
        ("get", "/rules/branches/{branch}") => Answer::List(Reader::Rule),
        _ => Answer::Unread,
    }
}

fn resolve<'a>(description: &'a Value, value: &'a Value) -> &'a Value {
    let target = value["$ref"].as_str().and_then(|it| it.strip_prefix('#'));
    target.map_or(value, |it| description.pointer(it).unwrap())
}

/// The examples of the successful answers to an operation.
fn examples<'a>(description: &'a Value, method: &str, path: &str) -> Vec<&'a Value> {
    let responses = &description["paths"][path][method]["responses"];
    let responses = responses.as_object().unwrap().iter();
    let mut found = Vec::new();
    for (_, response) in responses.filter(|(status, _)| status.starts_with('2')) {
        let response = resolve(description, response);
        let examples = &response["content"]["application/json"]["examples"];
        for (_, example) in examples.as_object().into_iter().flatten() {
            found.push(&resolve(description, example)["value"]);
        }
    }
    found
}

#[test]
fn every_published_example_is_read() {
    let test = "every_published_example_is_read";
    let Some(package) = scripted_forge::packages::package(test, "openapi") else {
        return;
    };
    for name in [
        "api.github.com",
        "ghec",
        "ghes-3.17",
        "ghes-3.18",
        "ghes-3.19",
    ] {
        let description = parse(&package.join(format!("generated/{name}.json")));
        let mut tally = Tally::default();
        let (mut read, mut unread, mut uncalled) = (0, 0, 0);
        for (method, path) in scripted_forge::prune::OPERATIONS {
            for example in examples(&description, method, path) {
                let place = format!("{name} {method} {path}");
                let counter = match answer(method, path) {
                    Answer::One(reader) => {
                        tally.read(reader, &place, example);
                        &mut read
                    }
                    Answer::List(reader) => {
                        tally.read_all(reader, &place, example);
                        &mut read
                    }
                    Answer::Unread => &mut unread,
                    Answer::Uncalled => &mut uncalled,
                };
                *counter += 1;
            }
        }
        // The two examples of one issue have no global id. GitHub's own description requires one, and
        // orange needs it, so an issue without it is refused.
        let problem = format!(
            "{name} get /repos/{{owner}}/{{repo}}/issues/{{issue_number}}: issue: missing field `node_id`"
        );
        assert_eq!(tally.problems, [problem.clone(), problem]);
        assert_eq!((read, unread, uncalled), (26, 4, 1), "{name}");
        tally.assert_counts(&[
            ("account", 2),
            ("check runs", 1),
            ("comment", 3),
            ("event", 1),
            ("issue", 4),
            ("jobs", 1),
            ("label", 1),
            ("listed comment", 1),
            ("merge", 1),
            ("permission", 1),
            ("pull request", 4),
            ("quotas", 1),
            ("repository", 1),
            ("required checks", 1),
            ("rule", 2),
            ("runs", 1),
            ("statuses", 1),
        ]);
    }
}
