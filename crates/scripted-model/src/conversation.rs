//! What was said so far, and what comes next.

use crate::tools::Tool;

/// A request of an agent, in the words that all APIs share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversation {
    /// What was said, oldest first.
    pub said: Vec<Said>,
    /// What the agent offers to do.
    pub tools: Vec<Tool>,
    /// Whether the answer is to be JSON of a given shape: no agent's own turn.
    pub wants_json: bool,
    /// Whether the answer is to come in pieces.
    pub streams: bool,
    /// The model that was asked for.
    pub model: String,
}

/// One thing that was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// By the person, or by the agent's program in the person's name.
    User(String),
    /// By the model: words, or the call of a tool.
    Model(String),
    /// What a tool answered.
    Result(String),
}

/// Where a conversation stands: which script, and which line of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The branch of the task, which no other task has.
    pub branch: String,
    /// As what the agent was prompted: `worker`, `resumed`, `reviewer`, `stuck`.
    pub role: &'static str,
    /// Which turn: a reviewer's round; otherwise 1, and one more for every later message.
    pub turn: usize,
    /// How many tools have answered in this turn.
    pub step: usize,
}

/// How the prompts of the shipped workflows begin, and whom they address.
const OPENINGS: [(&str, &str); 4] = [
    ("# Task: ", "worker"),
    ("# Task, resumed: ", "resumed"),
    ("# Review: ", "reviewer"),
    ("# Stuck: ", "stuck"),
];

/// How the line that is typed into a pane begins.
const NUDGE: &str = "Message from orange:";

/// How a command stands in a prompt, for small checks.
const RUN: &str = "RUN: ";

/// What is to be done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A line of a script.
    Scripted(Place),
    /// The command that stands in the prompt itself.
    Run(String),
    /// Words: the command in the prompt was run, or no prompt was recognised.
    Words,
}

impl Conversation {
    /// What the model is to do, by what was said last.
    pub fn wanted(&self) -> Wanted {
        let marked = self.said.iter().rposition(is_marked);
        let Some(at) = marked else {
            return Wanted::Words;
        };
        let (before, after) = self.said.split_at(at + 1);
        let step = after.iter().filter(|it| matches!(it, Said::Result(_)));
        let step = step.count();
        if let Some(command) = before.last().and_then(command) {
            return match step {
                0 => Wanted::Run(command),
                _ => Wanted::Words,
            };
        }
        let mut nudges = 0;
        for said in before.iter().rev() {
            if let Some((role, text)) = opening(said) {
                let round = field(text, "Review round: ");
                let round = round.and_then(|it| it.split(' ').next()?.parse().ok());
                let turn = match round {
                    Some(round) if role == "reviewer" => round,
                    _ => nudges + 1,
                };
                let branch = field(text, "Branch: ").unwrap_or_default().to_owned();
                return Wanted::Scripted(Place {
                    branch,
                    role,
                    turn,
                    step,
                });
            }
            nudges += usize::from(is_nudge(said));
        }
        Wanted::Words
    }
}

fn is_marked(said: &Said) -> bool {
    opening(said).is_some() || is_nudge(said) || command(said).is_some()
}

/// Whom a prompt addresses, and the prompt from its first line on.
fn opening(said: &Said) -> Option<(&'static str, &str)> {
    let Said::User(text) = said else {
        return None;
    };
    let found = OPENINGS.iter().filter_map(|(mark, role)| {
        let at = line_start(text, mark)?;
        Some((at, *role))
    });
    // What an agent puts around a prompt may tell of another one; ours comes last.
    let (at, role) = found.max()?;
    Some((role, text.get(at..)?))
}

fn is_nudge(said: &Said) -> bool {
    matches!(said, Said::User(text) if line_start(text, NUDGE).is_some())
}

fn command(said: &Said) -> Option<String> {
    let Said::User(text) = said else {
        return None;
    };
    field(text, RUN).map(str::to_owned)
}

/// Where the last line that begins with the mark begins. One agent puts a prompt that it is given
/// as an argument into quotes.
fn line_start(text: &str, mark: &str) -> Option<usize> {
    let mut found = text.rmatch_indices(mark);
    let begins = |at: usize| match text.get(..at) {
        Some(before) => before.is_empty() || before == "\"" || before.ends_with('\n'),
        None => false,
    };
    found.find(|(at, _)| begins(*at)).map(|(at, _)| at)
}

/// What follows the mark on its line.
fn field<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    let mut lines = text.lines();
    let found = lines.find_map(|line| line.strip_prefix(mark))?;
    Some(found.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Said {
        Said::User(text.to_owned())
    }

    fn result() -> Said {
        Said::Result(String::from("# Review: no prompt, only what a tool read"))
    }

    fn wanted(said: &[Said]) -> Wanted {
        let said = said.to_vec();
        Conversation {
            said,
            ..Conversation::default()
        }
        .wanted()
    }

    fn place(role: &'static str, turn: usize, step: usize) -> Wanted {
        let branch = String::from("fix/a");
        Wanted::Scripted(Place {
            branch,
            role,
            turn,
            step,
        })
    }

    const WORKER: &str = "# Task: Greet\n\nProject: app\nBranch: fix/a\n\nYou are the worker.";
    const REVIEWER: &str =
        "# Review: Greet\n\nBranch: fix/a\nReview round: 2 of 2\n\nYou judge work.";
    const NUDGED: &str = "Message from orange: run orange inbox and do what it says.";

    #[test]
    fn a_prompt_begins_the_first_turn_and_results_are_its_steps() {
        assert_eq!(wanted(&[user(WORKER)]), place("worker", 1, 0));
        let said = [user(WORKER), Said::Model(String::new()), result(), result()];
        assert_eq!(wanted(&said), place("worker", 1, 2));
    }

    #[test]
    fn a_nudge_begins_the_next_turn() {
        let said = [user(WORKER), result(), user(NUDGED), result()];
        assert_eq!(wanted(&said), place("worker", 2, 1));
        let said = [user(WORKER), user(NUDGED), result(), user(NUDGED)];
        assert_eq!(wanted(&said), place("worker", 3, 0));
    }

    #[test]
    fn a_reviewers_turn_is_its_round() {
        assert_eq!(wanted(&[user(REVIEWER)]), place("reviewer", 2, 0));
    }

    #[test]
    fn a_resumed_conversation_begins_anew_at_its_last_prompt() {
        let resumed = WORKER.replace("# Task:", "# Task, resumed:");
        let said = [user(WORKER), result(), user(&resumed), result()];
        assert_eq!(wanted(&said), place("resumed", 1, 1));
    }

    #[test]
    fn what_an_agent_puts_around_the_prompt_does_not_matter() {
        let around = format!("<reminder>\nread AGENTS.md\n</reminder>\n{WORKER}");
        let said = [user("the date is"), user(&around), user("<reminder>")];
        assert_eq!(wanted(&said), place("worker", 1, 0));
        let quoted = format!("\"{WORKER}\"");
        assert_eq!(wanted(&[user(&quoted)]), place("worker", 1, 0));
    }

    #[test]
    fn a_command_in_the_prompt_is_run_once() {
        assert_eq!(
            wanted(&[user("Hello\nRUN: echo a")]),
            Wanted::Run(String::from("echo a"))
        );
        assert_eq!(wanted(&[user("RUN: echo a"), result()]), Wanted::Words);
        assert_eq!(wanted(&[user("Hello")]), Wanted::Words);
        assert_eq!(wanted(&[user("to RUN: is to go")]), Wanted::Words);
    }
}
