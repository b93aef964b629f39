//! Answers a permission request, and prints the command it is about.

use orange_config::Environment;
use orange_driver::AnsweredRequest;
use orange_engine::names::TaskId;
use orange_engine::permission::{PermissionOutcome, PermissionRequest};
use serde::Serialize;

use super::requests::driver;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.permission.answer/1");

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    task: &'a TaskId,
    request: &'a PermissionRequest,
    answer: &'a PermissionOutcome,
}

/// Answers a request, and prints what was allowed or denied.
pub fn answer(
    request: &str,
    outcome: &PermissionOutcome,
    environment: &Environment,
    output: &mut Output,
) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let AnsweredRequest { task, request } = driver.requests.answer_permission(request, outcome)?;
    if output.is_json() {
        let body = Body {
            task: &task,
            request: &request,
            answer: outcome,
        };
        return SHAPE.print(&body, output);
    }
    let answer_text = match outcome {
        PermissionOutcome::Allowed => "allowed once",
        _ => "denied",
    };
    let mut text = Text::new();
    text.push(Style::Bold, task.as_str());
    text.push(Style::Plain, &format!(": {answer_text}: {}", request.tool));
    text.end_line();
    push_command(&mut text, &request);
    output.answer(&text)?;
    Ok(Exit::Ok)
}

/// Adds the whole command; the terminal wraps a line that is too long.
pub fn push_command(text: &mut Text, request: &PermissionRequest) {
    for line in request.command.split('\n') {
        // A tab would be shown as an unknown character.
        text.push(Style::Plain, &format!("    {}", line.replace('\t', "    ")));
        text.end_line();
    }
}
