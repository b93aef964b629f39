//! `orange workflow check`.

use std::fmt::Write as _;

use orange_check::check::{self, CheckReport, Coverage, Finding, Severity};
use orange_config::{Environment, LoadedWorkflow, Source, load_workflow};
use orange_driver::Progress;
use orange_engine::Workflow;
use serde::Serialize;

use super::finding::{self, FindingBody};
use super::problem::{self, ProblemBody};
use super::source::SourceBody;
use super::target::{self, Target, resolve};
use crate::cli::answer::words::count_noun;
use crate::cli::request::progress::{WaitMode, run_with_progress};
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Paragraph, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.workflow.check/1");

/// Prove that workflows are safe to run.
///
/// First checks the load rules: all keys are known, states and prompts exist, and at most one
/// transition applies at a time. Reports every problem of every workflow at once, with line and
/// column.
///
/// Then tries everything that a workflow can do, with the same code that runs tasks: every status,
/// with every value of the counters that a `when` compares, with every combination of running
/// agents, with and without a workspace, and with each agent start succeeding or failing. It
/// assumes that an agent may write anything into TASK.md. For each problem, such as a workspace
/// that is never released, a loop that never ends or an agent that passes its own review, prints
/// the shortest sequence of steps that leads to it. In the output, a situation is a combination of
/// status, counters, agents, workspace and pending work.
///
/// A workflow with errors is refused, and the exit code is 3. A workflow with warnings is refused
/// only with `--strict`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Workflow names, file paths, or `-` for the standard input.
    ///
    /// Without arguments, checks everything that `orange workflow list` shows.
    ///
    /// An argument that has a path separator or ends in `.yml` or `.yaml` is a file. Otherwise it
    /// is a name: your own workflow first, then the shipped one.
    #[arg(value_name = "NAME|FILE", value_parser = Target::parser())]
    pub workflows: Vec<Target>,
    /// Also refuse workflows with warnings.
    #[arg(long)]
    pub strict: bool,
    /// Also show notes, which are neither errors nor warnings.
    #[arg(long)]
    pub notes: bool,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    ok: bool,
    workflows: Vec<Report<'a>>,
}

#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "WorkflowReport")]
struct Report<'a> {
    #[serde(flatten)]
    source: SourceBody<'a>,
    ok: bool,
    states: Option<usize>,
    transitions: Option<usize>,
    problems: Vec<ProblemBody>,
    findings: Vec<FindingBody<'a>>,
    coverage: Option<Coverage>,
}

/// One workflow with everything the check found out.
struct Outcome {
    source: Source,
    loaded: LoadedWorkflow,
    check_report: Option<CheckReport>,
}

impl Outcome {
    fn new(source: Source) -> Self {
        let loaded = load_workflow(&source);
        let check_report = loaded.workflow.as_ref().map(check::check);
        Self {
            source,
            loaded,
            check_report,
        }
    }

    fn checked_workflow(&self) -> Option<(&Workflow, &CheckReport)> {
        Some((self.loaded.workflow.as_ref()?, self.check_report.as_ref()?))
    }

    fn findings(&self) -> &[Finding] {
        self.check_report.as_ref().map_or(&[], |it| &it.findings)
    }

    fn count(&self, severity: Severity) -> usize {
        self.check_report
            .as_ref()
            .map_or(0, |it| it.count(severity))
    }

    fn is_ok(&self, strict: bool) -> bool {
        let warnings = if strict {
            self.count(Severity::Warning)
        } else {
            0
        };
        self.check_report.is_some() && self.count(Severity::Error) + warnings == 0
    }
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let sources = if args.workflows.is_empty() {
        target::catalog(environment)?.sources().to_vec()
    } else {
        resolve("check", &args.workflows, environment)?
    };
    let progress = Progress::default();
    let mode = WaitMode::for_work(output);
    let (results, _) = run_with_progress(&progress, mode, || {
        let outcomes = sources.into_iter().map(|source| {
            progress.report(format!("checking {}", source.name));
            Outcome::new(source)
        });
        outcomes.collect::<Vec<Outcome>>()
    });
    let is_ok = results.iter().all(|result| result.is_ok(args.strict));
    if output.is_json() {
        let body = Body {
            ok: is_ok,
            workflows: results.iter().map(|it| report(it, args.strict)).collect(),
        };
        SHAPE.print(&body, output)?;
    } else {
        output.answer(&to_text(&results, args, output.answer_width()))?;
    }
    Ok(if is_ok { Exit::Ok } else { Exit::Refused })
}

