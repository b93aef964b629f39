//! `orange workflow new`.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use orange_config::{Environment, Home, new_workflow};
use orange_engine::shipped_workflows::{self, ShippedWorkflow};
use serde::Serialize;

use crate::cli::{Error, Exit, Shape, narrate_hint_apart};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.workflow.new/1");

/// Create your own workflow.
///
/// Writes `workflows/NAME.yml` in orange's home directory (`ORANGE_HOME`, else `~/orange`): a copy
/// of a shipped workflow under the new name, with a comment that says what to change first. An
/// existing file is never overwritten.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The name of the new workflow: lower-case letters, digits, `-` and `_`.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The shipped workflow to start from.
    #[arg(long, value_name = "SHIPPED", default_value = "minimal", value_parser = shipped_parser())]
    pub from: &'static ShippedWorkflow,
}

fn shipped_parser() -> impl TypedValueParser<Value = &'static ShippedWorkflow> {
    let names = shipped_workflows::ALL.iter().map(|shipped| shipped.name);
    PossibleValuesParser::new(names).try_map(|name| {
        shipped_workflows::find(&name).ok_or("there is no shipped workflow of that name")
    })
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    name: &'a str,
    path: String,
    copy_of: &'a str,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let home = Home::resolve(environment)?;
    let path = new_workflow(&home, &args.name, args.from)?;
    let path = path.display().to_string();
    if output.is_json() {
        let body = Body {
            name: &args.name,
            path,
            copy_of: args.from.name,
        };
        return SHAPE.print(&body, output);
    }
    let mut text = Text::new();
    text.push(Style::Bold, &path);
    text.push(Style::Plain, &format!(": a copy of `{}`", args.from.name));
    text.end_line();
    output.answer(&text)?;
    let name = &args.name;
    let hint = format!("change it, then run `orange workflow check {name}`");
    narrate_hint_apart(&hint, output);
    Ok(Exit::Ok)
}
