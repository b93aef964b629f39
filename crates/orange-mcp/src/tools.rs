//! The table of tools: each stands for one command.

use crate::limits::{DEFAULT_WAIT, MAX_ANSWER, MAX_ONCE};

/// A tool.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    pub name: &'static str,
    /// What it does, for the model.
    pub description: &'static str,
    pub offered_to: OfferedTo,
    pub effect: ToolEffect,
    /// The command.
    pub command: &'static str,
    /// Options that it always gets.
    pub fixed: &'static [&'static str],
    /// The shape of its answer.
    pub shape: &'static str,
    /// Whether the command takes a task: the assistant names one, a run means its own.
    pub takes_task: bool,
    pub parameters: &'static [Parameter],
    /// The most bytes of its answer, and what is left out of a larger one, in this order.
    pub max_answer: usize,
    pub cuts: &'static [Cut],
}

/// Which callers see a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferedTo {
    All,
    Assistant,
    Run,
}

/// What a tool does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolEffect {
    Reads,
    /// It adds something; nothing is lost.
    Adds,
}

/// An argument.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    pub name: &'static str,
    pub description: &'static str,
    pub kind: Kind,
    /// The option of the command; `None` for its positional argument.
    pub option: Option<&'static str>,
    pub is_required: bool,
    /// The value if the call leaves it out.
    pub default: Option<&'static str>,
}

/// What an argument must look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The id of a task.
    Task,
    /// The name of a project, status or role.
    Name,
    /// Several names.
    Names,
    /// Seconds to wait.
    Wait,
    /// A line of at least two words: a single word could be taken for the name of a branch.
    Summary,
    Text,
    /// A text that the command would read from a file or its input if it began with `@` or were `-`.
    PlainText,
    /// Sets the option if true.
    Flag,
    /// Sets the option if false.
    Unless,
}

/// A part of an answer that may be left out.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    pub path: &'static [&'static str],
    pub keep: Keep,
}

/// Which end of a list or a text is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    First,
    Last,
}

const fn first(path: &'static [&'static str]) -> Cut {
    let keep = Keep::First;
    Cut { path, keep }
}

const fn last(path: &'static [&'static str]) -> Cut {
    let keep = Keep::Last;
    Cut { path, keep }
}

const fn reads(
    name: &'static str,
    command: &'static str,
    shape: &'static str,
    description: &'static str,
) -> Tool {
    Tool {
        name,
        description,
        offered_to: OfferedTo::All,
        effect: ToolEffect::Reads,
        command,
        fixed: &[],
        shape,
        takes_task: true,
        parameters: &[],
        max_answer: MAX_ANSWER,
        cuts: &[],
    }
}

const fn adds(
    name: &'static str,
    command: &'static str,
    shape: &'static str,
    description: &'static str,
) -> Tool {
    Tool {
        effect: ToolEffect::Adds,
        ..reads(name, command, shape, description)
    }
}

impl Tool {
    const fn for_assistant(self) -> Self {
        Self {
            offered_to: OfferedTo::Assistant,
            ..self
        }
    }

    const fn for_run(self) -> Self {
        Self {
            offered_to: OfferedTo::Run,
            ..self
        }
    }

    const fn without_task(self) -> Self {
        Self {
            takes_task: false,
            ..self
        }
    }

    const fn fixed(self, fixed: &'static [&'static str]) -> Self {
        Self { fixed, ..self }
    }

    const fn with(self, parameters: &'static [Parameter]) -> Self {
        Self { parameters, ..self }
    }

    const fn cutting(self, cuts: &'static [Cut]) -> Self {
        Self { cuts, ..self }
    }

    const fn once(self) -> Self {
        Self {
            max_answer: MAX_ONCE,
            ..self
        }
    }
}

const fn optional(
    name: &'static str,
    kind: Kind,
    option: &'static str,
    description: &'static str,
) -> Parameter {
    Parameter {
        name,
        description,
        kind,
        option: Some(option),
        is_required: false,
        default: None,
    }
}

impl Parameter {
    const fn required(self) -> Self {
        Self {
            is_required: true,
            ..self
        }
    }

    const fn positional(self) -> Self {
        Self {
            option: None,
            ..self
        }
    }

    const fn or(self, default: &'static str) -> Self {
        Self {
            default: Some(default),
            ..self
        }
    }
}

/// The task that the assistant names.
pub const TASK: Parameter = optional("task", Kind::Task, "", "The id of the task.")
    .positional()
    .required();

const ROLE: &str = "The role of the agent, such as `worker`.";

const CHANGE: &str = "orange.task.change/1";

/// What is left out of a large answer about a change.
const OF_CHANGE: &[Cut] = &[last(&["events"])];

/// How long a change may take until the answer says that it still runs.
const SOON: &[&str] = &["--wait=5"];

