//! The skill that explains orange to agents, generated from the workflows.
//!
//! Invariant: a step that the text offers to a role is an edge which that role may request, with
//! everything that the edge needs. There is no separate list of steps that could contradict the
//! workflow.

mod mark;
mod steps;

pub use mark::{Authorship, add_mark, authorship};

use std::fmt::Write as _;

use crate::language::Workflow;
use crate::language::workflow::{Kind, State};
use crate::wording::join_and;

/// The name under which agents list the skill.
pub const NAME: &str = "orange";

/// When an agent should read the rest; at first, agents see only this.
pub const DESCRIPTION: &str = "Runs coding tasks in parallel with the `orange` command. Each task \
has its own git worktree, agent and TASK.md, and changes its status only by its workflow. Use it \
to turn a request into tasks, to create, follow, review or merge them, and whenever the directory \
you work in has a TASK.md of orange.";

const OPENING: &str = "\
`orange` runs coding agents on tasks, each in its own git worktree and tmux session. A task \
changes its status only by its workflow, which reads the evidence in TASK.md.

- A command that refuses lists everything that is missing and what to run next. Do that, then run \
the command again.
- Never change the lines between the `---` of TASK.md.
- \"The user\" is the person you work for, the role `human` of a workflow.

Find your part:

- If `ORANGE_ROLE` is set, or the root of your worktree has a TASK.md that begins with an `id`, \
you work on one task: read \"With a TASK.md\".
- Otherwise you create tasks and follow them: read \"Without a TASK.md\".
";

const WITHOUT: &str = "
## Without a TASK.md: create tasks and follow them

You act for the user. Merge, cancel or send work back only when the user says so.

1. Refine the request first: what must change, where, and how to tell that it is done.
2. If any of that is open, ask the user two or three precise questions about scope, edge cases and \
acceptance, and wait for the answers. Never create a task from a vague request, such as \"clean up \
the API\" or \"make it robust\".
3. Split a large request into independent tasks that can run in parallel: each is one change that \
can be reviewed alone, and no two touch the same files.
4. Create each task: `orange task create BRANCH \"SUMMARY\" --context @FILE`. This also starts its \
agent. Put requirements, constraints and the user's answers into the context: the agent sees \
nothing else of your conversation. Leave the implementation plan to the agent. With `--after TASK` \
it starts only when that task is done.
5. Follow the tasks: `orange task list` shows them, `orange attention` shows what needs the user.
6. Wait with `orange task wait TASK --until human`: it returns when the user is needed or the task \
has ended. Then tell the user.
7. Look closer with `orange task show TASK` (its status), `orange task why TASK` (what each next \
step needs), `orange task diff TASK` (its changes) and `orange task logs TASK` (its agent's \
output).
8. Write to its agent with `orange task tell TASK -m \"TEXT\"`.

Add `--json` to any of them for JSON; `orange help` lists all commands. Do not edit files in the \
worktree of a task, and do not type into its tmux session.
";

const WITH: &str = "
## With a TASK.md: do your part of one task

1. Read TASK.md. Run `orange task show`: it prints your task, its status and its workflow. Your \
role is in `ORANGE_ROLE`.
2. Check that the task is clear, as described below. If it is not, ask.
3. Run `orange task why`: it lists what each next step still needs. Write that into TASK.md, under \
headings of exactly the given name, with each `NAME: text` on a line of its own.
4. Request the step with the command that the workflow below gives your role. A section that must \
be fresh is one that you wrote or changed since the task entered its status.
5. When a message arrives, run `orange inbox` and do what it says.
6. Do not push. Do not post to a forge such as GitHub.
7. Do not request a step of another role: a worker does not judge its own work, and a reviewer \
changes no code.

### Is the task clear?

Judge this before you work, and again whenever you learn more. Ask if one of these is true:

- The summary is empty.
- A requirement is vague: \"make it faster\" does not say what, or how fast.
- Context is missing: it names something that you cannot find.
- It has several meanings that lead to different changes.
- It is much larger than one task, or turns out larger or different while you work.

Do not guess, invent requirements or extend the scope yourself. To ask:

1. Stop. Write two or three precise questions under `## Questions` in TASK.md, with what you \
found.
2. Request the status in which the user answers, if the workflow below offers you one: `orange \
task update --status clarification` in the shipped workflows that have it. If it offers none, ask \
in your session. In a headless run (`ORANGE_REPORT` is set), report `needs_review` with the \
questions as the `reason`.
3. Wait in your session for the user, and talk it over.
4. Write the answers into TASK.md. If the task has changed, run `orange task update --summary \
\"TEXT\"`.
5. Request the status in which you work, and continue.

### Reviewing the work of another agent

1. Read TASK.md: what was asked, the plan, the handoff. Read the whole diff: `orange task diff`. \
Use a review toolkit or skill if you have one. Check what the worker calls uncertain most closely.
2. Write your review into the section that `orange task why` names. Its first line is exactly \
`Verdict: PASS` or `Verdict: FAIL`; below it, say of each problem what is wrong, where, and how to \
fix it.
3. Set the status: run the command below that needs your verdict.
";

/// The text for an agent: a general part, and a chapter for each workflow.
pub fn skill(workflows: &[&Workflow]) -> String {
    let mut text = format!("---\nname: {NAME}\ndescription: {DESCRIPTION}\n---\n\n# orange\n\n");
    text.push_str(OPENING);
    text.push_str(WITHOUT);
    text.push_str(WITH);
    let names = join_and(workflows.iter().map(|it| format!("`{}`", it.name)));
    let _ = write!(
        text,
        "\n## Workflows\n\nIn use when this file was written: {names}. A task keeps the workflow \
         it was created with; if `orange task why` says something else, follow `orange task why`.\n"
    );
    for workflow in workflows {
        write_chapter(&mut text, workflow);
    }
    text
}

fn write_chapter(text: &mut String, workflow: &Workflow) {
    let _ = writeln!(text, "\n### `{}`\n", workflow.name);
    if let Some(description) = &workflow.description {
        // The description may span several lines, and a line could start a Markdown block.
        let words: Vec<&str> = description.split_whitespace().collect();
        let _ = writeln!(text, "{}\n", words.join(" "));
    }
    text.push_str("| status | what it is |\n|---|---|\n");
    for state in &workflow.states {
        let _ = writeln!(text, "| `{}` | {} |", state.name, describe_state(state));
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
        let _ = writeln!(text, "\nFor the user, outside the task's session:\n");
        for verb in verbs {
            let _ = writeln!(text, "- {verb}");
        }
    }
    for role in workflow.agent_roles() {
        let _ = writeln!(text, "\nAs the {role}:\n");
        for line in steps::steps_for_role(workflow, &role) {
            let _ = writeln!(text, "- {line}");
        }
    }
}

fn describe_state(state: &State) -> String {
    let agents = join_and(state.expects.iter().map(|it| format!("the {it}")));
    match (state.kind, agents.is_empty()) {
        (Kind::Queued, _) => String::from("waits to be started"),
        (Kind::Agent, _) => format!("{agents} works"),
        (Kind::Human, true) => String::from("the user decides"),
        (Kind::Human, false) => format!("the user decides, with {agents}"),
        (Kind::Waiting, _) => String::from("waits for something else"),
        (Kind::Terminal, _) => String::from("the end"),
    }
}
