//! `orange workflow diff`.

use orange_check::diff::{ChangeKind, Sign, WorkflowChange, diff, lines};
use orange_config::Environment;
use orange_engine::Workflow;
use orange_engine::language::workflow::Kind;
use orange_engine::names::Status;
use serde::Serialize;

use super::source::SourceBody;
use super::target::{Target, load, resolve_both};
use crate::cli::answer::words::count_noun;
use crate::cli::{Error, Exit, Shape, narrate_hint_apart};
use crate::output::{Output, Paragraph, Style, Text};

pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.workflow.diff/1");

/// A difference that at least this many statuses share is shown once for all of them.
const SHARED_BY_AT_LEAST: usize = 3;

/// Compare what two workflows do.
///
/// Shows how an edit of the YAML changes the behaviour, status by status: which transitions exist,
/// who may request them and when, what they need, which hooks run, and what happens when an agent
/// exits. Edits that do not change the behaviour are not shown: comments, anchors, names of gates
/// and limits, the order of unordered items, and `"*active"` written out. Exits with 0 whether
/// there are changes or not.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The old workflow: a name, a file path, or `-` for the standard input.
    ///
    /// An argument that has a path separator or ends in `.yml` or `.yaml` is a file. Otherwise it
    /// is a name: your own workflow first, then the shipped one.
    #[arg(value_name = "OLD", value_parser = Target::parser())]
    pub old: Target,
    /// The new workflow, named in the same way.
    #[arg(value_name = "NEW", value_parser = Target::parser())]
    pub new: Target,
    /// Show which lines of prompts and messages changed.
    #[arg(long)]
    pub prompts: bool,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    old: SourceBody<'a>,
    new: SourceBody<'a>,
    same: bool,
    changes: Vec<Row<'a>>,
}

#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "DiffRow")]
struct Row<'a> {
    #[serde(flatten)]
    difference: &'a WorkflowChange,
    sign: Sign,
    message: String,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let (old, new) = resolve_both("diff", [&args.old, &args.new], environment)?;
    let old_workflow = load("compare", &old)?;
    // If both are the same, load only once: stdin cannot be read twice.
    let new_workflow = if old == new {
        old_workflow.clone()
    } else {
        load("compare", &new)?
    };
    let differences = diff(&old_workflow, &new_workflow);
    if output.is_json() {
        let body = Body {
            old: SourceBody::from(&old),
            new: SourceBody::from(&new),
            same: differences.is_empty(),
            changes: differences.iter().map(row).collect(),
        };
        return SHAPE.print(&body, output);
    }
    let page = Page {
        width: output.answer_width(),
        prompts: args.prompts,
    };
    let mut text = Text::new();
    let groups = group_changes(&differences, &new_workflow);
    for (heading, differences) in &groups {
        page.push_group(&mut text, heading, differences);
    }
    // A difference that several statuses share counts once.
    let verdict = match groups.iter().map(|(_, group)| group.len()).sum() {
        0 => "no change in behaviour".to_owned(),
        count => format!("{} in behaviour", count_noun(count, "change")),
    };
    text.push(Style::Plain, &verdict);
    text.end_line();
    output.answer(&text)?;
    if !args.prompts && differences.iter().any(|it| texts(it).is_some()) {
        let command = format!("orange workflow diff {} {} --prompts", args.old, args.new);
        let hint = format!("run `{command}` to see the lines that changed");
        narrate_hint_apart(&hint, output);
    }
    Ok(Exit::Ok)
}

fn row(difference: &WorkflowChange) -> Row<'_> {
    Row {
        difference,
        sign: difference.sign(),
        message: difference.to_string(),
    }
}

type Group<'a> = (String, Vec<&'a WorkflowChange>);

