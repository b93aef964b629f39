//! `orange workflow diff`.

use orange_engine::Workflow;
use orange_engine::diff::{Change, Difference, Line, Sign, Way, diff, lines};
use orange_engine::language::workflow::Kind;
use orange_engine::names::Status;
use serde::Serialize;

use super::target::{Target, resolve_both};
use super::{Format, SourceBody};
use crate::cli::counted::counted;
use crate::cli::error::{Error, hint_paragraph};
use crate::cli::exit::Exit;
use crate::cli::json::Answer;
use crate::cli::schemas::Shape;
use crate::config::{Environment, Source, examine};
use crate::output::{Output, Paragraph, Style, Text};

/// The shape of its answer.
pub const SHAPE: Shape = Shape::of::<Body<'static>>("orange.workflow.diff/1");

/// What is told of several statuses at once is told of at least so many.
const SEVERAL: usize = 3;

/// Compare what two workflows do.
///
/// Tells what a change of the YAML changes in behaviour, status by status: who may ask for what,
/// for which values, what must be shown, what happens then, what the end of an agent leads to.
/// What only reads differently is no difference: comments, anchors, names of gates and limits, the
/// order of what has no order, `"*active"` written out. Exits with 0 whether there are differences
/// or not.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The workflow as it was: a name, the path of a file, or `-` for the standard input.
    ///
    /// What has a path separator or ends in `.yml` or `.yaml` is a file. Else it is a name: your
    /// own workflow first, then the shipped one.
    #[arg(value_name = "OLD", value_parser = Target::parser())]
    pub old: Target,
    /// The workflow as it is, named in the same way.
    #[arg(value_name = "NEW", value_parser = Target::parser())]
    pub new: Target,
    /// Show which lines of prompts and messages changed.
    #[arg(long)]
    pub prompts: bool,
    #[command(flatten)]
    pub format: Format,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<'a> {
    old: SourceBody<'a>,
    new: SourceBody<'a>,
    same: bool,
    differences: Vec<Row<'a>>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Row<'a> {
    #[serde(flatten)]
    difference: &'a Difference,
    sign: Sign,
    message: String,
}

/// Compares and reports.
pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let (old, new) = resolve_both("diff", [&args.old, &args.new], environment)?;
    let before = load(&old)?;
    // The standard input can be read only once.
    let now = if old == new {
        before.clone()
    } else {
        load(&new)?
    };
    let differences = diff(&before, &now);
    if args.format.json {
        let answer = Answer {
            schema: SHAPE.name,
            body: Body {
                old: SourceBody::from(&old),
                new: SourceBody::from(&new),
                same: differences.is_empty(),
                differences: differences.iter().map(row).collect(),
            },
        };
        output.answer_exactly(answer.to_text()?.as_bytes())?;
        return Ok(Exit::Ok);
    }
    let page = Page {
        width: output.answer_width(),
        prompts: args.prompts,
    };
    let mut text = Text::new();
    let groups = grouped(&differences, &now);
    for group in &groups {
        page.push_group(&mut text, group);
    }
    // What is told once counts once.
    let told = groups.iter().map(|group| group.differences.len()).sum();
    text.push(Style::Plain, &verdict(told));
    text.end_line();
    output.answer(&text)?;
    let has_texts = differences.iter().any(|it| texts(&it.change).is_some());
    if has_texts && !args.prompts {
        let command = format!("orange workflow diff {} {} --prompts", args.old, args.new);
        let hint = format!("run `{command}` to see the lines that changed");
        let mut narration = Text::new();
        narration.end_line();
        narration.push_paragraph(&hint_paragraph(&hint, 0), output.narration_width());
        output.narrate(&narration);
    }
    Ok(Exit::Ok)
}

fn load(source: &Source) -> Result<Workflow, Error> {
    let examined = examine(source);
    examined.workflow.ok_or_else(|| Error::WorkflowInvalid {
        verb: "compare",
        name: source.name.clone(),
        findings: examined.findings,
    })
}

fn verdict(count: usize) -> String {
    match count {
        0 => "no difference in behaviour".to_owned(),
        count => format!("{} in behaviour", counted(count, "difference")),
    }
}

fn row(difference: &Difference) -> Row<'_> {
    Row {
        difference,
        sign: difference.change.sign(),
        message: difference.to_string(),
    }
}

/// Differences under one heading.
struct Group<'a> {
    heading: String,
    differences: Vec<&'a Difference>,
}