/// Every tool. For no caller does one of them merge, approve, cancel, delete, confirm, answer a
/// request for permission or change a setting.
pub const TOOLS: &[Tool] = &[
    reads(
        "attention",
        "attention",
        "orange.attention/1",
        "List what needs the user: questions, work to review, decisions, tasks in trouble. Each \
         entry names the command that the user can run. Read-only.",
    )
    .for_assistant()
    .without_task()
    .fixed(&["--all"])
    .cutting(&[first(&["items"])]),
    reads(
        "tasks",
        "task list",
        "orange.task.list/1",
        "List the tasks of orange, with their ids and statuses. Unless `project` is given, those of \
         all projects.",
    )
    .for_assistant()
    .without_task()
    .with(&[
        optional("project", Kind::Name, "--project", "Only this project.").or("--all"),
        optional("status", Kind::Name, "--status", "Only tasks in this status."),
        optional(
            "all_statuses",
            Kind::Flag,
            "--all-statuses",
            "Also finished tasks.",
        ),
    ])
    .cutting(&[first(&["tasks"])]),
    reads(
        "task_show",
        "task show",
        "orange.task.show/1",
        "Show a task: its status and why, its agents, results and messages.",
    )
    .cutting(&[
        last(&["inbox"]),
        last(&["results"]),
        last(&["runs"]),
        last(&["effects"]),
    ]),
    reads(
        "task_why",
        "task why",
        "orange.task.why/1",
        "Explain why a task is in its status, and what each possible next step still needs.",
    )
    .cutting(&[last(&["undelivered"]), last(&["effects"])]),
    reads(
        "task_diff",
        "task diff",
        "orange.task.diff/1",
        "Show the changes of a task: those of its commits, and those not committed.",
    )
    .with(&[optional(
        "stat",
        Kind::Flag,
        "--stat",
        "Only list the files, with the number of changed lines.",
    )])
    .cutting(&[
        first(&["uncommitted", "diff"]),
        first(&["committed", "diff"]),
        first(&["uncommitted", "files"]),
        first(&["committed", "files"]),
    ]),
    reads(
        "task_history",
        "task history",
        "orange.task.history/1",
        "Show what happened to a task, oldest first.",
    )
    .cutting(&[last(&["events"])]),
    reads(
        "task_logs",
        "task logs",
        "orange.task.logs/1",
        "Show the output of the latest agent of a task. What it says was written by that agent.",
    )
    .with(&[optional("role", Kind::Name, "--role", ROLE)])
    .cutting(&[last(&["text"])]),
    adds(
        "task_create",
        "task create",
        CHANGE,
        "Create a task, and start its work if the workflow lets an agent do that. It gets the \
         project's own workflow, harness and limits. A worker creates a child of its own task.",
    )
    .without_task()
    .fixed(SOON)
    .with(&[
        optional(
            "summary",
            Kind::Summary,
            "",
            "What to do, in one sentence of at least two words.",
        )
        .positional()
        .required(),
        optional(
            "context",
            Kind::PlainText,
            "--context",
            "More for the agent that does it, in Markdown.",
        ),
        optional(
            "project",
            Kind::Name,
            "--project",
            "The project; needed if there are several and you are in none of them.",
        ),
        optional(
            "start",
            Kind::Unless,
            "--no-spawn",
            "False to leave the start to the user; true if left out.",
        ),
    ])
    .cutting(OF_CHANGE),
    adds(
        "task_tell",
        "task tell",
        CHANGE,
        "Send a message to the running agent of a task. The agent sees that it comes from an \
         assistant, not from the user: it approves and answers nothing.",
    )
    .for_assistant()
    .fixed(SOON)
    .with(&[
        optional("message", Kind::Text, "--message", "The message.").required(),
        optional("role", Kind::Name, "--role", ROLE),
    ])
    .cutting(OF_CHANGE),
    reads(
        "task_wait",
        "task wait",
        "orange.task.wait/1",
        "Wait until a task reaches a status, at most 50 seconds. `outcome` says whether it did.",
    )
    .for_assistant()
    .with(&[
        optional(
            "until",
            Kind::Names,
            "--until",
            "Names of statuses, `human` for any that waits for the user, or `terminal` for any end.",
        )
        .required(),
        optional(
            "timeout",
            Kind::Wait,
            "--timeout",
            "How many seconds to wait; 30 if left out.",
        )
        .or(DEFAULT_WAIT),
    ]),
    adds(
        "task_complete",
        "task complete",
        CHANGE,
        "Request the next step of your task, when your part is done. The workflow decides: if \
         something is missing, the answer lists it.",
    )
    .for_run()
    .fixed(SOON)
    .cutting(OF_CHANGE),
    adds(
        "task_stuck",
        "task stuck",
        CHANGE,
        "Report that you cannot continue with your task without help.",
    )
    .for_run()
    .fixed(SOON)
    .with(&[optional(
        "message",
        Kind::Text,
        "--message",
        "What you need.",
    )
    .required()])
    .cutting(OF_CHANGE),
    adds(
        "inbox",
        "inbox",
        "orange.inbox/1",
        "Read the messages for you that you have not read yet, and mark them as read.",
    )
    .for_run()
    .once()
    .cutting(&[first(&["messages"])]),
];
