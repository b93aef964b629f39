//! What each error means to its reader: kind, code, hints, details.

use std::path::Path;

use orange_config::HarnessError;
use orange_effects::git::GitError;
use orange_engine::names::{Status, TaskId};
use serde_json::{Value, json};

use super::caller::{other_task, task_changed};
use super::lower::{fleet, home, jobs, projects, registered, settings, store};
use super::policy::{invalid_policy, missing_policy, other_policy, pinned_policy};
use super::sandbox::{
    no_sandbox, no_sandboxed_run, not_started_inside, port_not_opened, shared_network,
};
use super::web::{device_exists, devices_full, devices_untrusted, no_device};
use super::{BranchProblem, Candidate, DriverError, NextStep, RepositoryProblem};

/// The kind of error, which alone determines the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The command line or an `ORANGE_*` variable is invalid.
    Usage,
    /// The named thing does not exist.
    NotFound,
    /// The request was understood, but something prevents it.
    Refused,
    /// Running the command again helps.
    Busy,
    /// A program that orange called has failed.
    ExternalFailed,
    /// Something that should not happen.
    Unexpected,
}

/// Everything about an error except its message.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub kind: Kind,
    /// The stable name that scripts match on.
    pub code: &'static str,
    /// What to do about it; each hint stands alone.
    pub hints: Vec<String>,
    /// The data behind the message.
    pub details: Value,
}

