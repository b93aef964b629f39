//! The skill that explains orange to agents, generated from the workflows.
//!
//! Invariant: a step that the text offers to a role is an edge which that role may request, with
//! everything that the edge needs. There is no separate list of steps that could contradict the
//! workflow.

mod mark;
mod steps;

pub use mark::{Authorship, authorship, marked};

use std::fmt::Write as _;

use crate::language::Workflow;
use crate::language::workflow::{Kind, State};
use crate::role::Role;
use crate::wording::all;

/// The name under which agents list it.
pub const NAME: &str = "orange";

/// When an agent should read the rest; at first, agents see only this.
pub const DESCRIPTION: &str = "Runs coding tasks with the command `orange`. Each task has its own \
git worktree, agent and TASK.md, and moves only by its workflow. Use it to create, follow, review \
or merge such tasks, and whenever the directory you work in has a TASK.md of orange.";

const OPENING: &str = "\
`orange` runs coding agents on tasks, each in its own git worktree and tmux session. A task is \
moved by what its TASK.md shows and by nothing else: a command that refuses says everything that \
is missing and what to run next. Do what it says, then repeat the command. Never change the lines \
between the `---` of TASK.md.

Which part is yours: if `ORANGE_ROLE` is set, or the root of your worktree has a TASK.md that \
begins with an `id`, you are at work on one task: read \"With a TASK.md\". Otherwise you start \
tasks and follow them: read \"Without a TASK.md\".
";

const WITHOUT: &str = "
## Without a TASK.md: start tasks and follow them

You speak for the person who called you. Merge, cancel or send work back only when they said so.

Before you create a task, make sure that it can be done as written. If the request is vague, has \
several meanings or names something you cannot find, ask the person two or three precise questions \
and create nothing until they are answered. Split a large request into tasks that can be done side \
by side, without touching the same files.

1. `orange task create BRANCH \"SUMMARY\" --context @FILE` creates a task and starts its agent. One \
task is one change that can be reviewed alone; what the agent must know goes into the context, \
because it sees nothing else of your conversation. `--after TASK` makes it wait for another one.
2. `orange task list` shows every task, `orange attention` what waits for the person.
3. `orange task wait TASK --until human` returns when a person is needed or the task has ended.
4. `orange task show TASK`, `orange task why TASK`, `orange task diff TASK` and \
`orange task logs TASK` say where it is, what it waits for, what it changed and what its agent said.
5. `orange task tell TASK -m \"TEXT\"` writes to its agent.

Every one of them answers in JSON with `--json`; `orange help` lists all commands. Do not edit \
files in the worktree of a task, and do not type into its tmux session.
";

const WITH: &str = "
## With a TASK.md: do your part of one task

1. Read TASK.md, then run `orange task show`: it names your task, its status and its workflow. Your \
role is in `ORANGE_ROLE`.
2. Judge whether you can tell what is wanted. If not, or if the work turns out larger or different \
than TASK.md says, do not guess: write two or three precise questions under `## Questions`, and ask \
for the status in which a person answers, if the workflow below has one.
3. `orange task why` says for each next step what it still needs. Write that into TASK.md, under \
headings of exactly the given name, with each `NAME: text` on a line of its own. A verdict is the \
first line of its section: exactly `Verdict: PASS` or `Verdict: FAIL`.
4. Then ask for the step as the workflow below lets your role ask. A section that must be fresh is \
one that you wrote or changed since the task came into its status.
5. When you are told that there are messages, read them with `orange inbox`.
6. Do not push, do not write to a forge, and do not ask for a step of another role: a worker does \
not judge its own work, and a reviewer changes no code.
";

/// The text for an agent: a general part, and a chapter for each workflow.
pub fn skill(workflows: &[&Workflow]) -> String {
    let mut text = format!("---\nname: {NAME}\ndescription: {DESCRIPTION}\n---\n\n# orange\n\n");
    text.push_str(OPENING);
    text.push_str(WITHOUT);
    text.push_str(WITH);
    let names = all(workflows.iter().map(|it| format!("`{}`", it.name)));
    let _ = write!(
        text,
        "\n## Workflows\n\nBelow is what was in use when this was written: {names}. A task keeps \
         the workflow it was created with; where `orange task why` says something else, that \
         counts.\n"
    );
    for workflow in workflows {
        chapter(&mut text, workflow);
    }
    text
}

fn chapter(text: &mut String, workflow: &Workflow) {
    let _ = writeln!(text, "\n### `{}`\n", workflow.name);
    if let Some(description) = &workflow.description {
        // It may span several lines, and a line could start a Markdown block.
        let words: Vec<&str> = description.split_whitespace().collect();
        let _ = writeln!(text, "{}\n", words.join(" "));
    }
    text.push_str("| status | what it is |\n|---|---|\n");
    for state in &workflow.states {
        let _ = writeln!(text, "| `{}` | {} |", state.name, meaning(state));
    }
    if !workflow.limits.is_empty() {
        let limits = workflow.limits.iter();
        let limits: Vec<String> = limits
            .map(|(name, it)| format!("`{name}` is {it}"))
            .collect();
        let _ = writeln!(text, "\nLimits: {}.", limits.join(", "));
    }
    let verbs: Vec<String> = steps::verbs(workflow);
    if !verbs.is_empty() {
        let _ = writeln!(text, "\nFor the person, outside of the task's session:\n");
        for verb in verbs {
            let _ = writeln!(text, "- {verb}");
        }
    }
    for role in roles(workflow) {
        let _ = writeln!(text, "\nAs the {role}:\n");
        for line in steps::of_role(workflow, &role) {
            let _ = writeln!(text, "- {line}");
        }
    }
}

/// Every agent that some status expects, in the order in which a task meets them.
fn roles(workflow: &Workflow) -> Vec<Role> {
    let mut roles: Vec<Role> = Vec::new();
    for role in workflow.states.iter().flat_map(|state| &state.expects) {
        if !roles.contains(role) {
            roles.push(role.clone());
        }
    }
    roles
}

fn meaning(state: &State) -> String {
    let agents = all(state.expects.iter().map(|it| format!("the {it}")));
    match (state.kind, agents.is_empty()) {
        (Kind::Queued, _) => String::from("waits to be started"),
        (Kind::Agent, _) => format!("{agents} works"),
        (Kind::Human, true) => String::from("a person decides"),
        (Kind::Human, false) => format!("a person decides, with {agents}"),
        (Kind::Waiting, _) => String::from("waits for something else"),
        (Kind::Terminal, _) => String::from("the end"),
    }
}