/// The differences by status, then those that several statuses share, each once, then those of the
/// whole workflow.
fn group_changes<'a>(differences: &'a [WorkflowChange], new: &Workflow) -> Vec<Group<'a>> {
    let (mut groups, mut shared, mut whole): (Vec<Group<'a>>, Vec<Group<'a>>, Vec<Group<'a>>) =
        Default::default();
    for difference in differences {
        let statuses = statuses_sharing(difference, differences);
        let (into, heading) = match &difference.status {
            None => (&mut whole, "the whole workflow".to_owned()),
            Some(status) if statuses.len() < SHARED_BY_AT_LEAST => {
                (&mut groups, status.to_string())
            }
            Some(status) if statuses.first() != Some(&status) => continue,
            Some(_) => (&mut shared, shared_heading(&statuses, new)),
        };
        match into.iter_mut().find(|(other, _)| *other == heading) {
            Some((_, group)) => group.push(difference),
            None => into.push((heading, vec![difference])),
        }
    }
    groups.into_iter().chain(shared).chain(whole).collect()
}

/// The statuses that have the same difference in a transition.
fn statuses_sharing<'a>(difference: &WorkflowChange, all: &'a [WorkflowChange]) -> Vec<&'a Status> {
    let with_status = |status: &Option<Status>| WorkflowChange {
        status: status.clone(),
        ..difference.clone()
    };
    let same = all
        .iter()
        .filter(|other| difference.route.is_some() && with_status(&other.status) == **other);
    same.filter_map(|other| other.status.as_ref()).collect()
}

fn shared_heading(statuses: &[&Status], new: &Workflow) -> String {
    let states = new.states.iter();
    let mut active = states.filter(|state| state.kind != Kind::Terminal);
    if active.all(|state| statuses.contains(&&state.name)) {
        return "every active status".to_owned();
    }
    let names: Vec<&str> = statuses.iter().map(|status| status.as_str()).collect();
    names.join(", ")
}

struct Page {
    width: Option<usize>,
    prompts: bool,
}

impl Page {
    fn push_group(&self, text: &mut Text, heading: &str, differences: &[&WorkflowChange]) {
        let words: Vec<(Style, &str)> = heading.split(' ').map(|it| (Style::Bold, it)).collect();
        self.push(text, &words, "", 0);
        let same_route = |one: &&WorkflowChange, two: &&WorkflowChange| {
            one.route.is_some() && one.route == two.route
        };
        for changes in differences.chunk_by(same_route) {
            if let [only] = changes {
                self.push_difference(text, only, &only.to_string(), 2);
                continue;
            }
            let route = changes.iter().find_map(|it| it.route.as_ref());
            let route = route.map(|route| format!("{route}:")).unwrap_or_default();
            self.push(text, &[lead(Sign::Changed)], &route, 2);
            for difference in changes {
                self.push_difference(text, difference, &difference.sentence(), 6);
            }
        }
        text.end_line();
    }

    fn push_difference(&self, text: &mut Text, it: &WorkflowChange, sentence: &str, margin: usize) {
        self.push(text, &[lead(it.sign())], sentence, margin);
        if let Some((old, new)) = texts(it).filter(|_| self.prompts) {
            for (sign, line) in lines(old, new) {
                self.push(text, &[lead(sign)], line, margin + 4);
            }
        }
    }

    fn push(&self, text: &mut Text, lead: &[(Style, &str)], body: &str, margin: usize) {
        let paragraph = Paragraph {
            lead,
            body,
            margin,
            indent: if body.is_empty() { margin } else { margin + 2 },
        };
        text.push_paragraph(&paragraph, self.width);
    }
}

fn lead(sign: Sign) -> (Style, &'static str) {
    match sign {
        Sign::Added => (Style::Good, "+"),
        Sign::Removed => (Style::Bad, "-"),
        Sign::Changed => (Style::Hint, "~"),
    }
}

/// The old and new text of a prompt or message.
fn texts(difference: &WorkflowChange) -> Option<(&str, &str)> {
    let is_text = difference.kind == ChangeKind::Prompt || difference.parameter == Some("message");
    let texts = difference.old.as_deref().zip(difference.new.as_deref());
    texts.filter(|_| is_text)
}
