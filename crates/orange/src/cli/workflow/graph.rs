//! `orange workflow graph`.

use clap::ValueEnum;
use orange_check::graph::{Graph, dot, mermaid, terminal};
use orange_config::Environment;
use serde::Serialize;

use super::source::SourceBody;
use super::target::{Target, load, resolve};
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.workflow.graph/1");

/// Draw a workflow.
///
/// One arrow connects two states, even if several transitions do. Its label says what a transition
/// requires: who may request it (`by`), its trigger (`on`), its guard (`if`), its gates (`needs`),
/// and whether you must confirm it. A transition that leaves every active state is drawn once.
/// Hooks are not drawn.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A workflow name, a file path, or `-` for the standard input.
    ///
    /// An argument that has a path separator or ends in `.yml` or `.yaml` is a file. Otherwise it
    /// is a name: your own workflow first, then the shipped one.
    #[arg(value_name = "NAME|FILE", value_parser = Target::parser())]
    pub workflow: Target,
    /// The format of the drawing.
    #[arg(long = "format", value_enum, default_value_t, conflicts_with = "json")]
    pub drawing: Drawing,
}

/// The formats of drawings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Drawing {
    /// Plain characters, at most 80 columns wide.
    #[default]
    Terminal,
    /// A Mermaid flowchart, which GitHub shows in Markdown.
    Mermaid,
    /// A graph for Graphviz: pipe it into `dot -Tsvg`.
    Dot,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    #[serde(flatten)]
    source: SourceBody<'a>,
    #[serde(flatten)]
    graph: Graph,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    for source in resolve("graph", std::slice::from_ref(&args.workflow), environment)? {
        let workflow = load("draw", &source)?;
        if output.is_json() {
            let body = Body {
                source: SourceBody::from(&source),
                graph: Graph::of(&workflow),
            };
            SHAPE.print(&body, output)?;
            continue;
        }
        let drawing = match args.drawing {
            Drawing::Terminal => {
                let width = output.answer_width().unwrap_or(terminal::DEFAULT_WIDTH);
                terminal::draw(&workflow, width.min(terminal::DEFAULT_WIDTH))
            }
            Drawing::Mermaid => mermaid::draw(&workflow),
            Drawing::Dot => dot::draw(&workflow),
        };
        output.answer(&to_text(&drawing))?;
    }
    Ok(Exit::Ok)
}

fn to_text(drawing: &str) -> Text {
    let mut text = Text::new();
    for line in drawing.lines() {
        text.push(Style::Plain, line);
        text.end_line();
    }
    text
}
