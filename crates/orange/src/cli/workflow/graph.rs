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

/// Draw one workflow.
///
/// The drawing has one arrow for every two states that a transition joins. Beside it stands what
/// must come together: who may ask (`by`), what sets it off (`on`), its guard (`if`), its gates
/// (`needs`), and whether a person is asked first. What holds for every active state is told once.
/// Hooks are not drawn.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The name of a workflow, the path of a file, or `-` for the standard input.
    ///
    /// What has a path separator or ends in `.yml` or `.yaml` is a file. Else it is a name: your
    /// own workflow first, then the shipped one.
    #[arg(value_name = "NAME|FILE", value_parser = Target::parser())]
    pub workflow: Target,
    /// The language of the drawing.
    #[arg(long = "format", value_enum, default_value_t, conflicts_with = "json")]
    pub drawing: Drawing,
}

/// The languages of drawings.
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
                let width = output.answer_width().unwrap_or(terminal::USUAL_WIDTH);
                terminal::draw(&workflow, width.min(terminal::USUAL_WIDTH))
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
