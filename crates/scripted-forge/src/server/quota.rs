//! The answers and headers about quota.

use serde_json::json;

use crate::graphql;
use crate::http::Answer;
use crate::world::quota::{Exceeded, Rate, Resource};

/// Adds the quota headers, which every answer has.
pub fn with_rate(mut answer: Answer, rate: Rate, resource: Resource) -> Answer {
    for (name, value) in [
        ("X-RateLimit-Limit", rate.limit.to_string()),
        ("X-RateLimit-Remaining", rate.remaining().to_string()),
        ("X-RateLimit-Used", rate.used.to_string()),
        ("X-RateLimit-Reset", rate.reset.to_string()),
        ("X-RateLimit-Resource", resource.name().to_owned()),
    ] {
        if answer.header(name).is_none() {
            answer = answer.with(name, value);
        }
    }
    answer
}

/// What GitHub answers when a limit is reached. GraphQL reports its primary limit with status 200.
pub fn refuse(exceeded: Exceeded, resource: Resource) -> Answer {
    let used_up = "API rate limit already exceeded for user.";
    let too_fast =
        "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";
    match (exceeded, resource) {
        (Exceeded::Primary, Resource::Core) => Answer::error(403, used_up),
        (Exceeded::Primary, Resource::Graphql) => {
            let mut body = graphql::refusal(Some("RATE_LIMITED"), used_up);
            body["errors"][0]["code"] = json!("graphql_rate_limit");
            Answer::json(200, body)
        }
        (Exceeded::Secondary, Resource::Core) => {
            Answer::error(429, too_fast).with("Retry-After", 60)
        }
        (Exceeded::Secondary, Resource::Graphql) => {
            Answer::error(403, too_fast).with("Retry-After", 60)
        }
    }
}