impl Report {
    pub(super) fn new(kind: Kind, code: &'static str) -> Report {
        Report {
            kind,
            code,
            hints: Vec::new(),
            details: json!({}),
        }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Report {
        self.hints.push(hint.into());
        self
    }

    pub(super) fn details(self, details: Value) -> Report {
        Report { details, ..self }
    }
}

impl DriverError {
    /// Everything about this error except its message.
    #[expect(
        clippy::too_many_lines,
        reason = "one arm per error says everything about it"
    )]
    pub fn report(&self) -> Report {
        match self {
            DriverError::Fleet(error) => fleet(error),
            DriverError::Home(error) => home(error),
            DriverError::Catalog(error) => {
                let path = error.path.display();
                Report::new(Kind::Refused, "home-unreadable")
                    .hint(format!(
                        "run `ls -ld {path}`: it must be a directory that you can read"
                    ))
                    .details(
                        json!({ "path": error.path.to_string_lossy(), "reason": error.reason }),
                    )
            }
            DriverError::Store(error) => store(error),
            DriverError::Projects(error) => projects(error),
            DriverError::Jobs(error) => jobs(error),
            DriverError::Settings(error) => settings(error),
            DriverError::PinnedPolicy(error) => pinned_policy(error),
            DriverError::PolicyMissing { project, branch } => missing_policy(project, branch),
            DriverError::PolicyInvalid {
                project,
                commit,
                problems,
            } => invalid_policy(project, commit, problems),
            DriverError::PolicyDiffers { project, found } => other_policy(project, found),
            DriverError::Harness(error @ HarnessError::NotFound { .. }) => {
                Report::new(Kind::NotFound, "harness-not-found")
                    .hint(error.hint())
                    .hint(
                        "to choose the agent of a task, use `--harness NAME`; for all tasks of the \
                         project, `orange project update --harness NAME`",
                    )
            }
            DriverError::Harness(error) => {
                Report::new(Kind::Refused, "harness-unusable").hint(error.hint())
            }
            DriverError::HarnessUnset { folder, .. } | DriverError::ChatHarnessUnset { folder } => Report::new(Kind::Usage, "harness-unset")
                .hint("install claude, codex, gemini, opencode or pi")
                .hint(format!(
                    "to use another agent, define it in `{}/NAME.toml` and run the command \
                         again with `--harness NAME`",
                    folder.display()
                ))
                .hint("to use it in all projects, set `harness = \"NAME\"` in config.toml"),
            DriverError::NoSkills(named) => {
                let first = match named {
                    Some(name) => format!(
                        "set the directory in the definition of `{name}`, for example `skills = \
                         \"~/.{name}/skills\"`"
                    ),
                    None => String::from(
                        "install such an agent, or name one that you will install: `orange install \
                         --harness NAME`",
                    ),
                };
                Report::new(Kind::NotFound, "no-skills").hint(format!(
                    "{first}; `orange harness list` shows every harness"
                ))
            }
            DriverError::Tmux(_) | DriverError::Command(_) | DriverError::Process(_) => {
                Report::new(Kind::ExternalFailed, "program-failed")
            }
            DriverError::Git(GitError::WorktreeMismatch { path, .. }) if !path.exists() => {
                Report::new(Kind::ExternalFailed, "git-failed").hint(
                    "a task whose worktree is gone gets a new one: `orange task cancel TASK`, then \
                     `orange task reopen TASK`",
                )
            }
            DriverError::Git(_) => Report::new(Kind::ExternalFailed, "git-failed"),
            DriverError::NoRandomness(_) | DriverError::File { .. } => {
                Report::new(Kind::Unexpected, "system-failed")
            }
            DriverError::ReportNotWritten(error) => {
                Report::new(Kind::Refused, "report-not-written")
                    .hint("choose another file, or remove that one yourself")
                    .details(json!({ "path": error.path.to_string_lossy() }))
            }
            DriverError::AlreadySupervised { pid } => Report::new(Kind::Busy, "already-supervised")
                .hint("stop it with `orange serve --stop`; agents keep running")
                .details(json!({ "pid": pid })),
            DriverError::SupervisorNotStarted { pid } => {
                Report::new(Kind::ExternalFailed, "supervisor-not-started")
                    .details(json!({ "pid": pid }))
            }
            DriverError::DatabaseExists { path } => Report::new(Kind::Refused, "database-exists")
                .hint(
                    "if it is damaged, run `orange rebuild --move-aside`, which keeps it under \
                     another name",
                )
                .details(json!({ "path": path.to_string_lossy() })),

            DriverError::NameInvalid { hint, .. } => {
                Report::new(Kind::Usage, "name-invalid").hint(*hint)
            }
            DriverError::BranchUnusable { branch, problem } => {
                Report::new(Kind::Refused, "branch-unusable")
                    .hint(match problem {
                        BranchProblem::Default | BranchProblem::Clashes(_) => {
                            String::from("choose another branch name")
                        }
                        BranchProblem::CheckedOut(path) => format!(
                            "choose another branch name, or leave the branch with `git -C '{}' \
                             switch --detach`",
                            path.display()
                        ),
                    })
                    .details(json!({ "branch": branch }))
            }
            DriverError::HasNul(_) => Report::new(Kind::Usage, "text-has-nul"),
            DriverError::NoNote(number) => Report::new(Kind::NotFound, "note-not-found")
                .hint("run `orange note list --all` to list the notes")
                .details(json!({ "number": number })),
            DriverError::NoteInvalid(_) => Report::new(Kind::Usage, "note-invalid")
                .hint("write one short sentence; `orange note list` shows the notes that wait"),
            DriverError::NoRescue { task, number } => {
                Report::new(Kind::NotFound, "rescue-not-found")
                    .hint(format!(
                        "run `orange task restore {task}` to list its saved work"
                    ))
                    .details(json!({ "task": task, "number": number }))
            }
            DriverError::NotRestored {
                task,
                number,
                paths,
                ..
            } => Report::new(Kind::Refused, "not-restored")
                .hint(format!(
                    "restore it elsewhere: `orange task restore {task} {number} --branch \
                     NAME`, or `--directory DIRECTORY`"
                ))
                .details(json!({ "task": task, "number": number, "paths": paths })),
            DriverError::PoolTooSmall { project, .. } => Report::new(Kind::Usage, "pool-too-small")
                .hint(format!(
                    "run `orange project update {project} --pool-size COUNT`, or request fewer"
                )),
            DriverError::PoolFull {
                task,
                project,
                holders,
                ..
            } => {
                let other = holders.first().map_or("TASK", |(_, task)| task.as_str());
                Report::new(Kind::Refused, "pool-full")
                    .hint(format!(
                        "finish one of these tasks, or cancel it with `orange task cancel \
                         {other}`, then run `orange task spawn {task}`"
                    ))
                    .hint(format!(
                        "for more workspaces, run `orange project update {project} --pool-size \
                         COUNT`"
                    ))
                    .hint(format!(
                        "to let starts wait for a free workspace, set `\"when_full\": \"queue\"` \
                         for `{project}` in projects.json"
                    ))
            }
            DriverError::NoForge { project } => Report::new(Kind::Refused, "no-forge")
                .hint(format!(
                    "set `forge_repository` of `{project}` in `projects.json` to \
                     `github.com/OWNER/NAME`, then check with `orange forge status`"
                ))
                .details(json!({ "project": project })),
            DriverError::IssueUnusable { number, reason } => {
                Report::new(Kind::Refused, "issue-unusable")
                    .hint("check the connection with `orange forge status`, then try again")
                    .details(json!({ "number": number, "reason": reason }))
            }
            DriverError::IssuesUnread { project, reason } => {
                Report::new(Kind::Refused, "issues-unread")
                    .hint("check the connection with `orange forge status`, then try again")
                    .details(json!({ "project": project, "reason": reason }))
            }
            DriverError::PullRequestTaken { number, task } => {
                Report::new(Kind::Refused, "pull-request-taken")
                    .hint(format!("`orange task show {task}` shows how far it is"))
                    .hint(format!(
                        "to begin again, run `orange task cancel {task}` first"
                    ))
                    .details(json!({ "number": number, "task": task }))
            }
            DriverError::PullRequestUnusable { number, .. } => {
                Report::new(Kind::Refused, "pull-request-unusable")
                    .hint("`orange forge status` shows the repository and what the token allows")
                    .details(json!({ "number": number }))
            }
            DriverError::PullRequestSettings { number, files } => {
                Report::new(Kind::Refused, "pull-request-settings")
                    .hint(format!(
                        "a reviewer would obey them; read them on GitHub, then run `orange new \
                         --pr {number} --trust`"
                    ))
                    .details(json!({ "number": number, "files": files }))
            }
            DriverError::NoReviewEntry {
                number,
                workflow,
                names,
            } => {
                let report = Report::new(Kind::Refused, "no-review-entry")
                    .details(json!({ "number": number, "workflow": workflow, "names": names }));
                match names.first() {
                    Some(name) => {
                        report.hint(format!("run `orange new --pr {number} --workflow {name}`"))
                    }
                    None => report.hint("`orange workflow list` shows the workflows"),
                }
            }
            DriverError::WorkspaceBusy(_) => {
                Report::new(Kind::Busy, "workspace-busy").hint("run the command again")
            }
            DriverError::TaskBusy { task } => Report::new(Kind::Busy, "task-busy")
                .hint(format!(
                    "wait until it is done (`orange task show {task}` shows how far it is), then run \
                     `orange uninstall` again"
                ))
                .details(json!({ "task": task })),
            DriverError::WorkspaceInUse { workspace, task } => {
                Report::new(Kind::Refused, "workspace-in-use")
                    .hint(format!(
                        "finish the task, or cancel it with `orange task cancel {task}`, which \
                         saves its work"
                    ))
                    .details(json!({ "workspace": workspace, "task": task }))
            }
            DriverError::WorkspaceNotRemoved {
                workspace,
                path,
                reason,
            } => Report::new(Kind::Refused, "workspace-not-removed")
                .hint(format!(
                    "save what you need from `{0}` and clean it (`git -C {0} status` lists what is \
                     in it), then run the command again",
                    path.display()
                ))
                .details(json!({
                    "workspace": workspace,
                    "path": path.to_string_lossy(),
                    "reason": reason,
                })),

            DriverError::ProjectUnclear { names, .. } => {
                Report::new(Kind::Usage, "project-unclear")
                    .hint(registered(names))
                    .details(json!({ "names": names }))
            }
            DriverError::NoRepository { path, problem } => {
                Report::new(Kind::Refused, "project-unusable").hint(repository_hint(path, *problem))
            }
            DriverError::RepositoryMissing { project, path } => {
                Report::new(Kind::NotFound, "repository-missing")
                    .details(json!({ "project": project, "path": path.to_string_lossy() }))
            }
            DriverError::NotThisRepository { project, path, .. } => {
                Report::new(Kind::Refused, "other-repository")
                    .hint(
                        "name the directory that the repository was moved to; register another \
                         repository with `orange project add`",
                    )
                    .details(json!({ "project": project, "path": path.to_string_lossy() }))
            }
            DriverError::NoBranch { path, .. } => Report::new(Kind::NotFound, "branch-not-found")
                .hint(format!(
                    "list the branches with `git -C {} branch`",
                    path.display()
                )),
            DriverError::ProjectInUse {
                tasks, workspaces, ..
            } => {
                let mut hints: Vec<String> = tasks
                    .iter()
                    .map(|task| {
                        format!(
                            "finish `{task}` first: merge it, or run `orange task cancel {task}`, \
                             which keeps its work"
                        )
                    })
                    .collect();
                if tasks.is_empty() && !workspaces.is_empty() {
                    hints.push(String::from(
                        "run `orange workspace gc`: it releases what finished tasks still hold, \
                         and lists what is left",
                    ));
                }
                Report {
                    hints,
                    ..Report::new(Kind::Refused, "project-in-use")
                        .details(json!({ "tasks": tasks, "workspaces": workspaces }))
                }
            }

            DriverError::WorkflowMissing { name, names } => {
                Report::new(Kind::NotFound, "workflow-not-found")
                    .hint(format!(
                        "the workflows are `{}`; `orange workflow list` describes them",
                        names.join("`, `")
                    ))
                    .details(json!({ "name": name, "names": names }))
            }
            DriverError::WorkflowInvalid { name, .. } => {
                Report::new(Kind::Refused, "workflow-invalid").hint(format!(
                    "run `orange workflow check {name}` to see what is wrong"
                ))
            }
            DriverError::WorkflowUnsafe {
                workflow,
                errors,
                problems,
            } => Report::new(Kind::Refused, "workflow-unsafe")
                .hint(format!(
                    "run `orange workflow check {workflow}` to see every error and how it \
                     happens"
                ))
                .details(json!({ "workflow": workflow, "errors": errors, "problems": problems })),
            DriverError::StatusUnknown {
                task,
                status,
                statuses,
            } => {
                let names: Vec<&str> = statuses.iter().map(Status::as_str).collect();
                Report::new(Kind::NotFound, "status-not-found")
                    .hint(format!("the statuses are `{}`", names.join("`, `")))
                    .details(json!({ "task": task, "status": status, "statuses": statuses }))
            }

            DriverError::NoSuchStatus { status, statuses } => {
                let names: Vec<&str> = statuses.iter().map(Status::as_str).collect();
                Report::new(Kind::NotFound, "status-not-found")
                    .hint(format!("the statuses are `{}`", names.join("`, `")))
                    .details(json!({ "status": status, "statuses": statuses }))
            }

            DriverError::RoleUnknown { task, role, roles } => {
                Report::new(Kind::NotFound, "role-not-found")
                    .hint(format!(
                        "leave out `--role`, or see the agents with `orange task show {task}`"
                    ))
                    .details(json!({ "task": task, "role": role, "roles": roles }))
            }

            DriverError::ParentEnded { task, status } => Report::new(Kind::Refused, "parent-ended")
                .hint("create the task without a parent: `orange task create` without `--parent`")
                .details(json!({ "task": task, "status": status })),
            DriverError::WaitsForItself { parent, cycle } => {
                Report::new(Kind::Refused, "waits-for-itself")
                    .hint("leave out `--after` or `--parent`")
                    .details(json!({ "parent": parent, "cycle": cycle }))
            }
            DriverError::Document(_) => {
                Report::new(Kind::Refused, "task-file-unknown").hint(SAVE_WHOLE)
            }
            DriverError::DocumentUnknown { task, reason } => {
                Report::new(Kind::Refused, "task-file-unknown")
                    .hint(SAVE_WHOLE)
                    .details(json!({ "task": task, "reason": reason }))
            }
            DriverError::NotStarted { task, next_step } => {
                Report::new(Kind::Refused, "not-started")
                    .hint(next_step_hint(task, next_step))
                    .details(json!({ "task": task }))
            }
            DriverError::NoWorktree { task, next_step } => {
                Report::new(Kind::NotFound, "no-worktree")
                    .hint(next_step_hint(task, next_step))
                    .details(json!({ "task": task }))
            }
            DriverError::WorktreeNotReady(task) | DriverError::WorktreeBeingReleased(task) => {
                Report::new(Kind::Busy, "worktree-not-ready")
                    .hint(format!(
                        "run the command again later; `orange task show {task}` shows what is in \
                         progress"
                    ))
                    .details(json!({ "task": task }))
            }
            DriverError::NoMergeFailure { task, .. } => {
                Report::new(Kind::Refused, "no-merge-failure")
                    .hint(format!("merge it with `orange task merge {task}`"))
                    .hint(format!(
                        "or say what should change: `orange task request-changes {task} --message \
                         TEXT`"
                    ))
                    .details(json!({ "task": task }))
            }
            DriverError::FactUnknown { task, what, reason } => {
                Report::new(Kind::Refused, "fact-unknown")
                    .hint(format!(
                        "fix that, then run the command again; `orange task why {task}` shows what \
                         the task needs"
                    ))
                    .details(json!({ "task": task, "what": what, "reason": reason }))
            }
            DriverError::NoSandbox { reason, fix } => no_sandbox(reason, fix),
            DriverError::NotStartedInSandbox { program, .. } => not_started_inside(program),
            DriverError::NoSandboxedRun { task, .. } => no_sandboxed_run(task),
            DriverError::SharedNetwork { task, port } => shared_network(task, *port),
            DriverError::PortNotOpened { .. } => port_not_opened(),
            DriverError::GateRunning { task, command } => Report::new(Kind::Busy, "gate-running")
                .hint("run the same command again later to get the result")
                .details(json!({ "task": task, "command": command })),
            DriverError::Contended { .. } => {
                Report::new(Kind::Busy, "task-contended").hint("run the command again")
            }
            DriverError::TaskUnclear => Report::new(Kind::Usage, "task-unclear")
                .hint("name the task; `orange ls --all --all-statuses` lists every task"),
            DriverError::TaskAmbiguous { name, candidates } => {
                let hint = |it: &Candidate| {
                    let (task, project) = (&it.task, &it.project);
                    let (status, summary) = (&it.status, &it.summary);
                    format!("`{task}` of `{project}` is in `{status}`: {summary}")
                };
                Report {
                    hints: candidates.iter().map(hint).collect(),
                    ..Report::new(Kind::Usage, "task-ambiguous")
                        .details(json!({ "name": name, "candidates": candidates }))
                }
            }
            DriverError::TaskDeleted { task } => Report::new(Kind::Refused, "task-deleted")
                .hint(format!(
                    "restore it with `orange task delete {task} --undo`"
                ))
                .details(json!({ "task": task })),
            DriverError::CommitUnknown(commit) => Report::new(Kind::NotFound, "commit-not-found")
                .hint("list the branch's commits with `git log` in the task's worktree")
                .details(json!({ "commit": commit })),

            DriverError::ProofInvalid(_) => Report::new(Kind::Refused, "proof-invalid")
                .hint("call `orange` with the variables the agent was started with"),
            DriverError::CallerUnknown(_) => Report::new(Kind::Refused, "caller-unknown").hint(
                "agents: call `orange` with the variables you were started with; you: run it in \
                 your own terminal, where no `ORANGE_RUN_ID` is set",
            ),
            DriverError::TaskChanged { .. } => task_changed(self),
            DriverError::NoDevice(_) => no_device(),
            DriverError::DeviceExists(name) => device_exists(name),
            DriverError::DevicesFull { .. } => devices_full(),
            DriverError::DevicesUntrusted { path, reason } => devices_untrusted(path, reason),
            DriverError::OtherTask {
                role,
                own,
                requested,
                is_by_directory,
            } => other_task(role, own, requested, *is_by_directory),
            DriverError::InsideEffect { .. } => Report::new(Kind::Refused, "inside-effect")
                .hint("let the workflow change the task, after this command has exited"),
            DriverError::UserOnly { worktree_of, .. } => Report::new(Kind::Refused, "user-only")
                .hint(match worktree_of {
                    Some(task) => leave_worktree(task),
                    None => String::from("tell the user what you need, and let them run it"),
                }),
            DriverError::RequestUnknown(id) => Report::new(Kind::NotFound, "request-not-found")
                .hint("list what waits for you with `orange attention --all`")
                .details(json!({ "request": id })),
            DriverError::RequestClosed { id, task, outcome } => {
                Report::new(Kind::Refused, "request-closed")
                    .hint(format!(
                        "see what the agent does now with `orange task attach {task}`"
                    ))
                    .details(json!({ "request": id, "task": task, "outcome": outcome }))
            }
            DriverError::NoOutput {
                task,
                reason,
                next_step,
            } => Report::new(Kind::NotFound, "no-output")
                .hint(next_step_hint(task, next_step))
                .details(json!({ "task": task, "reason": reason })),
            DriverError::NoAgent {
                task,
                reason,
                next_step,
            } => Report::new(Kind::NotFound, "no-agent")
                .hint(next_step_hint(task, next_step))
                .details(json!({ "task": task, "reason": reason })),
        }
    }
}

