//! `orange workflow show`.

use orange_config::{Environment, Source};
use orange_engine::Workflow;
use serde::Serialize;
use serde_json::json;

use super::source::SourceBody;
use super::target::{Target, load, resolve};
use crate::cli::{Error, Exit, Shape};
use crate::output::Output;

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.workflow.show/1");

/// Show a workflow.
///
/// Prints the file byte for byte, including comments. With `--json`, prints the workflow as orange
/// understands it: names resolved, defaults filled in. To start your own from a shipped one, run
/// `orange workflow new`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A workflow name, a file path, or `-` for the standard input.
    ///
    /// An argument that has a path separator or ends in `.yml` or `.yaml` is a file. Otherwise it
    /// is a name: your own workflow first, then the shipped one.
    #[arg(value_name = "NAME|FILE", value_parser = Target::parser())]
    pub workflow: Target,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    #[serde(flatten)]
    source: SourceBody<'a>,
    workflow: Workflow,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    for source in resolve("show", std::slice::from_ref(&args.workflow), environment)? {
        if output.is_json() {
            return print_resolved(&source, output);
        }
        print_text(&source, output)?;
    }
    Ok(Exit::Ok)
}

fn print_text(source: &Source, output: &mut Output) -> Result<(), Error> {
    let bytes = source.read().map_err(|reason| {
        let name = &source.name;
        let message = format!("cannot show `{name}`: {reason}");
        Error::new(Exit::Refused, "workflow-invalid", message)
            .hint("run `orange workflow list` to see what can be shown")
            .details(json!({ "name": name, "reason": reason.to_string() }))
    })?;
    Ok(output.answer_exactly(&bytes)?)
}

fn print_resolved(source: &Source, output: &mut Output) -> Result<Exit, Error> {
    let workflow = load("resolve", source)?;
    let body = Body {
        source: SourceBody::from(source),
        workflow,
    };
    SHAPE.print(&body, output)
}
