//! `orange sandbox port`.

use orange_config::Environment;
use serde::Serialize;

use crate::cli::request::requests::driver;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body>("orange.sandbox.port/1");

/// Reach a server that an agent runs in its sandbox.
///
/// A sandbox with a limited network has ports of its own. This opens a port of this machine, for
/// programs of this machine alone, that leads to one of them, until you press Ctrl-C.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task's id, the start of its id, or its branch.
    #[arg(value_name = "TASK")]
    pub task: String,
    /// The port inside.
    #[arg(value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: u16,
    /// The port of this machine [default: the same, or a free one].
    #[arg(long, value_name = "PORT")]
    pub listen: Option<u16>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body {
    /// Where the port is open.
    url: String,
    /// Whether a server listens inside now.
    has_server: bool,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let task = driver.callers.resolve_task(Some(&args.task))?;
    let workspaces = &driver.workspaces;
    let port = workspaces.open_sandbox_port(&task, args.port, args.listen)?;
    let body = Body {
        url: format!("http://127.0.0.1:{}", port.local()),
        has_server: port.has_server(),
    };
    if output.is_json() {
        SHAPE.print_line(&body, output)?;
    } else {
        let mut text = Text::new();
        text.push(Style::Bold, &body.url);
        text.push(
            Style::Plain,
            &format!(" leads to port {} in the sandbox of {task}", args.port),
        );
        text.end_line();
        output.answer(&text)?;
        let mut note = Text::new();
        if !body.has_server {
            note.push(Style::Plain, "nothing listens there yet; ");
        }
        note.push(Style::Dim, "press Ctrl-C to close it");
        note.end_line();
        output.narrate(&note);
    }
    port.serve();
    Ok(Exit::Ok)
}