/// The differences by status; what is the same in several statuses comes once, after them.
fn grouped<'a>(differences: &'a [Difference], new: &Workflow) -> Vec<Group<'a>> {
    let mut by_status: Vec<(Option<&Status>, Vec<&Difference>)> = Vec::new();
    let mut shared: Vec<(Vec<&Status>, Vec<&Difference>)> = Vec::new();
    for difference in differences {
        let status = difference.status.as_ref();
        let statuses = sharing(difference, differences);
        if statuses.len() >= SEVERAL {
            if statuses.first() == status.as_ref() {
                match shared.iter_mut().find(|(others, _)| *others == statuses) {
                    Some((_, same)) => same.push(difference),
                    None => shared.push((statuses, vec![difference])),
                }
            }
            continue;
        }
        match by_status.last_mut() {
            Some((last, same)) if *last == status => same.push(difference),
            _ => by_status.push((status, vec![difference])),
        }
    }
    let whole = by_status.pop_if(|(status, _)| status.is_none());
    let of_status = by_status.into_iter().map(|(status, differences)| Group {
        heading: status.map(ToString::to_string).unwrap_or_default(),
        differences,
    });
    let of_several = shared.into_iter().map(|(statuses, differences)| Group {
        heading: several(&statuses, new),
        differences,
    });
    let of_all = whole.map(|(_, differences)| Group {
        heading: "the whole workflow".to_owned(),
        differences,
    });
    of_status.chain(of_several).chain(of_all).collect()
}

/// The statuses in which the same is different.
fn sharing<'a>(difference: &Difference, all: &'a [Difference]) -> Vec<&'a Status> {
    let is_way = matches!(difference.way, Some(Way::Leaving { .. }));
    let same = all
        .iter()
        .filter(|other| is_way && other.way == difference.way && other.change == difference.change);
    same.filter_map(|other| other.status.as_ref()).collect()
}

/// The statuses in words.
fn several(statuses: &[&Status], new: &Workflow) -> String {
    let states = new.states.iter();
    let mut active = states.filter(|state| state.kind != Kind::Terminal);
    if active.all(|state| statuses.contains(&&state.name)) {
        return "every active status".to_owned();
    }
    let names: Vec<&str> = statuses.iter().map(|status| status.as_str()).collect();
    names.join(", ")
}

/// How the differences are laid out.
struct Page {
    width: Option<usize>,
    prompts: bool,
}

impl Page {
    fn push_group(&self, text: &mut Text, group: &Group<'_>) {
        let heading = Paragraph {
            lead: &[],
            body: "",
            margin: 0,
            indent: 0,
        };
        let words: Vec<(Style, &str)> = group
            .heading
            .split(' ')
            .map(|word| (Style::Bold, word))
            .collect();
        text.push_paragraph(
            &Paragraph {
                lead: &words,
                ..heading
            },
            self.width,
        );
        let same_way =
            |one: &&Difference, two: &&Difference| one.way.is_some() && one.way == two.way;
        for of_way in group.differences.chunk_by(same_way) {
            match of_way {
                [only] => self.push_line(text, only, 2, &only.to_string()),
                [first, ..] => {
                    let way = first.way.as_ref().map(ToString::to_string);
                    self.push_sentence(
                        text,
                        Sign::Changed,
                        2,
                        &format!("{}:", way.unwrap_or_default()),
                    );
                    for difference in of_way {
                        self.push_line(text, difference, 6, &difference.change.to_string());
                    }
                }
                [] => {}
            }
        }
        text.end_line();
    }

    fn push_line(&self, text: &mut Text, difference: &Difference, margin: usize, sentence: &str) {
        self.push_sentence(text, difference.change.sign(), margin, sentence);
        if let Some((old, new)) = texts(&difference.change).filter(|_| self.prompts) {
            for line in lines(old, new) {
                self.push_changed(text, &line, margin + 4);
            }
        }
    }

    fn push_sentence(&self, text: &mut Text, sign: Sign, margin: usize, sentence: &str) {
        let lead = match sign {
            Sign::Added => (Style::Good, "+"),
            Sign::Removed => (Style::Bad, "-"),
            Sign::Changed => (Style::Hint, "~"),
        };
        let paragraph = Paragraph {
            lead: &[lead],
            body: sentence,
            margin,
            indent: margin + 2,
        };
        text.push_paragraph(&paragraph, self.width);
    }

    fn push_changed(&self, text: &mut Text, line: &Line, margin: usize) {
        let (lead, body) = match line {
            Line::Removed(line) => ((Style::Bad, "-"), line.as_str()),
            Line::Added(line) => ((Style::Good, "+"), line.as_str()),
            Line::Same => ((Style::Plain, "…"), ""),
        };
        let paragraph = Paragraph {
            lead: &[lead],
            body,
            margin,
            indent: margin + 2,
        };
        text.push_paragraph(&paragraph, self.width);
    }
}

/// The texts of a prompt or a message that changed.
fn texts(change: &Change) -> Option<(&str, &str)> {
    match change {
        Change::PromptChanged { new, old, .. } => Some((old, new)),
        Change::StepChanged { parameter, .. } if parameter.parameter == "message" => {
            Some((&parameter.old, &parameter.new))
        }
        _ => None,
    }
}
