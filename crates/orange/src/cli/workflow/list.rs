//! `orange workflow list`.

use orange_config::{Environment, Home, LoadedWorkflow, Origin, Source, load_workflow};
use serde::Serialize;

use super::source::SourceBody;
use super::target;
use crate::cli::answer::words::count_noun;
use crate::cli::{Error, Exit, Shape, narrate_hint_apart};
use crate::output::{Alignment, Cell, Output, Style, Table};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.workflow.list/1");

/// List shipped workflows and your own.
///
/// Your own workflows are the files `workflows/*.yml` in orange's home directory (`ORANGE_HOME`,
/// else `~/orange`). A file with the name of a shipped workflow overrides it. Files with problems
/// are listed too; `orange workflow check` shows the problems.
#[derive(Debug, clap::Args)]
pub struct Args {}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    workflows: Vec<Row<'a>>,
}

#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "WorkflowRow")]
struct Row<'a> {
    #[serde(flatten)]
    source: SourceBody<'a>,
    overrides_shipped: bool,
    description: Option<&'a str>,
    states: Option<usize>,
    transitions: Option<usize>,
    problems: usize,
}

pub fn run(environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let home = Home::resolve(environment)?;
    let catalog = target::catalog(environment)?;
    let loaded: Vec<(&Source, LoadedWorkflow)> = catalog
        .sources()
        .iter()
        .map(|source| (source, load_workflow(source)))
        .collect();
    if output.is_json() {
        let workflows = loaded.iter().map(row).collect();
        return SHAPE.print(&Body { workflows }, output);
    }
    output.answer(&table(&loaded, &home).to_text(output.answer_width()))?;
    let broken = loaded.iter().filter(|(_, it)| !it.findings.is_empty());
    if let Some(hint) = hint(&broken.map(|(source, _)| *source).collect::<Vec<_>>()) {
        narrate_hint_apart(&hint, output);
    }
    Ok(Exit::Ok)
}

fn hint(broken: &[&Source]) -> Option<String> {
    let command = match broken {
        [] => return None,
        [source] => format!("orange workflow check {}", source.name),
        _ => "orange workflow check".to_owned(),
    };
    Some(format!("run `{command}` to see the problems"))
}

fn row<'a>((source, loaded): &'a (&Source, LoadedWorkflow)) -> Row<'a> {
    let workflow = loaded.workflow.as_ref();
    Row {
        source: SourceBody::from(*source),
        overrides_shipped: source.overrides_shipped(),
        description: workflow.and_then(|workflow| workflow.description.as_deref()),
        states: workflow.map(|workflow| workflow.states.len()),
        transitions: workflow.map(|workflow| workflow.edges.len()),
        problems: loaded.findings.len(),
    }
}

fn table(loaded: &[(&Source, LoadedWorkflow)], home: &Home) -> Table<3> {
    let columns = [
        ("NAME", Alignment::Left),
        ("FROM", Alignment::Left),
        ("STATES", Alignment::Right),
    ];
    let mut table = Table::new(columns, "DESCRIPTION");
    for (source, loaded) in loaded {
        let path = source.path().map(|path| home.relative(path).display());
        let built_in = match source.origin {
            Origin::Policy { .. } => "repository policy",
            _ => "shipped",
        };
        let from = path.map_or_else(|| built_in.to_owned(), |path| path.to_string());
        let states = loaded.workflow.as_ref().map(|it| it.states.len());
        let states = states.map_or_else(|| "-".to_owned(), |states| states.to_string());
        let row = [
            Cell::new(Style::Bold, &source.name),
            Cell::new(Style::Plain, &from),
            Cell::new(Style::Plain, &states),
        ];
        table.push(row, description(source, loaded));
    }
    table
}

fn description(source: &Source, loaded: &LoadedWorkflow) -> Cell {
    let mark = if source.overrides_shipped() {
        "[overrides shipped] "
    } else {
        ""
    };
    match &loaded.workflow {
        None => {
            let problems = count_noun(loaded.findings.len(), "problem");
            Cell::new(Style::Bad, &format!("{mark}{problems}"))
        }
        Some(workflow) => {
            let description = workflow.description.as_deref().unwrap_or_default();
            Cell::new(Style::Plain, &format!("{mark}{description}"))
        }
    }
}
