//! What an error of the driver means for who asked.

use orange_engine::names::{ProjectName, Status, TaskId};
use serde_json::{Value, json};

use super::exit::Exit;
use crate::config::{HomeError, ProjectsError};
use crate::driver::{Candidate, DriverError, StoreProblem, Way};

/// The stable name of its kind.
pub fn code(error: &DriverError) -> &'static str {
    match error {
        DriverError::Home(HomeError::Unknown) => "home-unknown",
        DriverError::Home(HomeError::Relative(_)) => "home-not-absolute",
        DriverError::Catalog(_) => "home-unreadable",
        DriverError::Store(_) => match error.store_problem() {
            StoreProblem::TaskUnknown => "task-not-found",
            StoreProblem::BranchTaken => "branch-taken",
            StoreProblem::Busy => "store-busy",
            StoreProblem::Empty => "store-missing",
            StoreProblem::Unusable => "store-unusable",
            StoreProblem::Failed => "store-failed",
        },
        DriverError::Projects(error) => match error {
            ProjectsError::Unknown { .. } => "project-not-found",
            ProjectsError::NameInvalid(_) => "project-name-invalid",
            ProjectsError::Exists { .. } => "project-exists",
            ProjectsError::File { .. } | ProjectsError::Invalid { .. } => "projects-unreadable",
        },
        DriverError::Harness(_) => "harness-unusable",
        DriverError::HarnessUnset { .. } => "harness-unset",
        DriverError::Tmux(_) | DriverError::Command(_) | DriverError::Process(_) => {
            "program-failed"
        }
        DriverError::NoRescue { .. } => "rescue-not-found",
        DriverError::NotRestored { .. } => "not-restored",
        DriverError::NameInvalid { .. } => "name-invalid",
        DriverError::PoolTooSmall { .. } => "pool-too-small",
        DriverError::Git(_) => "git-failed",
        DriverError::WorkspaceBusy(_) => "workspace-busy",
        DriverError::NoRandomness(_) | DriverError::File { .. } => "system-failed",
        DriverError::ProjectUnclear { .. } => "project-unclear",
        DriverError::NoRepository { .. } => "project-unusable",
        DriverError::ProjectInUse { .. } => "project-in-use",
        DriverError::NoBranch { .. } => "branch-not-found",
        DriverError::WorkflowMissing { .. } => "workflow-not-found",
        DriverError::WorkflowInvalid { .. } => "workflow-invalid",
        DriverError::HasNul(_) => "text-has-nul",
        DriverError::Document(_) | DriverError::DocumentUnknown { .. } => "task-file-unknown",
        DriverError::FactUnknown { .. } => "fact-unknown",
        DriverError::GateRunning { .. } => "gate-running",
        DriverError::Contended { .. } => "task-contended",
        DriverError::ProofInvalid(_) => "proof-invalid",
        DriverError::OtherTask { .. } => "other-task",
        DriverError::InsideEffect { .. } => "inside-effect",
        DriverError::TaskUnclear => "task-unclear",
        DriverError::TaskAmbiguous { .. } => "task-ambiguous",
        DriverError::TaskDeleted { .. } => "task-deleted",
        DriverError::WorkflowUnsafe { .. } => "workflow-unsafe",
        DriverError::NoOutput { .. } => "no-output",
        DriverError::StatusUnknown { .. } => "status-unknown",
        DriverError::ForAPerson(_) => "for-a-person",
        DriverError::DatabaseThere { .. } => "database-there",
        DriverError::NobodyThere { .. } => "nobody-there",
    }
}

/// How the command ends.
pub fn exit(error: &DriverError) -> Exit {
    match code(error) {
        "home-unknown"
        | "home-not-absolute"
        | "project-name-invalid"
        | "harness-unset"
        | "project-unclear"
        | "name-invalid"
        | "pool-too-small"
        | "text-has-nul"
        | "task-ambiguous"
        | "status-unknown"
        | "task-unclear" => Exit::Usage,
        "task-not-found" | "store-missing" | "project-not-found" | "workflow-not-found"
        | "nobody-there" | "rescue-not-found" | "no-output" | "branch-not-found" => Exit::NotFound,
        "store-busy" | "task-contended" | "workspace-busy" | "gate-running" => Exit::Busy,
        "program-failed" | "git-failed" => Exit::OutsideFailed,
        "store-failed" | "system-failed" => Exit::Unexpected,
        _ => Exit::Refused,
    }
}

