//! What an error of the driver means for who asked.

use orange_config::{HomeError, ProjectsError, SettingsError};
use orange_driver::{DriverError, StoreProblem};
use serde_json::{Value, json};

use crate::cli::exit::Exit;

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
        DriverError::Settings(error) => match error {
            SettingsError::Unreadable { .. } | SettingsError::Invalid { .. } => "config-invalid",
            SettingsError::Variable { .. } => "variable-invalid",
        },
        DriverError::Harness(_) => "harness-unusable",
        DriverError::HarnessUnset { .. } => "harness-unset",
        DriverError::NoSkills(_) => "no-skills",
        DriverError::ParentEnded { .. } => "parent-ended",
        DriverError::WaitsForItself { .. } => "waits-for-itself",
        DriverError::Tmux(_) | DriverError::Command(_) | DriverError::Process(_) => {
            "program-failed"
        }
        DriverError::NoRescue { .. } => "rescue-not-found",
        DriverError::NotRestored { .. } => "not-restored",
        DriverError::NameInvalid { .. } => "name-invalid",
        DriverError::PoolTooSmall { .. } => "pool-too-small",
        DriverError::PoolFull { .. } => "pool-full",
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
        DriverError::CallerUnknown(_) => "caller-unknown",
        DriverError::OtherTask { .. } => "other-task",
        DriverError::InsideEffect { .. } => "inside-effect",
        DriverError::TaskUnclear => "task-unclear",
        DriverError::TaskAmbiguous { .. } => "task-ambiguous",
        DriverError::CommitUnknown(_) => "commit-not-found",
        DriverError::TaskDeleted { .. } => "task-deleted",
        DriverError::WorkflowUnsafe { .. } => "workflow-unsafe",
        DriverError::NoOutput { .. } => "no-output",
        DriverError::StatusUnknown { .. } => "status-unknown",
        DriverError::ForAPerson(_) => "for-a-person",
        DriverError::DatabaseThere { .. } => "database-there",
        DriverError::NobodyThere { .. } => "nobody-there",
        DriverError::Supervised { .. } => "supervised",
        DriverError::NotSupervising { .. } => "not-supervising",
    }
}

/// How the command ends.
pub fn exit(error: &DriverError) -> Exit {
    match code(error) {
        "home-unknown"
        | "home-not-absolute"
        | "project-name-invalid"
        | "harness-unset"
        | "variable-invalid"
        | "project-unclear"
        | "name-invalid"
        | "pool-too-small"
        | "text-has-nul"
        | "task-ambiguous"
        | "status-unknown"
        | "task-unclear" => Exit::Usage,
        "task-not-found" | "store-missing" | "project-not-found" | "workflow-not-found"
        | "nobody-there" | "no-skills" | "rescue-not-found" | "no-output" | "branch-not-found"
        | "commit-not-found" => Exit::NotFound,
        "store-busy" | "task-contended" | "workspace-busy" | "gate-running" | "supervised" => {
            Exit::Busy
        }
        "program-failed" | "git-failed" | "not-supervising" => Exit::OutsideFailed,
        "store-failed" | "system-failed" => Exit::Unexpected,
        _ => Exit::Refused,
    }
}

/// The data behind the message.
pub fn details(error: &DriverError) -> Value {
    match error {
        DriverError::Projects(ProjectsError::Unknown { name, names }) => {
            json!({ "name": name, "names": names })
        }
        DriverError::ProjectUnclear { names, .. } => json!({ "names": names }),
        DriverError::ParentEnded { task, status } => json!({ "task": task, "status": status }),
        DriverError::WaitsForItself { parent, way } => json!({ "parent": parent, "way": way }),
        DriverError::Settings(error) => match error {
            SettingsError::Unreadable { path, reason } => {
                json!({ "path": path.to_string_lossy(), "reason": reason })
            }
            SettingsError::Invalid { path, problems } => {
                json!({ "path": path.to_string_lossy(), "problems": problems })
            }
            SettingsError::Variable {
                variable, value, ..
            } => {
                json!({ "variable": variable, "value": value })
            }
        },
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
        DriverError::Supervised { pid } => json!({ "pid": pid }),
        DriverError::NotSupervising { pid } => json!({ "pid": pid }),
        DriverError::DatabaseThere { path } => json!({ "path": path.to_string_lossy() }),
        DriverError::CommitUnknown(commit) => json!({ "commit": commit }),
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
            workflow,
            errors,
            problems,
        } => json!({ "workflow": workflow, "errors": errors, "problems": problems }),
        DriverError::DocumentUnknown { task, reason }
        | DriverError::NoOutput { task, reason }
        | DriverError::NobodyThere { task, reason, .. } => {
            json!({ "task": task, "reason": reason })
        }
        _ => json!({}),
    }
}
