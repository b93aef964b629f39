//! One GraphQL request.

use super::caller::{Caller, call, parse_body, with_world};
use super::fault::Fault;
use super::quota;
use super::state::{State, Write};
use crate::graphql::{self, Query};
use crate::http::Answer;
use crate::world::quota::Resource;

pub fn answer(state: &mut State, caller: &Caller) -> (Answer, Option<Fault>) {
    let request = caller.request;
    // `gh` breaks a rule of the specification that GitHub does not apply.
    let lax = request
        .header("user-agent")
        .is_some_and(|it| it.starts_with("GitHub CLI"));
    let body = parse_body(&request.body).ok().flatten().unwrap_or_default();
    let query = match Query::read(&body, lax) {
        Ok(query) if request.method == "POST" => query,
        Ok(_) => return (Answer::error(404, "Not Found"), None),
        Err(errors) => {
            let fault = state.take_fault(&["graphql"]);
            state
                .violations
                .extend(errors.iter().map(|it| format!("GraphQL request: {it}")));
            return (
                Answer::json(200, graphql::refusal(None, &errors.join("; "))),
                fault,
            );
        }
    };
    let mut names: Vec<&str> = query.fields.iter().map(String::as_str).collect();
    names.extend(query.name.as_deref());
    names.push("graphql");
    let fault = state.take_fault(&names);
    let now = state.world.now();
    let finish = |state: &mut State, answer: Answer, cost| {
        let rate = *state
            .world
            .quota
            .rate(&caller.viewer, Resource::Graphql, now);
        let answer = quota::with_rate(answer, rate, Resource::Graphql);
        let viewer = &caller.viewer;
        state.calls.push(call(
            request,
            "graphql",
            &query.fields,
            viewer,
            &answer,
            cost,
            fault,
        ));
        (answer, fault)
    };
    if let Some(fault) = fault.filter(|it| !it.takes_effect()) {
        let answer = fault.spoil(None, now).unwrap_or(Answer::empty(503));
        return finish(state, answer, 0);
    }
    if let Some((kind, message)) = &query.refusal {
        return finish(
            state,
            Answer::json(200, graphql::refusal(Some(kind), message)),
            0,
        );
    }
    let quota = &mut state.world.quota;
    let taken = quota.take(
        &caller.viewer,
        Resource::Graphql,
        query.points,
        query.is_mutation,
        now,
    );
    if let Err(exceeded) = taken {
        return finish(state, quota::refuse(exceeded, Resource::Graphql), 0);
    }
    let rate = *quota.rate(&caller.viewer, Resource::Graphql, now);
    let response = with_world(state, query.is_mutation, |world| {
        query.execute(world, &caller.viewer, rate)
    });
    state.violations.extend(
        response
            .violations
            .iter()
            .map(|it| format!("GraphQL answer: {it}")),
    );
    for (operation, input) in response.writes {
        let (viewer, path) = (caller.viewer.clone(), "/graphql".to_owned());
        state.writes.push(Write {
            operation,
            viewer,
            path,
            input,
        });
    }
    finish(state, Answer::json(200, response.body), query.points)
}