/// What to do about it; each stands alone.
pub fn hints(error: &DriverError) -> Vec<String> {
    if let Some(hints) = hints_about_named(error) {
        return hints;
    }
    let hint = match error {
        DriverError::Store(error) => return error.hints(),
        DriverError::Home(_) => {
            "name it by an absolute path, such as `export ORANGE_HOME=\"$PWD/orange\"`".to_owned()
        }
        DriverError::Projects(ProjectsError::Unknown { names, .. })
        | DriverError::ProjectUnclear { names, .. } => registered(names),
        DriverError::Projects(ProjectsError::NameInvalid(_)) => {
            "a name has letters, digits, `-` and `_`; choose one with `orange project add --name NAME`"
                .to_owned()
        }
        DriverError::Projects(ProjectsError::Invalid { path, .. }) => {
            format!("correct `{}`; nothing was changed", path.display())
        }
        DriverError::NoRepository { .. } => {
            "run `git init` and make a first commit, then run `orange project add`".to_owned()
        }
        DriverError::HarnessUnset { project, folder } => format!(
            "name one with `orange task create --harness NAME`, or for good with `orange project \
             update {project} --harness NAME`; harnesses are defined in `{}/NAME.toml`",
            folder.display()
        ),
        DriverError::WorkflowMissing { names, .. } => format!(
            "the workflows are `{}`; `orange workflow list` describes them",
            names.join("`, `")
        ),
        DriverError::WorkflowInvalid { name, .. } => {
            format!("run `orange workflow check {name}` to see what is wrong")
        }
        DriverError::DocumentUnknown { .. } | DriverError::Document(_) => {
            "save TASK.md whole, as UTF-8, then run the command again".to_owned()
        }
        DriverError::Contended { .. } | DriverError::WorkspaceBusy(_) => {
            "run the command again".to_owned()
        }
        DriverError::NameInvalid { .. } => {
            "a branch is named as git allows it: `git check-ref-format --branch NAME`".to_owned()
        }
        DriverError::NoRescue { task, .. } => {
            format!("run `orange task restore {task}` to see which there are")
        }
        DriverError::NotRestored { task, number, .. } => format!(
            "bring it back elsewhere: `orange task restore {task} {number} --branch NAME`, or \
             `--directory DIRECTORY`"
        ),
        DriverError::PoolTooSmall { project, .. } => {
            format!("run `orange project update {project} --pool-size COUNT`, or ask for fewer")
        }
        DriverError::FactUnknown { task, .. } => format!(
            "when that is mended, run the command again; `orange task why {task}` tells what it needs"
        ),
        DriverError::GateRunning { .. } => {
            "run the same command again in a while: it reads the result".to_owned()
        }
        DriverError::ProofInvalid(_) => {
            "call `orange` with the variables the agent was started with".to_owned()
        }
        DriverError::OtherTask { own, .. } => {
            format!("leave the task out, or name your own: `orange task show {own}`")
        }
        DriverError::InsideEffect { .. } => {
            "let the command end first; what it should change belongs into the workflow".to_owned()
        }
        DriverError::TaskUnclear => {
            "name the task; `orange task list` shows every task".to_owned()
        }
        DriverError::ForAPerson(_) => {
            "say in your session what is needed, and let the person run the command".to_owned()
        }
        DriverError::DatabaseThere { .. } => {
            "if it is damaged, run `orange rebuild --move-aside`: it is renamed and kept".to_owned()
        }
        DriverError::NobodyThere { task, way, .. } => match way {
            Way::Spawn => format!("run `orange task spawn {task}` to start the work"),
            Way::Respawn(None) => {
                format!("run `orange task respawn {task}` to bring an agent back")
            }
            Way::Respawn(Some(role)) => {
                format!("run `orange task respawn {task} --role {role}` to bring it back")
            }
            Way::Look => format!("see what became of it with `orange task show {task}`"),
        },
        DriverError::Harness(error) => error.hint(),
        _ => return Vec::new(),
    };
    vec![hint]
}

