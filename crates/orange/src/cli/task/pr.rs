//! `orange task pr`.

use orange_config::Environment;
use orange_driver::Answer;
use orange_engine::Task;
use orange_engine::input::RequestKind;

use crate::cli::request::requests::{
    Extras, RequestDraft, Target, driver, print_with, request_with_confirmation,
};
use crate::cli::{Error, Exit};
use crate::output::{Output, Style, Text};

/// Open a task's pull request on GitHub.
///
/// Pushes the task's branch and finds its pull request, or opens one: the summary is the title,
/// `## Handoff` the text, followed by the template of the repository. Whether it is a draft is the
/// setting `forge.draft`. The status of the task stays. Run it again to push new commits.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub target: Target,
    /// Open it as a draft.
    #[arg(long, conflicts_with = "ready")]
    pub draft: bool,
    /// Open it ready for review, or mark it as ready.
    #[arg(long)]
    pub ready: bool,
    /// Show it in your browser.
    #[arg(long)]
    pub open: bool,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let task = driver.callers.resolve_task(args.target.task.as_deref())?;
    driver.requests.require_forge(&task)?;
    let draft = match (args.draft, args.ready) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    let request = RequestDraft::plain(RequestKind::OpenPullRequest { draft });
    let answer = request_with_confirmation(&args.target, request, environment, output)?;
    let changed: Option<Task> = match &answer {
        Answer::Done(changed) | Answer::StillRunning(changed) => Some(changed.task.clone()),
        _ => None,
    };
    let exit = print_with(answer, &Extras::default(), output)?;
    let Some(link) = changed.and_then(|task| task.pull_request) else {
        return Ok(exit);
    };
    // Reads the pull request at once, so that orange can show its state. If this fails, the
    // request is done nevertheless.
    let _unseen = driver.requests.look_at_pull_request(&task);
    if !output.is_json() {
        let mut text = Text::new();
        let parts = [(Style::Plain, link.url.as_str())];
        text.push_line(&parts, 0, None);
        output.answer(&text)?;
    }
    if args.open {
        driver.forge.show_in_browser(&link.url)?;
    }
    Ok(exit)
}
