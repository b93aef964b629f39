//! All endpoints, and who may call each of them.
//!
//! Routes are made from this table, and the test of authority tries every row of it.

use axum::http::Method;

use crate::access::Role;
use crate::http::limits::{BEAT_BODY, LARGE_BODY, SMALL_BODY};

/// Who may call an endpoint. Everyone else is refused before the body is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    Anyone,
    /// The body has a code, which is exchanged for a token.
    Code,
    /// Any valid token.
    Token,
    /// A runner that has registered its home: the call names a runner or a task, and is judged by
    /// it.
    Runner,
    /// A runner whose id is in the path.
    NamedRunner,
    /// A person with this role in the project of the task, or in any for a list.
    Person(Role),
    /// A person with the role that the verb of the request needs.
    Asker,
    /// A person who maintains every project of the runner in the path.
    Maintainer,
    Admin,
}

/// What an endpoint does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    Health,
    Ready,
    Metrics,
    Join,
    Login,
    WhoAmI,
    Register,
    Beat,
    Work,
    Append,
    GiveBack,
    Adopt,
    SaveWip,
    AnswerMail,
    CreateTask,
    ViewTask,
    PostRequest,
    ViewRequest,
    Changes,
    Text,
    Runners,
    WantRunner,
    CreateCode,
    Tokens,
    RevokeToken,
}

#[derive(Clone, Debug)]
pub struct Endpoint {
    pub call: Call,
    /// Its name in `/metrics`.
    pub name: &'static str,
    pub method: Method,
    pub path: &'static str,
    pub who: Who,
    /// The largest body.
    pub body: usize,
}

const fn endpoint(
    call: Call,
    name: &'static str,
    method: Method,
    path: &'static str,
    who: Who,
    body: usize,
) -> Endpoint {
    Endpoint {
        call,
        name,
        method,
        path,
        who,
        body,
    }
}

const GET: Method = Method::GET;
const POST: Method = Method::POST;
const PUT: Method = Method::PUT;
const DELETE: Method = Method::DELETE;
const VIEWER: Who = Who::Person(Role::View);
const OPERATOR: Who = Who::Person(Role::Operate);

#[rustfmt::skip]
pub static ENDPOINTS: [Endpoint; 25] = [
    endpoint(Call::Health, "healthz", GET, "/healthz", Who::Anyone, 0),
    endpoint(Call::Ready, "readyz", GET, "/readyz", Who::Anyone, 0),
    endpoint(Call::Metrics, "metrics", GET, "/metrics", Who::Admin, 0),
    endpoint(Call::Join, "join", POST, "/v1/join", Who::Code, SMALL_BODY),
    endpoint(Call::Login, "login", POST, "/v1/login", Who::Code, SMALL_BODY),
    endpoint(Call::WhoAmI, "me", GET, "/v1/me", Who::Token, 0),
    endpoint(Call::Register, "register", POST, "/v1/runners", Who::Runner, SMALL_BODY),
    endpoint(Call::Beat, "beat", POST, "/v1/runners/{runner}/beat", Who::NamedRunner, BEAT_BODY),
    endpoint(Call::Work, "work", POST, "/v1/runners/{runner}/work", Who::NamedRunner, SMALL_BODY),
    endpoint(Call::Append, "append", POST, "/v1/append", Who::Runner, LARGE_BODY),
    endpoint(Call::GiveBack, "give_back", POST, "/v1/tasks/{task}/give-back", Who::Runner, SMALL_BODY),
    endpoint(Call::Adopt, "adopt", POST, "/v1/tasks/{task}/adopt", Who::Runner, SMALL_BODY),
    endpoint(Call::SaveWip, "wip", PUT, "/v1/tasks/{task}/wip", Who::Runner, LARGE_BODY),
    endpoint(Call::AnswerMail, "answer", POST, "/v1/mail/{mail}/answer", Who::Runner, SMALL_BODY),
    endpoint(Call::CreateTask, "create", POST, "/v1/tasks", OPERATOR, LARGE_BODY),
    endpoint(Call::ViewTask, "task", GET, "/v1/tasks/{task}", VIEWER, 0),
    endpoint(Call::PostRequest, "request", POST, "/v1/tasks/{task}/requests", Who::Asker, SMALL_BODY),
    endpoint(Call::ViewRequest, "state", GET, "/v1/requests/{mail}", VIEWER, 0),
    endpoint(Call::Changes, "changes", GET, "/v1/changes", VIEWER, 0),
    endpoint(Call::Text, "text", GET, "/v1/texts/{sha}", VIEWER, 0),
    endpoint(Call::Runners, "runners", GET, "/v1/runners", VIEWER, 0),
    endpoint(Call::WantRunner, "want", POST, "/v1/runners/{runner}/want", Who::Maintainer, SMALL_BODY),
    endpoint(Call::CreateCode, "code", POST, "/v1/codes", Who::Admin, SMALL_BODY),
    endpoint(Call::Tokens, "tokens", GET, "/v1/tokens", Who::Admin, 0),
    endpoint(Call::RevokeToken, "revoke", DELETE, "/v1/tokens/{sha}", Who::Admin, 0),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_call_has_one_place_and_one_name() {
        let count = ENDPOINTS.len();
        let calls: BTreeSet<_> = ENDPOINTS.iter().map(|it| it.call).collect();
        let names: BTreeSet<_> = ENDPOINTS.iter().map(|it| it.name).collect();
        let places: BTreeSet<_> = ENDPOINTS
            .iter()
            .map(|it| (it.method.as_str(), it.path))
            .collect();
        assert_eq!(
            (calls.len(), names.len(), places.len()),
            (count, count, count)
        );
    }

    #[test]
    fn only_calls_that_change_something_have_a_body() {
        for endpoint in &ENDPOINTS {
            let has_body = matches!(endpoint.method.as_str(), "POST" | "PUT");
            assert_eq!(endpoint.body > 0, has_body, "{}", endpoint.path);
        }
    }
}
