//! Scripts: what the model does in one turn, line by line.
//!
//! The script of a turn is the file `BRANCH/ROLE-TURN` in the folder of scripts, or `any/ROLE-TURN`
//! if the task has none of its own. It is read at every request, so that a test can write it while
//! agents run. Each line is a word and its arguments:
//!
//! | line | the model |
//! |---|---|
//! | `run COMMAND` | calls the agent's shell tool |
//! | `read FILE` | reads it with the agent's own tool; some agents edit only files they have read |
//! | `write FILE TEXT` | writes it with the agent's own tool |
//! | `edit FILE OLD => NEW` | replaces a line of it with the agent's own tool |
//! | `call TOOL JSON` | calls this tool, also one of an MCP server, with these arguments |
//! | `say TEXT` | says it and ends the turn |
//! | `quota`, `overload`, `key` | always fails before the next line |
//! | `quota 2` | fails twice before the next line, then continues with it |
//! | `cut`, `cut 1` | breaks off in the middle of the next line's answer |
//! | `slow SECONDS` | takes this long for the next line's answer |
//! | `tokens NUMBER` | says that the next line's answer took this many input tokens, not 100 |
//!
//! In the texts of `write` and `edit`, `\n` starts a new line. Empty lines and lines that begin
//! with `#` are skipped. After the last line the model says that it is done.

use std::fs;
use std::path::{Component, Path};
use std::time::Duration;

use serde_json::Value;

use crate::conversation::ScriptPosition;

/// What the model does at one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// A failure instead of the answer, or in the middle of it.
    pub trouble: Option<Failure>,
    /// How long the answer takes.
    pub slow: Duration,
    /// How many input tokens the answer says it took.
    pub tokens: u64,
    /// The answer.
    pub act: Action,
}

/// What the model does in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A call of the shell tool.
    Run(String),
    /// Read a file.
    Read(String),
    /// Write a new file.
    Write { file: String, text: String },
    /// Replace a line of a file.
    Edit {
        file: String,
        old: String,
        /// The replacement.
        new: String,
    },
    /// A call of a tool by its name.
    Call { tool: String, arguments: Value },
    /// Words, which end the turn.
    Say(String),
}

/// A failure, and how often it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    pub fault: Fault,
    /// How often; `None` means always.
    pub times: Option<usize>,
}

/// The ways a model can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The account has used up its quota.
    Quota,
    /// Too many requests at once.
    Overload,
    /// The key is not valid.
    Key,
    /// The connection closes in the middle of the answer.
    Cut,
}

impl Fault {
    /// The word in the script.
    pub fn word(self) -> &'static str {
        match self {
            Fault::Quota => "quota",
            Fault::Overload => "overload",
            Fault::Key => "key",
            Fault::Cut => "cut",
        }
    }
}

/// The answer when the script has no more lines.
const DONE: &str = "Done.";

/// How many input tokens an answer says it took, unless the script says otherwise.
const TOKENS: u64 = 100;

impl Step {
    /// An answer without failures.
    pub fn plain(act: Action) -> Self {
        Self {
            trouble: None,
            slow: Duration::ZERO,
            tokens: TOKENS,
            act,
        }
    }

    /// The step at a position of a script; if there is no script, the answer says so.
    pub fn at(scripts: &Path, place: &ScriptPosition) -> Self {
        let file = format!("{}-{}", place.role, place.turn);
        let own = Path::new(&place.branch);
        let is_inside = own
            .components()
            .all(|it| matches!(it, Component::Normal(_)));
        let own = is_inside.then(|| scripts.join(own).join(&file));
        let any = scripts.join("any").join(&file);
        let mut read = own.into_iter().chain([any]).map(fs::read_to_string);
        let Some(text) = read.find_map(Result::ok) else {
            let branch = &place.branch;
            return Step::plain(Action::Say(format!("No script {file} for {branch}.")));
        };
        match steps(&text) {
            Ok(steps) => {
                let step = steps.into_iter().nth(place.step);
                step.unwrap_or_else(|| Step::plain(Action::Say(DONE.to_owned())))
            }
            Err(line) => Step::plain(Action::Say(format!("Cannot read `{line}` in {file}."))),
        }
    }
}

