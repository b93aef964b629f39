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
/// that saved work is deleted. Nothing else is deleted, and worktrees that orange did not create
/// are not touched.
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
        let (collected, _) = run_with_progress(driver.context.progress(), mode, || {
            driver.admin.collect_garbage(
                project.as_ref(),
                confirmed,
                WaitPolicy::Detached(driver.context.default_wait()),
            )
        });
        collected
    };
    let collected = collect(args.yes, output)?;
    if output.is_json() {
        SHAPE.print(&collected, output)?;
        return Ok(exit(&collected));
    }
    output.answer(&text(&collected, output.answer_width()))?;
    let is_asked = !collected.ignored_files.is_empty() || !collected.merged_rescues.is_empty();
    if !is_asked || args.yes {
        return Ok(exit(&collected));
    }
    let consent = ask_consent(&question(&collected), output)?;
    if consent == Consent::Given {
        let collected = collect(true, output)?;
        output.answer(&text(&collected, output.answer_width()))?;
        return Ok(exit(&collected));
    }
    if consent == Consent::NotAsked {
        let hint = "run `orange workspace gc --yes` to move ignored files aside and delete merged \
                    saved work";
        narrate_hint(hint, output);
    }
    Ok(exit(&collected))
}

/// Says what would be touched.
fn question(collected: &GcReport) -> String {
    let ignored = collected
        .ignored_files
        .iter()
        .map(|it| it.entries.len())
        .sum();
    let rescues = collected.merged_rescues.len();
    let moved = format!(
        "Move {} aside, where you can inspect them",
        count_noun(ignored, "ignored path")
    );
    let forgotten = format!(
        "delete {} of saved work, which the default branch contains byte for byte",
        count_noun(rescues, "set")
    );
    match (ignored, rescues) {
        (_, 0) => format!("{moved}?"),
        (0, _) => format!("D{}?", forgotten.trim_start_matches('d')),
        _ => format!("{moved}, and {forgotten}?"),
    }
}

/// Any problem makes this a failure, even if other work succeeded.
fn exit(collected: &GcReport) -> Exit {
    if collected.problems.is_empty() {
        Exit::Ok
    } else {
        Exit::ExternalFailed
    }
}

fn text(collected: &GcReport, width: Option<usize>) -> Text {
    let mut text = Text::new();
    if *collected
        == (GcReport {
            confirmed: collected.confirmed,
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
    for task in &collected.retried_tasks {
        line(task.as_str(), "retrying what failed");
    }
    for name in &collected.freed_workspaces {
        line(name.as_str(), "free again");
    }
    for left in &collected.unusable_workspaces {
        let path = left.path.display();
        line(
            left.workspace.as_str(),
            &format!("left as it is in `{path}`: {}", left.reason),
        );
    }
    for problem in &collected.problems {
        let about = problem.workspace.as_ref();
        let about = about.map_or(problem.project.as_str(), |name| name.as_str());
        line(about, &format!("not cleaned up: {}", problem.reason));
    }
    for ignored in &collected.ignored_files {
        line(ignored.workspace.as_str(), &ignored_files_text(ignored));
    }
    for reference in &collected.merged_rescues {
        let word = if collected.confirmed {
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
