//! What to do about an error of the driver.

use orange_config::{ProjectsError, SettingsError};
use orange_driver::{Candidate, DriverError, Way};
use orange_engine::names::{ProjectName, Status, TaskId};

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
        DriverError::Projects(ProjectsError::Exists { found, .. }) => format!(
            "`orange project show {}` tells about it; for another repository choose another name \
             with `orange project add --name NAME`",
            found.name
        ),
        DriverError::Projects(ProjectsError::Invalid { path, .. }) => {
            format!("correct `{}`; nothing was changed", path.display())
        }
        DriverError::Settings(error) => return settings_hints(error),
        DriverError::ParentEnded { .. } => {
            "create it on its own: `orange task create` without `--parent`".to_owned()
        }
        DriverError::WaitsForItself { .. } => {
            "leave out `--after`, or create it without `--parent`, outside of that task".to_owned()
        }
        DriverError::NoRepository { .. } => {
            "run `git init` and make a first commit, then run `orange project add`".to_owned()
        }
        DriverError::HarnessUnset { project, folder } => format!(
            "name one with `orange task create --harness NAME`, or for good with `orange project \
             update {project} --harness NAME`, or for all projects with `harness = \"NAME\"` in \
             config.toml; harnesses are defined in `{}/NAME.toml`",
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
        DriverError::CallerUnknown(_) => {
            "agents: call `orange` with the variables you were started with; you: run it in your own \
             terminal, where no `ORANGE_RUN_ID` is set"
                .to_owned()
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
        DriverError::Harness(error) => error.hint(),
        DriverError::Supervised { .. } => {
            "end the other one with `orange serve --stop`; agents go on".to_owned()
        }
        _ => return Vec::new(),
    };
    vec![hint]
}

fn settings_hints(error: &SettingsError) -> Vec<String> {
    match error {
        SettingsError::Unreadable { path, .. } => {
            let path = path.display();
            vec![format!(
                "run `ls -l {path}`: it must be a file you may read"
            )]
        }
        SettingsError::Invalid { problems, .. } => {
            let meant = problems.iter().filter_map(|it| {
                let nearest = it.nearest.as_ref()?;
                Some(format!("line {}: did you mean `{nearest}`?", it.line))
            });
            let last = "correct the file, then run `orange config show`; nothing was changed";
            meant.chain([last.to_owned()]).collect()
        }
        SettingsError::Variable { variable, .. } => {
            vec![format!("run `unset {variable}`, or set it to one of these")]
        }
    }
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
        DriverError::NoSkills(Some(name)) => format!(
            "say it in the definition of `{name}`, such as `skills = \"~/.{name}/skills\"`; \
             `orange harness list` shows every harness"
        ),
        DriverError::NoSkills(None) => {
            "install one, or name one that you will install: `orange install --harness NAME`; \
             `orange harness list` shows every harness"
                .to_owned()
        }
        DriverError::NoBranch { path, .. } => {
            format!(
                "see which there are with `git -C {} branch`",
                path.display()
            )
        }
        DriverError::CommitUnknown(_) => {
            String::from("see the branch's commits with `git log` in the task's worktree")
        }
        DriverError::TaskDeleted { task } => {
            format!("bring it back with `orange task delete {task} --undo`")
        }
        DriverError::WorkflowUnsafe { workflow, .. } => {
            format!(
                "run `orange workflow check {workflow}` to see every error and how it comes about"
            )
        }
        DriverError::StatusUnknown { statuses, .. } => {
            let names: Vec<&str> = statuses.iter().map(Status::as_str).collect();
            format!("the statuses are `{}`", names.join("`, `"))
        }
        DriverError::NoOutput { task, .. } => {
            format!("see which agents it has with `orange task show {task}`")
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
        DriverError::PoolFull {
            task,
            project,
            holders,
            ..
        } => {
            let other = holders
                .first()
                .map_or("TASK", |(_, holder)| holder.as_str());
            format!(
                "finish one of them, or cancel it with `orange task cancel {other}`, then run \
                 `orange task spawn {task}`; `pool_size` of `{project}` in projects.json says how \
                 many there are, and `when_full` whether a start waits"
            )
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
