//! `orange workspace gc`.

use orange_config::Environment;
use orange_driver::{GcReport, IgnoredFiles, WaitPolicy};
use orange_engine::names::ProjectName;

use crate::cli::answer::words::count_noun;
use crate::cli::request::progress::{WaitMode, run_with_progress};
use crate::cli::request::requests::{Consent, ask_consent, driver};
use crate::cli::{Error, Exit, Shape, narrate_hint};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<GcReport>("orange.workspace.gc/1");

/// How many ignored files of a workspace are listed by name.
const MAX_SHOWN_PATHS: usize = 10;

/// Clean up the pool of workspaces.
///
/// Retries failed releases, and takes retired workspaces back into the pool once you have cleaned
/// them up. Then lists ignored files in idle workspaces, and saved work of finished tasks that the
/// default branch contains byte for byte. If you confirm, the ignored files are moved aside and
/// that saved work is deleted; if a repository is gone, the worktrees of its finished tasks are
/// moved aside. Nothing else is deleted, and worktrees that orange did not create are not touched.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Clean up only the workspaces of this project.
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// Move ignored files aside and delete merged saved work without asking.
    #[arg(long)]
    pub yes: bool,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let project = args.project.as_deref().map(ProjectName::new);
    let collect = |confirmed: bool, output: &Output| {
        let mode = WaitMode::for_work(output);
        let (report, _) = run_with_progress(driver.context.progress(), mode, || {
            driver.admin.collect_garbage(
                project.as_ref(),
                confirmed,
                WaitPolicy::Detached(driver.context.default_wait()),
            )
        });
        report
    };
    let report = collect(args.yes, output)?;
    if output.is_json() {
        SHAPE.print(&report, output)?;
        return Ok(exit(&report));
    }
    output.answer(&text(&report, output.answer_width()))?;
    let needs_consent = !report.ignored_files.is_empty() || !report.merged_rescues.is_empty();
    if !needs_consent || args.yes {
        return Ok(exit(&report));
    }
    let consent = ask_consent(&question(&report), output)?;
    if consent == Consent::Given {
        let report = collect(true, output)?;
        output.answer(&text(&report, output.answer_width()))?;
        return Ok(exit(&report));
    }
    if consent == Consent::NotAsked {
        let hint = "run `orange workspace gc --yes` to move ignored files aside and delete merged \
                    saved work";
        narrate_hint(hint, output);
    }
    Ok(exit(&report))
}

/// Says what would be touched.
fn question(report: &GcReport) -> String {
    let ignored = report.ignored_files.iter().map(|it| it.entries.len()).sum();
    let rescues = report.merged_rescues.len();
    let moved = format!(
        "Move {} aside, where you can inspect them",
        count_noun(ignored, "ignored path")
    );
    let deleted = format!(
        "delete {} of saved work, which the default branch contains byte for byte",
        count_noun(rescues, "set")
    );
    let question = match (ignored, rescues) {
        (_, 0) => format!("{moved}?"),
        (0, _) => format!("D{}?", deleted.trim_start_matches('d')),
        _ => format!("{moved}, and {deleted}?"),
    };
    if report.problems.is_empty() {
        return question;
    }
    format!(
        "{question} The worktrees of finished tasks whose repository is gone are moved aside, too."
    )
}

/// Any problem makes the command fail, even if other work succeeded.
fn exit(report: &GcReport) -> Exit {
    if report.problems.is_empty() {
        Exit::Ok
    } else {
        Exit::ExternalFailed
    }
}

fn text(report: &GcReport, width: Option<usize>) -> Text {
    let mut text = Text::new();
    if *report
        == (GcReport {
            confirmed: report.confirmed,
            ..GcReport::default()
        })
    {
        text.push(Style::Plain, "nothing to do");
        text.end_line();
    }
    let mut line = |name: &str, message: &str| {
        let message = format!(": {message}");
        text.push_line(&[(Style::Bold, name), (Style::Plain, &message)], 4, width);
    };
    for task in &report.retried_tasks {
        line(task.as_str(), "retrying what failed");
    }
    for name in &report.freed_workspaces {
        line(name.as_str(), "free again");
    }
    for set_aside in &report.set_aside_worktrees {
        let message = match &set_aside.moved_to {
            Some(path) => format!(
                "its repository is gone; its worktree was moved to `{}`",
                path.display()
            ),
            None => String::from("its repository and its worktree are gone"),
        };
        line(set_aside.workspace.as_str(), &message);
    }
    for unusable in &report.unusable_workspaces {
        let path = unusable.path.display();
        line(
            unusable.workspace.as_str(),
            &format!("left as it is in `{path}`: {}", unusable.reason),
        );
    }
    for problem in &report.problems {
        let subject = problem.workspace.as_ref();
        let subject = subject.map_or(problem.project.as_str(), |name| name.as_str());
        line(subject, &format!("not cleaned up: {}", problem.reason));
    }
    for ignored in &report.ignored_files {
        line(ignored.workspace.as_str(), &ignored_files_text(ignored));
    }
    for reference in &report.merged_rescues {
        let word = if report.confirmed {
            "deleted, the default branch contains it"
        } else {
            "merged, can be deleted"
        };
        line(reference, word);
    }
    text
}

fn ignored_files_text(ignored: &IgnoredFiles) -> String {
    let names = ignored.entries.iter().take(MAX_SHOWN_PATHS);
    let names: Vec<String> = names.map(|it| it.escape_debug().to_string()).collect();
    let more = if ignored.entries.len() > MAX_SHOWN_PATHS {
        ", …"
    } else {
        ""
    };
    let count = count_noun(ignored.entries.len(), "ignored path");
    let what = format!(
        "{count}, {} bytes: `{}`{more}",
        ignored.bytes,
        names.join("`, `")
    );
    match &ignored.moved_to {
        None => what,
        Some(folder) => format!(
            "{what}; moved to `{0}`, remove them with `rm -r '{0}'`",
            folder.display()
        ),
    }
}