/// The steps of a script, or the invalid line.
fn steps(text: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let (mut trouble, mut slow, mut tokens) = (None, Duration::ZERO, None);
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let fault = |fault| {
            let times = (!rest.is_empty()).then(|| rest.parse());
            let times = times.transpose().map_err(|_| line.to_owned())?;
            Ok::<_, String>(Some(Failure { fault, times }))
        };
        let act = match word {
            "run" => Action::Run(rest.to_owned()),
            "say" => Action::Say(rest.to_owned()),
            "call" => {
                let (tool, arguments) = rest.split_once(' ').ok_or(line)?;
                Action::Call {
                    tool: tool.to_owned(),
                    arguments: serde_json::from_str(arguments).map_err(|_| line.to_owned())?,
                }
            }
            "read" => Action::Read(rest.to_owned()),
            "write" => {
                let (file, text) = rest.split_once(' ').ok_or(line)?;
                Action::Write {
                    file: file.to_owned(),
                    text: unescape_newlines(text),
                }
            }
            "edit" => {
                let (file, change) = rest.split_once(' ').ok_or(line)?;
                let (old, new) = change.split_once(" => ").ok_or(line)?;
                Action::Edit {
                    file: file.to_owned(),
                    old: unescape_newlines(old),
                    new: unescape_newlines(new),
                }
            }
            "slow" => {
                slow = rest.parse().map(Duration::from_secs).map_err(|_| line)?;
                continue;
            }
            "tokens" => {
                tokens = Some(rest.parse().map_err(|_| line)?);
                continue;
            }
            "quota" | "overload" | "key" | "cut" => {
                trouble = match word {
                    "quota" => fault(Fault::Quota),
                    "overload" => fault(Fault::Overload),
                    "key" => fault(Fault::Key),
                    _ => fault(Fault::Cut),
                }?;
                continue;
            }
            _ => return Err(line.to_owned()),
        };
        steps.push(Step {
            trouble: trouble.take(),
            slow: std::mem::take(&mut slow),
            tokens: tokens.take().unwrap_or(TOKENS),
            act,
        });
    }
    if trouble.is_some() || !slow.is_zero() || tokens.is_some() {
        steps.push(Step {
            trouble,
            slow,
            tokens: tokens.unwrap_or(TOKENS),
            act: Action::Say(DONE.to_owned()),
        });
    }
    Ok(steps)
}

fn unescape_newlines(text: &str) -> String {
    text.replace("\\n", "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(branch: &str, step: usize) -> ScriptPosition {
        ScriptPosition {
            branch: branch.to_owned(),
            role: "worker",
            turn: 1,
            step,
        }
    }

    fn act(scripts: &Path, place: &ScriptPosition) -> Action {
        Step::at(scripts, place).act
    }

    #[test]
    fn a_task_has_its_own_script_or_the_default_one() {
        let folder = tempfile::tempdir().unwrap();
        let scripts = folder.path();
        for (task, word) in [("fix/a", "own"), ("any", "any")] {
            fs::create_dir_all(scripts.join(task)).unwrap();
            let text = format!("# first\nrun echo {word}\n\nsay {word} is said\n");
            fs::write(scripts.join(task).join("worker-1"), text).unwrap();
        }
        let run = |word: &str| Action::Run(format!("echo {word}"));
        assert_eq!(act(scripts, &place("fix/a", 0)), run("own"));
        assert_eq!(act(scripts, &place("fix/b", 0)), run("any"));
        assert_eq!(act(scripts, &place("../fix/a", 0)), run("any"));
        let said = Action::Say(String::from("own is said"));
        assert_eq!(act(scripts, &place("fix/a", 1)), said);
        assert_eq!(
            act(scripts, &place("fix/a", 2)),
            Action::Say(DONE.to_owned())
        );
    }

    #[test]
    fn a_fault_belongs_to_the_next_line() {
        let steps = steps("overload 2\nslow 3\ntokens 7\nrun a\nquota").unwrap();
        let [first, last] = steps.as_slice() else {
            panic!("{steps:?}");
        };
        let overload = Failure {
            fault: Fault::Overload,
            times: Some(2),
        };
        assert_eq!(first.trouble, Some(overload));
        assert_eq!(first.slow, Duration::from_secs(3));
        assert_eq!((first.tokens, last.tokens), (7, 100));
        let quota = Failure {
            fault: Fault::Quota,
            times: None,
        };
        assert_eq!((last.trouble, last.slow), (Some(quota), Duration::ZERO));
    }

    #[test]
    fn an_unknown_line_is_reported() {
        for line in [
            "walk",
            "quota many",
            "slow",
            "tokens",
            "write a",
            "edit a b",
            "call a",
            "call a {",
        ] {
            assert_eq!(steps(&format!("run a\n{line}\n")), Err(line.to_owned()));
        }
    }
}
