//! Reports for errors of the configuration and the store.

use orange_config::{HomeError, JobsError, ProjectsError, SettingsError};
use orange_engine::names::ProjectName;
use orange_store::StoreError;
use serde_json::json;

use super::policy::pinned_policy;
use super::report::{Kind, Report};
use crate::fleet::FleetError;

pub(super) fn home(error: &HomeError) -> Report {
    let report = match error {
        HomeError::Unknown => Report::new(Kind::Usage, "home-unknown"),
        HomeError::Relative(path) => Report::new(Kind::Usage, "home-not-absolute")
            .details(json!({ "path": path.to_string_lossy() })),
    };
    report.hint(
        "set `ORANGE_HOME` to an absolute path, for example `export ORANGE_HOME=\"$PWD/orange\"`",
    )
}

pub(super) fn fleet(error: &FleetError) -> Report {
    let report = match error {
        FleetError::NotJoined => Report::new(Kind::Refused, "home-not-joined"),
        FleetError::NotRebuilt => Report::new(Kind::Refused, "home-joined"),
        // A call or a removal that fails is logged and repeated.
        FleetError::Call { .. }
        | FleetError::NotRemoved { .. }
        | FleetError::Answer { .. }
        | FleetError::Token { .. }
        | FleetError::AlreadyRunning { .. }
        | FleetError::Replaced { .. }
        | FleetError::OtherRunner { .. }
        | FleetError::NotPrivate(_) => Report::new(Kind::Refused, "runner-unusable"),
    };
    report.hint(error.hint())
}

pub(super) fn store(error: &StoreError) -> Report {
    let report = match error {
        StoreError::UnknownTask { .. } => Report::new(Kind::NotFound, "task-not-found"),
        StoreError::UnknownWorkspace { .. } => Report::new(Kind::NotFound, "workspace-not-found"),
        StoreError::BranchTaken { .. } => Report::new(Kind::Refused, "branch-taken"),
        StoreError::IssueTaken { .. } | StoreError::IssueIgnored { .. } => {
            Report::new(Kind::Refused, "issue-taken")
        }
        StoreError::Busy { .. }
        | StoreError::Replaced { .. }
        | StoreError::JobInstantTaken(_)
        | StoreError::ChatMessageTaken(_)
        | StoreError::Arriving { .. }
        | StoreError::DelegationTaken => Report::new(Kind::Busy, "store-busy"),
        StoreError::NotHeld { .. } => Report::new(Kind::Refused, "task-not-held"),
        StoreError::Joined { .. }
        | StoreError::CannotJoin { .. }
        | StoreError::NotGivenBack { .. } => Report::new(Kind::Refused, "home-joined"),
        StoreError::NotJoined { .. } => Report::new(Kind::Refused, "home-not-joined"),
        StoreError::Missing { .. } => Report::new(Kind::NotFound, "store-missing"),
        StoreError::DatabaseLost { .. }
        | StoreError::Newer { .. }
        | StoreError::NotOurs { .. }
        | StoreError::UnsafeFileSystem { .. }
        | StoreError::BadName { .. }
        | StoreError::PathOccupied { .. }
        | StoreError::HistoryAhead { .. }
        | StoreError::HistoryDiffers { .. }
        | StoreError::NewerEvents { .. }
        | StoreError::AnotherHistory { .. }
        | StoreError::StillBound { .. }
        | StoreError::BadLog { .. }
        | StoreError::OtherCopy { .. }
        | StoreError::MembershipUnreadable { .. }
        | StoreError::FileChanging { .. } => Report::new(Kind::Refused, "store-unusable"),
        error if error.is_corruption() => Report::new(Kind::Refused, "store-unusable"),
        _ => Report::new(Kind::Unexpected, "store-failed"),
    };
    Report {
        hints: error.hints(),
        ..report
    }
}

pub(super) fn jobs(error: &JobsError) -> Report {
    match error {
        JobsError::Unknown { name, names } => Report::new(Kind::NotFound, "job-not-found")
            .hint("run `orange job list` to see the jobs")
            .details(json!({ "name": name, "names": names })),
        JobsError::Exists(name) => Report::new(Kind::Refused, "job-exists").hint(format!(
            "choose another name with `--name NAME`, or remove it with `orange job remove {name}`"
        )),
        JobsError::NotAJob(_) => Report::new(Kind::Usage, "job-invalid")
            .hint("`orange job add --help` shows what a job needs"),
        JobsError::File { .. } => Report::new(Kind::Refused, "jobs-unreadable"),
        JobsError::Invalid { path, .. } => Report::new(Kind::Refused, "jobs-unreadable").hint(
            format!("correct `{}`; orange has not changed it", path.display()),
        ),
    }
}

pub(super) fn projects(error: &ProjectsError) -> Report {
    match error {
        ProjectsError::Unknown { name, names } => Report::new(Kind::NotFound, "project-not-found")
            .hint("run `orange project list` to see the registered projects")
            .details(json!({ "name": name, "names": names })),
        ProjectsError::NameInvalid(_) => Report::new(Kind::Usage, "project-name-invalid").hint(
            "use letters, digits, `-` and `_`; choose a name with `orange project add --name NAME`",
        ),
        ProjectsError::Exists { found, .. } => {
            Report::new(Kind::Refused, "project-exists").hint(format!(
                "run `orange project show {}` to see it; for another repository, choose another \
                 name with `orange project add --name NAME`",
                found.name
            ))
        }
        ProjectsError::File { .. } => Report::new(Kind::Refused, "projects-unreadable"),
        ProjectsError::Invalid { path, .. } => Report::new(Kind::Refused, "projects-unreadable")
            .hint(format!(
                "correct `{}`; orange has not changed it",
                path.display()
            )),
    }
}

pub(super) fn registered(names: &[ProjectName]) -> String {
    if names.is_empty() {
        return "no project is registered; run `orange project add` in a git repository, or create its first task there with `orange new`".to_owned();
    }
    let names: Vec<&str> = names.iter().map(ProjectName::as_str).collect();
    format!(
        "the projects are `{}`; name one, with `--project NAME` or as the argument, or run \
         `orange project add` in another repository",
        names.join("`, `")
    )
}

pub(super) fn settings(error: &SettingsError) -> Report {
    match error {
        SettingsError::Unreadable { path, reason } => Report::new(Kind::Refused, "config-invalid")
            .hint(format!(
                "run `ls -l {}`: it must be a file you may read",
                path.display()
            ))
            .details(json!({ "path": path.to_string_lossy(), "reason": reason })),
        SettingsError::Invalid { path, problems } => {
            let suggestions = problems.iter().filter_map(|it| {
                let nearest = it.nearest.as_ref()?;
                Some(format!("line {}: did you mean `{nearest}`?", it.line))
            });
            Report {
                hints: suggestions.collect(),
                ..Report::new(Kind::Refused, "config-invalid")
            }
            .hint("nothing was changed; correct the file (`orange config show` checks it), then run the \
                   command again")
            .details(json!({ "path": path.to_string_lossy(), "problems": problems }))
        }
        SettingsError::Policy(error) => pinned_policy(error),
        SettingsError::Variable {
            variable, value, ..
        } => Report::new(Kind::Usage, "variable-invalid")
            .hint(format!(
                "run `unset {variable}`, or set it to a valid value"
            ))
            .details(json!({ "variable": variable, "value": value })),
    }
}
