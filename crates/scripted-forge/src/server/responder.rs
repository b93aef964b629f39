//! One request, from its headers to its answer.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use super::caller::{Caller, call};
use super::fault::Fault;
use super::state::State;
use super::{graphql_call, rest_call};
use crate::http::{Answer, Request};
use crate::world::World;

/// The version of the API that clients must pin.
const VERSION: &str = "2022-11-28";

/// Answers requests; shared by all connections.
#[derive(Debug)]
pub struct Responder {
    state: Mutex<State>,
    /// The address of the stored logs, as a client reaches it.
    storage: String,
}

impl Responder {
    pub fn new(world: World, storage: String) -> Self {
        Self {
            state: Mutex::new(State::new(world)),
            storage,
        }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer, or `None` to cut the connection.
    pub fn answer(&self, request: &Request) -> Option<Answer> {
        let mut state = self.state();
        state.world.sync();
        let before = state.calls.len();
        let (answer, fault) = self.handle(&mut state, request);
        if state.calls.len() == before {
            state
                .calls
                .push(call(request, "refused", &[], "", &answer, 0, None));
        }
        let now = state.world.now();
        drop(state);
        if let Some(Fault::Slow(time)) = fault {
            thread::sleep(time);
        }
        let answer = match fault {
            Some(fault) => fault.spoil(Some(answer), now)?,
            None => answer,
        };
        Some(
            answer
                .with("Date", http_date(now))
                .with("Server", "scripted-forge"),
        )
    }

    fn handle(&self, state: &mut State, request: &Request) -> (Answer, Option<Fault>) {
        let line = format!("{} {}", request.method, request.path);
        if request.header("user-agent").is_none_or(str::is_empty) {
            state.violations.push(format!("`{line}` has no User-Agent"));
            return (
                Answer::error(403, "Request forbidden by administrative rules."),
                None,
            );
        }
        if request.header("x-github-api-version") != Some(VERSION) {
            let version = request.header("x-github-api-version").unwrap_or("none");
            state.violations.push(format!(
                "`{line}` pins the version `{version}`, not {VERSION}"
            ));
        }
        let Some(token) = request.token() else {
            state.violations.push(format!("`{line}` has no token"));
            return (Answer::error(401, "Requires authentication"), None);
        };
        let Some(user) = state.world.user_by_token(token) else {
            return (Answer::error(401, "Bad credentials"), None);
        };
        let (viewer, scopes) = (user.login.clone(), user.scopes.clone());
        let (rest_prefix, graphql_path) = if state.enterprise {
            ("/api/v3", "/api/graphql")
        } else {
            ("", "/graphql")
        };
        let host = request.header("host").unwrap_or("127.0.0.1");
        let path = request
            .path
            .strip_prefix(rest_prefix)
            .unwrap_or_default()
            .to_owned();
        let base = format!("http://{host}{rest_prefix}");
        let caller = Caller {
            request,
            viewer,
            path,
            base,
            storage: &self.storage,
        };
        let (answer, fault) = if request.path == graphql_path {
            graphql_call::answer(state, &caller)
        } else {
            rest_call::answer(state, &caller)
        };
        match scopes {
            Some(scopes) => (answer.with("X-OAuth-Scopes", scopes), fault),
            None => (answer, fault),
        }
    }

    /// The log of a job. The storage must not be sent a token.
    pub fn stored_log(&self, request: &Request) -> Answer {
        let mut state = self.state();
        if request.header("authorization").is_some() {
            let message = format!("the token was sent to the storage for `{}`", request.path);
            state.violations.push(message);
        }
        let mut parts = request
            .path
            .trim_start_matches("/logs/")
            .split('/')
            .map(str::parse::<u64>);
        let (Some(Ok(repository)), Some(Ok(job))) = (parts.next(), parts.next()) else {
            return Answer::text(404, "no such log");
        };
        let found = state.world.repository_by_id(repository);
        let job = found.and_then(|it| it.checks.iter().find(|it| it.id == job));
        job.map_or(Answer::text(404, "no such log"), |it| {
            Answer::text(200, &it.log)
        })
    }
}

fn http_date(seconds: i64) -> String {
    let time = jiff::Timestamp::from_second(seconds).unwrap_or_default();
    time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}