pub(super) fn leave_worktree(task: &TaskId) -> String {
    format!(
        "you are in the worktree of `{task}`, where commands count as the worker's; run the \
         command from another directory"
    )
}

fn repository_hint(path: &Path, problem: RepositoryProblem) -> String {
    let git = format!("git -C {}", path.display());
    match problem {
        RepositoryProblem::NotARepository => format!(
            "run the command in a git repository, or create one with `{git} init` and `{git} \
             commit --allow-empty -m first`"
        ),
        RepositoryProblem::NoCheckout => {
            String::from("run the command in a directory where the repository is checked out")
        }
        RepositoryProblem::NoBranch => {
            format!("run `{git} switch BRANCH`, then run the command again")
        }
        RepositoryProblem::NoCommit => {
            format!("run `{git} commit --allow-empty -m first`, then run the command again")
        }
        RepositoryProblem::BadPath => {
            String::from("rename the directory, then run the command again")
        }
    }
}

fn next_step_hint(task: &TaskId, next_step: &NextStep) -> String {
    match next_step {
        NextStep::Spawn => format!("run `orange task spawn {task}` to start the work"),
        NextStep::Respawn(None) => {
            format!("run `orange task respawn {task}` to start an agent again")
        }
        NextStep::Respawn(Some(role)) => {
            format!("run `orange task respawn {task} --role {role}` to start it again")
        }
        NextStep::Create => {
            String::from("create a new task for this work with `orange new SUMMARY`")
        }
        NextStep::Diff => format!("see its changes with `orange task diff {task}`"),
        NextStep::Inspect => {
            format!("see its status and its agents with `orange task show {task}`")
        }
    }
}

const SAVE_WHOLE: &str = "save TASK.md completely, as UTF-8, then run the command again";
