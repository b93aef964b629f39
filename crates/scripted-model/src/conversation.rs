//! The conversation so far, and what comes next.

use crate::tools::Tool;

/// An agent's request, in terms that all APIs share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversation {
    /// The messages, oldest first.
    pub said: Vec<Message>,
    /// The tools that the agent offers.
    pub tools: Vec<Tool>,
    /// Whether the answer must be JSON with a given schema. Such a request is not a turn of the
    /// agent.
    pub wants_json: bool,
    /// Whether the answer is streamed.
    pub streams: bool,
    /// The requested model.
    pub model: String,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// From the user, or from the agent's program on the user's behalf.
    User(String),
    /// From the model: words, or a tool call.
    Model(String),
    /// The result of a tool.
    Result(String),
}

/// The position of a conversation: which script, and which line of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptPosition {
    /// The task's branch, which no other task has.
    pub branch: String,
    /// The role of the prompt: `worker`, `resumed`, `reviewer`, `stuck`, `router`.
    pub role: &'static str,
    /// Which turn: a reviewer's round; otherwise 1, plus one for every later message.
    pub turn: usize,
    /// How many tool results there are in this turn.
    pub step: usize,
}

/// How the prompts of the shipped workflows and of the router begin, and the role they address.
const OPENINGS: [(&str, &str); 6] = [
    ("# Task: ", "worker"),
    ("# Task, resumed: ", "resumed"),
    ("# Review: ", "reviewer"),
    ("# Stuck: ", "stuck"),
    ("Choose the coding agent for a task.", "router"),
    // Not one of orange: what a user says to an agent that works on no task.
    ("# Chat: ", "chat"),
];

/// How the line that is typed into a pane begins.
const NUDGE: &str = "Message from orange:";

/// How a line with a command begins, in the prompt of a small check.
const RUN: &str = "RUN: ";

/// What the model should do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextAction {
    /// A line of a script.
    Scripted(ScriptPosition),
    /// The command in the prompt itself.
    Run(String),
    /// Words: the command in the prompt was run, or no prompt was recognised.
    Words,
}

impl Conversation {
    /// What the model should do, according to the last messages.
    pub fn next_action(&self) -> NextAction {
        let marked = self.said.iter().rposition(is_marked);
        let Some(at) = marked else {
            return NextAction::Words;
        };
        let (before, after) = self.said.split_at(at + 1);
        let step = after.iter().filter(|it| matches!(it, Message::Result(_)));
        let step = step.count();
        if let Some(command) = before.last().and_then(command) {
            return match step {
                0 => NextAction::Run(command),
                _ => NextAction::Words,
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
                return NextAction::Scripted(ScriptPosition {
                    branch,
                    role,
                    turn,
                    step,
                });
            }
            nudges += usize::from(is_nudge(said));
        }
        NextAction::Words
    }
}

fn is_marked(messages: &Message) -> bool {
    opening(messages).is_some() || is_nudge(messages) || command(messages).is_some()
}

/// The role that a prompt addresses, and the prompt from its first line on.
fn opening(messages: &Message) -> Option<(&'static str, &str)> {
    let Message::User(text) = messages else {
        return None;
    };
    let found = OPENINGS.iter().filter_map(|(mark, role)| {
        let at = line_start(text, mark)?;
        Some((at, *role))
    });
    // The text that an agent puts around a prompt may contain another prompt; orange's own comes
    // last.
    let (at, role) = found.max()?;
    Some((role, text.get(at..)?))
}

fn is_nudge(messages: &Message) -> bool {
    matches!(messages, Message::User(text) if line_start(text, NUDGE).is_some())
}

fn command(messages: &Message) -> Option<String> {
    let Message::User(text) = messages else {
        return None;
    };
    field(text, RUN).map(str::to_owned)
}

/// The start of the last line that begins with the mark. One agent puts a prompt that it gets as an
/// argument into quotation marks.
fn line_start(text: &str, mark: &str) -> Option<usize> {
    let mut found = text.rmatch_indices(mark);
    let begins = |at: usize| match text.get(..at) {
        Some(before) => before.is_empty() || before == "\"" || before.ends_with('\n'),
        None => false,
    };
    found.find(|(at, _)| begins(*at)).map(|(at, _)| at)
}

/// The rest of the line after the mark.
fn field<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    let mut lines = text.lines();
    let found = lines.find_map(|line| line.strip_prefix(mark))?;
    Some(found.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Message {
        Message::User(text.to_owned())
    }

    fn result() -> Message {
        Message::Result(String::from("# Review: no prompt, only what a tool read"))
    }

    fn next_action(messages: &[Message]) -> NextAction {
        let messages = messages.to_vec();
        Conversation {
            said: messages,
            ..Conversation::default()
        }
        .next_action()
    }

    fn place(role: &'static str, turn: usize, step: usize) -> NextAction {
        let branch = String::from("fix/a");
        NextAction::Scripted(ScriptPosition {
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
        assert_eq!(next_action(&[user(WORKER)]), place("worker", 1, 0));
        let messages = [
            user(WORKER),
            Message::Model(String::new()),
            result(),
            result(),
        ];
        assert_eq!(next_action(&messages), place("worker", 1, 2));
    }

    #[test]
    fn a_nudge_begins_the_next_turn() {
        let messages = [user(WORKER), result(), user(NUDGED), result()];
        assert_eq!(next_action(&messages), place("worker", 2, 1));
        let messages = [user(WORKER), user(NUDGED), result(), user(NUDGED)];
        assert_eq!(next_action(&messages), place("worker", 3, 0));
    }

    #[test]
    fn a_reviewers_turn_is_its_round() {
        assert_eq!(next_action(&[user(REVIEWER)]), place("reviewer", 2, 0));
    }

    #[test]
    fn a_resumed_conversation_begins_anew_at_its_last_prompt() {
        let resumed = WORKER.replace("# Task:", "# Task, resumed:");
        let messages = [user(WORKER), result(), user(&resumed), result()];
        assert_eq!(next_action(&messages), place("resumed", 1, 1));
    }

    #[test]
    fn text_around_the_prompt_does_not_matter() {
        let around = format!("<reminder>\nread AGENTS.md\n</reminder>\n{WORKER}");
        let messages = [user("the date is"), user(&around), user("<reminder>")];
        assert_eq!(next_action(&messages), place("worker", 1, 0));
        let quoted = format!("\"{WORKER}\"");
        assert_eq!(next_action(&[user(&quoted)]), place("worker", 1, 0));
    }

    #[test]
    fn a_command_in_the_prompt_is_run_once() {
        assert_eq!(
            next_action(&[user("Hello\nRUN: echo a")]),
            NextAction::Run(String::from("echo a"))
        );
        assert_eq!(
            next_action(&[user("RUN: echo a"), result()]),
            NextAction::Words
        );
        assert_eq!(next_action(&[user("Hello")]), NextAction::Words);
        assert_eq!(next_action(&[user("to RUN: is to go")]), NextAction::Words);
    }
}
