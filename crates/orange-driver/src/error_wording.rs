//! Lists of names in the messages of errors.

use orange_engine::names::{HarnessName, TaskId, WorkspaceName};

use crate::error::Candidate;

/// What keeps a project in use.
pub(crate) fn in_use(tasks: &[TaskId], workspaces: &[WorkspaceName]) -> String {
    let quoted = |what: &str, names: Vec<String>| {
        (!names.is_empty()).then(|| format!("{what} `{}`", names.join("`, `")))
    };
    let tasks = tasks.iter().map(ToString::to_string).collect();
    let held = workspaces.iter().map(ToString::to_string).collect();
    let tasks = quoted("it has open tasks,", tasks);
    let held = quoted("workspaces hold something,", held);
    let both: Vec<String> = tasks.into_iter().chain(held).collect();
    both.join("; ")
}

/// Why there is no place to put a skill.
pub(crate) fn no_skills(named: Option<&HarnessName>) -> String {
    named.map_or_else(
        || String::from(": no agent that keeps skills is on the PATH"),
        |name| format!(" for `{name}`: its definition does not say where it keeps skills"),
    )
}

/// The tasks that may have been meant.
pub(crate) fn listed(candidates: &[Candidate]) -> String {
    let ids = candidates.iter().map(|it| format!("`{}`", it.task));
    ids.collect::<Vec<_>>().join(" or ")
}

/// Which task has which workspace, in words.
pub(crate) fn held(holders: &[(WorkspaceName, TaskId)]) -> String {
    let held = holders.iter();
    let held: Vec<String> = held
        .map(|(workspace, task)| format!("`{task}` has `{workspace}`"))
        .collect();
    held.join(", ")
}

/// Tasks that wait for one another, in order.
pub(crate) fn joined(way: &[TaskId]) -> String {
    let names: Vec<&str> = way.iter().map(TaskId::as_str).collect();
    names.join("`, which waits for `")
}

/// What is wrong with a workflow that nothing may be bound to.
pub(crate) fn unsafe_workflow(workflow: &str, errors: usize, problems: &[String]) -> String {
    let noun = if errors == 1 { "error" } else { "errors" };
    let more = match errors.saturating_sub(problems.len()) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let problems = problems.join("; ");
    format!(
        "cannot use the workflow `{workflow}`: `orange workflow check` finds {errors} {noun}: \
         {problems}{more}"
    )
}
