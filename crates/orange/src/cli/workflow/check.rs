//! `orange workflow check`.

use serde::Serialize;

use super::finding::{self, ProblemBody};
use super::target::{self, Target, resolve};
use super::{Format, SourceBody};
use crate::cli::counted::counted;
use crate::cli::error::Error;
use crate::cli::exit::Exit;
use crate::cli::json::Answer;
use crate::config::{Environment, Examined, Source, examine};
use crate::output::{Output, Style, Text};

/// Check workflows against the load rules.
///
/// Reports every problem of every workflow at once, with line and column, and exits with 3 when
/// there is one. The load rules say what a file must hold to be a workflow at all: known keys,
/// existing states and prompts, no two transitions that could both be taken. Proofs about the
/// paths through a workflow come with later versions.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Names of workflows, paths of files, or `-` for the standard input.
    ///
    /// Without any, everything that `orange workflow list` shows is checked.
    ///
    /// What has a path separator or ends in `.yml` or `.yaml` is a file. Else it is a name: your
    /// own workflow first, then the shipped one.
    #[arg(value_name = "NAME|FILE", value_parser = Target::parser())]
    pub workflows: Vec<Target>,
    #[command(flatten)]
    pub format: Format,
}

#[derive(Serialize)]
struct Body<'a> {
    rules: &'static str,
    ok: bool,
    workflows: Vec<Report<'a>>,
}

#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    source: SourceBody<'a>,
    ok: bool,
    states: Option<usize>,
    transitions: Option<usize>,
    problems: Vec<ProblemBody>,
}

/// Checks and reports.
pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let sources = if args.workflows.is_empty() {
        target::catalog(environment)?.sources().to_vec()
    } else {
        resolve("check", &args.workflows, environment)?
    };
    let examined: Vec<(Source, Examined)> = sources
        .into_iter()
        .map(|source| {
            let examined = examine(&source);
            (source, examined)
        })
        .collect();
    let is_ok = examined.iter().all(|(_, it)| it.findings.is_empty());
    if args.format.json {
        let answer = Answer {
            schema: "orange.workflow.check/1",
            body: Body {
                rules: "load",
                ok: is_ok,
                workflows: examined.iter().map(report).collect(),
            },
        };
        output.answer_exactly(answer.to_text()?.as_bytes())?;
    } else {
        output.answer(&to_text(&examined, output.answer_width()))?;
    }
    Ok(if is_ok { Exit::Ok } else { Exit::Refused })
}

fn report((source, examined): &(Source, Examined)) -> Report<'_> {
    let workflow = examined.workflow.as_ref();
    Report {
        source: SourceBody::from(source),
        ok: examined.findings.is_empty(),
        states: workflow.map(|workflow| workflow.states.len()),
        transitions: workflow.map(|workflow| workflow.edges.len()),
        problems: examined.findings.iter().map(ProblemBody::from).collect(),
    }
}

fn to_text(examined: &[(Source, Examined)], width: Option<usize>) -> Text {
    let mut text = Text::new();
    for (source, examined) in examined {
        for finding in &examined.findings {
            finding::push(&mut text, source, finding, width);
            text.end_line();
        }
    }
    for (source, examined) in examined {
        text.push(Style::Bold, &source.name);
        text.push(Style::Plain, ": ");
        match &examined.workflow {
            None => text.push(Style::Bad, &counted(examined.findings.len(), "problem")),
            Some(workflow) => {
                let states = counted(workflow.states.len(), "state");
                let transitions = counted(workflow.edges.len(), "transition");
                text.push(Style::Good, "ok");
                text.push(Style::Plain, &format!(" ({states}, {transitions})"));
            }
        }
        text.end_line();
    }
    let bad = examined.iter().filter(|(_, it)| !it.findings.is_empty());
    let bad = bad.count();
    let good = examined.len() - bad;
    text.push(
        Style::Plain,
        &format!("load rules: {good} ok, {bad} with problems; paths are not proved yet"),
    );
    text.end_line();
    text
}
