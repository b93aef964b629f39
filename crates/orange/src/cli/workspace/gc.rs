//! `orange workspace gc`.

use orange_config::Environment;
use orange_driver::{Collected, IgnoredIn, Waiting};
use orange_engine::names::ProjectName;

use crate::cli::answer::words::counted;
use crate::cli::request::attending::{Manner, attend};
use crate::cli::request::driving::{Consent, consent, driver};
use crate::cli::{Error, Exit, Shape, narrate_hint};
use crate::output::{Output, Style, Text};

pub const SHAPE: Shape = Shape::of::<Collected>("orange.workspace.gc/1");

/// How many ignored files of a workspace are listed by name.
const SHOWN: usize = 10;

/// Put the pool of workspaces in order.
///
/// Releases that were given up are tried again, and retired workspaces that you have put in order
/// come back into the pool. Files that git ignores in idle workspaces are listed, and you are asked:
/// with yes they are moved aside, and rescues that are merged byte for byte are forgotten. Nothing that is unsaved
/// is deleted, and worktrees that somebody else made are not touched.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only those of this project.
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// Do not ask: move what is listed aside, and forget merged rescues.
    #[arg(long)]
    pub yes: bool,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let project = args.project.as_deref().map(ProjectName::new);
    let collect = |confirmed: bool, output: &Output| {
        let manner = Manner::working(output);
        let (collected, _) = attend(driver.context.meanwhile(), manner, || {
            driver
                .admin
                .collect(project.as_ref(), confirmed, Waiting::USUAL)
        });
        collected
    };
    let collected = collect(args.yes, output)?;
    if output.is_json() {
        SHAPE.print(&collected, output)?;
        return Ok(exit(&collected));
    }
    output.answer(&text(&collected, output.answer_width()))?;
    let is_asked = !collected.ignored.is_empty() || !collected.merged_rescues.is_empty();
    if !is_asked || args.yes {
        return Ok(exit(&collected));
    }
    let consent = consent(&question(&collected), output)?;
    if consent == Consent::Given {
        let collected = collect(true, output)?;
        output.answer(&text(&collected, output.answer_width()))?;
        return Ok(exit(&collected));
    }
    if consent == Consent::Nobody {
        let hint = "run `orange workspace gc --yes` to move ignored files aside and forget merged \
                    rescues";
        narrate_hint(hint, output);
    }
    Ok(exit(&collected))
}

/// Says what would be touched.
fn question(collected: &Collected) -> String {
    let ignored = collected.ignored.iter().map(|it| it.entries.len()).sum();
    let rescues = collected.merged_rescues.len();
    let moved = format!(
        "Move {} aside, where you can look at them",
        counted(ignored, "ignored path")
    );
    let forgotten = format!(
        "forget {}, which the default branch holds byte for byte",
        counted(rescues, "rescue")
    );
    match (ignored, rescues) {
        (_, 0) => format!("{moved}?"),
        (0, _) => format!("F{}?", forgotten.trim_start_matches('f')),
        _ => format!("{moved}, and {forgotten}?"),
    }
}

/// Any problem makes this a failure, even if other work succeeded.
fn exit(collected: &Collected) -> Exit {
    if collected.problems.is_empty() {
        Exit::Ok
    } else {
        Exit::OutsideFailed
    }
}

fn text(collected: &Collected, width: Option<usize>) -> Text {
    let mut text = Text::new();
    if *collected
        == (Collected {
            confirmed: collected.confirmed,
            ..Collected::default()
        })
    {
        text.push(Style::Plain, "nothing to do");
        text.end_line();
    }
    let mut line = |name: &str, told: &str| {
        let told = format!(": {told}");
        text.push_line(&[(Style::Bold, name), (Style::Plain, &told)], 4, width);
    };
    for task in &collected.retried {
        line(task.as_str(), "what was given up is tried again");
    }
    for name in &collected.freed {
        line(name.as_str(), "free again");
    }
    for left in &collected.left {
        let path = left.path.display();
        line(
            left.workspace.as_str(),
            &format!("left as it is in `{path}`: {}", left.reason),
        );
    }
    for problem in &collected.problems {
        let about = problem.workspace.as_ref();
        let about = about.map_or(problem.project.as_str(), |name| name.as_str());
        line(about, &format!("not looked after: {}", problem.reason));
    }
    for ignored in &collected.ignored {
        line(ignored.workspace.as_str(), &told(ignored));
    }
    for reference in &collected.merged_rescues {
        let word = if collected.confirmed {
            "forgotten, the default branch holds it"
        } else {
            "merged, could be forgotten"
        };
        line(reference, word);
    }
    text
}

fn told(ignored: &IgnoredIn) -> String {
    let names = ignored.entries.iter().take(SHOWN);
    let names: Vec<String> = names.map(|it| it.escape_debug().to_string()).collect();
    let more = if ignored.entries.len() > SHOWN {
        ", …"
    } else {
        ""
    };
    let count = counted(ignored.entries.len(), "ignored path");
    let what = format!(
        "{count}, {} bytes: `{}`{more}",
        ignored.bytes,
        names.join("`, `")
    );
    match &ignored.set_aside {
        None => what,
        Some(folder) => format!(
            "{what}; moved to `{0}`, remove them with `rm -r '{0}'`",
            folder.display()
        ),
    }
}