fn report(result: &Outcome, strict: bool) -> Report<'_> {
    let workflow = result.loaded.workflow.as_ref();
    let text = &result.loaded.text;
    let findings = result.findings().iter();
    Report {
        source: SourceBody::from(&result.source),
        ok: result.is_ok(strict),
        states: workflow.map(|workflow| workflow.states.len()),
        transitions: workflow.map(|workflow| workflow.edges.len()),
        problems: result
            .loaded
            .findings
            .iter()
            .map(ProblemBody::from)
            .collect(),
        findings: findings.map(|it| FindingBody::new(it, text)).collect(),
        coverage: result.check_report.as_ref().map(|it| it.coverage),
    }
}

fn to_text(results: &[Outcome], args: &Args, width: Option<usize>) -> Text {
    let mut text = Text::new();
    for result in results {
        let Outcome { source, loaded, .. } = result;
        for problem in &loaded.findings {
            problem::push(&mut text, source, problem, width);
            text.end_line();
        }
        for finding in result.findings() {
            if finding.severity != Severity::Note || args.notes {
                finding::push(&mut text, source, &loaded.text, finding, width);
                text.end_line();
            }
        }
    }
    for result in results {
        push_summary(&mut text, result, args.strict, width);
    }
    let is_note = |finding: &Finding| finding.severity == Severity::Note;
    if !args.notes && results.iter().any(|it| it.findings().iter().any(is_note)) {
        text.push(Style::Dim, "`--notes` shows the notes");
        text.end_line();
    }
    if results.len() > 1 {
        let good = results.iter().filter(|it| it.is_ok(args.strict)).count();
        let bad = results.len() - good;
        text.push(Style::Plain, &format!("{good} safe to run, {bad} refused"));
        text.end_line();
    }
    text
}

/// Adds a line such as
/// `mine: ok (5 states, 9 transitions), 2 warnings; explored all 16 situations and 138 steps`.
fn push_summary(text: &mut Text, outcome: &Outcome, strict: bool, width: Option<usize>) {
    let name = format!("{}:", outcome.source.name);
    let (verdict, style, rest) = if let Some((workflow, check_report)) = outcome.checked_workflow()
    {
        let (verdict, style) = if outcome.is_ok(strict) {
            ("ok", Style::Good)
        } else {
            ("refused", Style::Bad)
        };
        (
            verdict.to_owned(),
            style,
            summary_text(workflow, check_report),
        )
    } else {
        let problems = count_noun(outcome.loaded.findings.len(), "problem");
        let rest = String::from("the behaviour was not checked");
        (format!("{problems};"), Style::Bad, rest)
    };
    let paragraph = Paragraph {
        lead: &[(Style::Bold, &name), (style, &verdict)],
        body: &rest,
        margin: 0,
        indent: 2,
    };
    text.push_paragraph(&paragraph, width);
}

fn summary_text(workflow: &Workflow, check_report: &CheckReport) -> String {
    let states = count_noun(workflow.states.len(), "state");
    let transitions = count_noun(workflow.edges.len(), "transition");
    let mut text = format!("({states}, {transitions})");
    for (severity, noun) in [
        (Severity::Error, "error"),
        (Severity::Warning, "warning"),
        (Severity::Note, "note"),
    ] {
        let count = check_report.count(severity);
        if count > 0 {
            let _ = write!(text, ", {}", count_noun(count, noun));
        }
    }
    let Coverage {
        situations,
        steps,
        is_complete,
    } = check_report.coverage;
    let situations = count_noun(situations, "situation");
    let steps = count_noun(steps, "step");
    let explored = if is_complete {
        format!("explored all {situations} and {steps}")
    } else {
        format!("explored {situations} and {steps}, but NOT all")
    };
    let _ = write!(text, "; {explored}");
    text
}
