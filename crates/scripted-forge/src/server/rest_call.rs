//! One REST request.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::Value;

use super::caller::{Caller, call, parse_body, with_world};
use super::fault::Fault;
use super::quota;
use super::state::{State, Write};
use crate::http::{Answer, Body, Request};
use crate::rest::{self, Context, Operation};
use crate::world::World;
use crate::world::quota::Resource;
use crate::world::repository::Permission;

/// A request whose operation is known.
struct MatchedRequest<'a> {
    caller: &'a Caller<'a>,
    operation: &'static Operation,
    /// The path, with the repository by name instead of by id.
    path: String,
    parts: Vec<(String, String)>,
    fault: Option<Fault>,
}

/// The query and the body of a request that was checked.
struct Input {
    query: Vec<(String, String)>,
    body: Value,
}

pub fn answer(state: &mut State, caller: &Caller) -> (Answer, Option<Fault>) {
    let request = caller.request;
    let path = by_name(&state.world, &caller.path);
    let Some((operation, parts)) = rest::find(&request.method, &path) else {
        let line = format!("{} {}", request.method, request.path);
        state
            .violations
            .push(format!("no operation of ours is `{line}`"));
        return (Answer::error(404, "Not Found"), None);
    };
    let fault = state.take_fault(&[&operation.id]);
    let matched = MatchedRequest {
        caller,
        operation,
        path,
        parts,
        fault,
    };
    let (answer, cost) = match matched.input(state) {
        Ok(input) => matched.perform(state, input),
        Err(refusal) => (refusal, 0),
    };
    let viewer = &caller.viewer;
    state.calls.push(call(
        request,
        &operation.id,
        &[],
        viewer,
        &answer,
        cost,
        fault,
    ));
    (answer, fault)
}

impl MatchedRequest<'_> {
    /// Reads and checks the request. The error is an answer that is sent at once.
    fn input(&self, state: &mut State) -> Result<Input, Answer> {
        let (request, operation) = (self.caller.request, self.operation);
        if let Some(fault) = self.fault.filter(|it| !it.takes_effect()) {
            let answer = fault.spoil(None, state.world.now());
            return Err(answer.unwrap_or(Answer::empty(503)));
        }
        let query = crate::http::query(&request.query);
        let body = parse_body(&request.body);
        let (Some(query), Ok(body)) = (query, body) else {
            state
                .violations
                .push(format!("`{}` got unreadable input", operation.id));
            return Err(Answer::error(400, "Problems parsing JSON"));
        };
        let mut wrong = rest::judge_parameters(operation, &self.parts, &query);
        wrong.extend(operation.judge_body(body.as_ref()));
        if !wrong.is_empty() {
            let found = wrong
                .iter()
                .map(|it| format!("request `{}`: {it}", operation.id));
            state.violations.extend(found);
            return Err(Answer::invalid(
                "Request",
                "body",
                "invalid",
                &wrong.join("; "),
            ));
        }
        if let Some(answer) = redirect(&state.world, self.caller, &self.parts, &self.path) {
            return Err(answer);
        }
        Ok(Input {
            query,
            body: body.unwrap_or_default(),
        })
    }

    /// Performs the request within the quota; returns the answer and its cost.
    fn perform(&self, state: &mut State, input: Input) -> (Answer, u64) {
        let (caller, operation) = (self.caller, self.operation);
        let writes = caller.request.method != "GET";
        // Looking at the quota is free.
        let mut cost = u64::from(operation.id != "rate-limit/get");
        let (viewer, now) = (caller.viewer.as_str(), state.world.now());
        let taken = state
            .world
            .quota
            .take(viewer, Resource::Core, cost, writes, now);
        if let Err(exceeded) = taken {
            let rate = *state.world.quota.rate(viewer, Resource::Core, now);
            let answer = quota::refuse(exceeded, Resource::Core);
            return (quota::with_rate(answer, rate, Resource::Core), 0);
        }
        let written = input.body.clone();
        let mut answer = with_world(state, writes, |world| {
            let mut path = self.parts.clone();
            path.push(("rest".to_owned(), rest_of(&self.path)));
            let mut context = Context {
                world,
                viewer: viewer.to_owned(),
                base: caller.base.clone(),
                storage: caller.storage.to_owned(),
                path,
                query: input.query,
                body: input.body,
            };
            rest::perform(operation, &mut context)
        });
        let shown = match &answer.body {
            Body::Json(body) => Some(body),
            Body::Text(_) | Body::Empty => None,
        };
        let wrong = operation.judge_answer(answer.status, shown);
        let found = wrong
            .iter()
            .map(|it| format!("answer of `{}`: {it}", operation.id));
        state.violations.extend(found);
        if writes && answer.is_success() {
            let (operation, viewer) = (operation.id.clone(), viewer.to_owned());
            let (path, input) = (self.path.clone(), written);
            state.writes.push(Write {
                operation,
                viewer,
                path,
                input,
            });
        }
        if !writes && answer.status == 200 {
            answer = with_tag(answer, caller.request);
            if answer.status == 304 {
                // An unchanged answer is free.
                state.world.quota.rate(viewer, Resource::Core, now).used -= cost;
                cost = 0;
            }
        }
        let rate = *state.world.quota.rate(viewer, Resource::Core, now);
        (quota::with_rate(answer, rate, Resource::Core), cost)
    }
}

/// Replaces the id of a repository in a path, as redirects and links have it, with its name.
fn by_name(world: &World, path: &str) -> String {
    let found = path.strip_prefix("/repositories/").and_then(|rest| {
        let (id, rest) = rest.split_once('/').unwrap_or((rest, ""));
        let repository = world.repository_by_id(id.parse().ok()?)?;
        let slash = if rest.is_empty() { "" } else { "/" };
        Some(format!("/repos/{}{slash}{rest}", repository.full_name()))
    });
    found.unwrap_or_else(|| path.to_owned())
}

/// The part of the path after the name of the repository.
fn rest_of(path: &str) -> String {
    path.splitn(5, '/').nth(4).unwrap_or_default().to_owned()
}

/// The redirect to a repository that was renamed, if the caller may see it.
fn redirect(
    world: &World,
    caller: &Caller,
    parts: &[(String, String)],
    path: &str,
) -> Option<Answer> {
    let part = |name: &str| parts.iter().find(|it| it.0 == name).map(|it| it.1.as_str());
    let (owner, name) = (part("owner")?, part("repo")?);
    if world.repository(owner, name).is_some() {
        return None;
    }
    let renamed = world.renamed_repository(owner, name)?;
    if world.permission(renamed, &caller.viewer) < Permission::Read {
        return None;
    }
    let rest = rest_of(path);
    let slash = if rest.is_empty() { "" } else { "/" };
    let mut target = format!("{}/repositories/{}{slash}{rest}", caller.base, renamed.id);
    if !caller.request.query.is_empty() {
        target = format!("{target}?{}", caller.request.query);
    }
    let status = if caller.request.method == "GET" {
        301
    } else {
        307
    };
    Some(Answer::error(status, "Moved Permanently").with("Location", target))
}

/// Adds the `ETag`, or answers 304 when the client has it.
fn with_tag(answer: Answer, request: &Request) -> Answer {
    let mut hasher = DefaultHasher::new();
    answer.content().1.hash(&mut hasher);
    answer.header("link").hash(&mut hasher);
    let tag = format!("W/\"{:016x}\"", hasher.finish());
    if request.header("if-none-match") == Some(&tag) {
        return Answer::empty(304).with("ETag", tag);
    }
    answer.with("ETag", tag)
}