/// What to do about a task or a project that was named and is not fit for it.
fn hints_about_named(error: &DriverError) -> Option<Vec<String>> {
    let hint = match error {
        DriverError::ProjectInUse {
            tasks, workspaces, ..
        } => {
            let cancel = |task: &TaskId| {
                format!("end it first: `orange task cancel {task}` keeps its work, or merge it")
            };
            let held = !workspaces.is_empty() && tasks.is_empty();
            let held = held.then(|| {
                String::from(
                    "run `orange workspace gc`: it gives back what ended tasks still hold, and \
                     says what is left",
                )
            });
            return Some(tasks.iter().map(cancel).chain(held).collect());
        }
        DriverError::TaskAmbiguous { candidates, .. } => {
            let hint = |it: &Candidate| {
                let (task, project) = (&it.task, &it.project);
                let (status, summary) = (&it.status, &it.summary);
                format!("`{task}` of `{project}` is in `{status}`: {summary}")
            };
            return Some(candidates.iter().map(hint).collect());
        }
        DriverError::NoBranch { path, .. } => {
            format!(
                "see which there are with `git -C {} branch`",
                path.display()
            )
        }
        DriverError::TaskDeleted { task } => {
            format!("bring it back with `orange task delete {task} --undo`")
        }
        DriverError::WorkflowUnsafe { workflow, .. } => {
            format!("run `orange workflow check {workflow}` to see how it can go wrong")
        }
        DriverError::StatusUnknown { statuses, .. } => {
            let names: Vec<&str> = statuses.iter().map(Status::as_str).collect();
            format!("the statuses are `{}`", names.join("`, `"))
        }
        DriverError::NoOutput { task, .. } => {
            format!("see which agents it has with `orange task show {task}`")
        }
        _ => return None,
    };
    Some(vec![hint])
}

fn registered(names: &[ProjectName]) -> String {
    if names.is_empty() {
        return "run `orange project add` in the repository first".to_owned();
    }
    let names: Vec<&str> = names.iter().map(ProjectName::as_str).collect();
    format!(
        "the projects are `{}`; name one with `--project`, or run `orange project add` in another repository",
        names.join("`, `")
    )
}

/// The data behind the message.
pub fn details(error: &DriverError) -> Value {
    match error {
        DriverError::Projects(ProjectsError::Unknown { name, names }) => {
            json!({ "name": name, "names": names })
        }
        DriverError::ProjectUnclear { names, .. } => json!({ "names": names }),
        DriverError::TaskAmbiguous { named, candidates } => {
            json!({ "named": named, "candidates": candidates })
        }
        DriverError::WorkflowMissing { name, names } => json!({ "name": name, "names": names }),
        DriverError::NotRestored {
            task,
            number,
            paths,
            ..
        } => {
            json!({ "task": task, "number": number, "paths": paths })
        }
        DriverError::NoRescue { task, number } => json!({ "task": task, "number": number }),
        DriverError::FactUnknown { task, what, reason } => {
            json!({ "task": task, "what": what, "reason": reason })
        }
        DriverError::GateRunning { task, command } => {
            json!({ "task": task, "command": command })
        }
        DriverError::OtherTask { role, own, asked } => {
            json!({ "role": role, "own": own, "asked": asked })
        }
        DriverError::DatabaseThere { path } => json!({ "path": path.to_string_lossy() }),
        DriverError::TaskDeleted { task } => json!({ "task": task }),
        DriverError::ProjectInUse {
            tasks, workspaces, ..
        } => json!({ "tasks": tasks, "workspaces": workspaces }),
        DriverError::StatusUnknown {
            task,
            status,
            statuses,
        } => json!({ "task": task, "status": status, "statuses": statuses }),
        DriverError::WorkflowUnsafe {
            task,
            workflow,
            problem,
        } => json!({ "task": task, "workflow": workflow, "problem": problem }),
        DriverError::DocumentUnknown { task, reason }
        | DriverError::NoOutput { task, reason }
        | DriverError::NobodyThere { task, reason, .. } => {
            json!({ "task": task, "reason": reason })
        }
        _ => json!({}),
    }
}
