//! An agent's output, from its open or closed pane.

use std::collections::BTreeSet;
use std::fs;
use std::io;

use orange_config::{LogLevel, reason};
use orange_effects::private_file;
use orange_engine::names::{ProjectName, RunId, TaskId};
use orange_engine::role::Role;
use orange_store::{RunRecord, Store};
use serde::Serialize;
use serde_json::json;

use crate::DriverError;
use crate::agents::Agents;
use crate::agents::attach::{next_step, require_role};
use crate::context::run_location::output_file;
use crate::error::NextStep;

/// The output of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct RunOutput {
    /// The run.
    pub run: RunId,
    /// The role it runs as.
    pub role: Role,
    /// Whether it is running, so that more output may follow.
    pub is_running: bool,
    /// The lines, without colours.
    pub text: String,
}

impl Agents {
    /// The output of the run that is live, else of the latest one; of this role if one is given.
    pub fn logs(&self, task: &TaskId, role: Option<&Role>) -> Result<RunOutput, DriverError> {
        let store = Store::open_read_only(&self.context.home)?;
        let stored = store.require(task)?;
        let current = stored.task.runs.values();
        let live = current.filter(|run| run.state.is_live());
        let live: BTreeSet<&RunId> = live.map(|run| &run.id).collect();
        let runs = store.runs(task)?.into_iter();
        let run = runs
            .filter(|run| role.is_none_or(|role| run.role == *role))
            .max_by_key(|run| (live.contains(&run.id), run.created_at));
        if let Some(run) = run {
            return self.read_output(&store, &run);
        }
        let workflow = crate::steps::pinned_workflow(&stored)?;
        require_role(&workflow, task, role)?;
        let (reason, next_step) = if let Some(role) = role {
            (format!("the task never had a {role}"), NextStep::Inspect)
        } else {
            let next_step = next_step(&workflow, &stored.task.status, None);
            (String::from("the task never had an agent"), next_step)
        };
        Err(DriverError::NoOutput {
            task: task.clone(),
            reason,
            next_step,
        })
    }

    /// The output of one run of a task.
    pub fn logs_of(&self, task: &TaskId, run: &RunId) -> Result<RunOutput, DriverError> {
        let store = Store::open_read_only(&self.context.home)?;
        let runs = store.runs(task)?;
        let found = runs.iter().find(|it| it.id == *run);
        let found = found.ok_or_else(|| DriverError::NoOutput {
            task: task.clone(),
            reason: format!("it has no run `{run}`"),
            next_step: NextStep::Inspect,
        })?;
        self.read_output(&store, found)
    }

    /// Reads the run's pane, or the output that was saved when the pane was closed. Once a headless
    /// run has ended, appends its last message and its error, which the pane does not show.
    fn read_output(&self, store: &Store, run: &RunRecord) -> Result<RunOutput, DriverError> {
        let project = store.require(&run.task)?.task.project;
        let output = |text: String, is_running: bool| RunOutput {
            run: run.id.clone(),
            role: run.role.clone(),
            is_running,
            text: match (!is_running)
                .then(|| self.last_message(&project, run))
                .flatten()
            {
                Some(message) if text.is_empty() => format!("{message}\n"),
                Some(message) => format!("{}\n{message}\n", text.trim_end()),
                None => text,
            },
        };
        if let Some(captured) = self.context.tmux.pane_output(&run.id)? {
            let text = if captured.is_running {
                captured.text
            } else {
                without_death_notice(&captured.text)
            };
            return Ok(output(text, captured.is_running));
        }
        let folder = self
            .context
            .launch_directory(&project, &run.task, &run.id)?;
        let path = output_file(&folder);
        match fs::read(&path) {
            Ok(bytes) => {
                let text = without_death_notice(&String::from_utf8_lossy(&bytes));
                Ok(output(text, false))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let message_only = output(String::new(), false);
                if !message_only.text.is_empty() {
                    return Ok(message_only);
                }
                Err(DriverError::NoOutput {
                    task: run.task.clone(),
                    reason: format!(
                        "the pane of the {} is gone, and its output was not saved",
                        run.role
                    ),
                    next_step: NextStep::Inspect,
                })
            }
            Err(error) => Err(DriverError::File {
                attempt: "read",
                path,
                reason: reason(&error),
            }),
        }
    }

    /// Saves the output of a run that has exited, because its pane is gone when the tmux server
    /// ends. The exit counts even if its output cannot be saved.
    pub(crate) fn save_output(&self, store: &Store, task: &TaskId, run: &RunId) {
        let save = || -> Result<(), DriverError> {
            let Some(captured) = self.context.tmux.pane_output(run)? else {
                return Ok(());
            };
            let project = store.require(task)?.task.project;
            let path = output_file(&self.context.launch_directory(&project, task, run)?);
            private_file::write(&path, captured.text.as_bytes()).map_err(|error| {
                DriverError::File {
                    attempt: "write",
                    path,
                    reason: error.to_string(),
                }
            })
        };
        if let Err(error) = save() {
            let details = json!({ "error": error.to_string(), "run": run });
            self.context
                .log(LogLevel::Warn, task, "output.unsaved", details);
        }
    }

    /// A headless run's last message, and its error.
    fn last_message(&self, project: &ProjectName, run: &RunRecord) -> Option<String> {
        let result = self.result_of(project, run)?;
        let texts = [result.text, result.error].into_iter().flatten();
        let texts: Vec<String> = texts.collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }
}

/// The output of a dead pane without the line that tmux writes at its bottom, and without the empty
/// lines above that.
fn without_death_notice(text: &str) -> String {
    let text = text.trim_end();
    let last = text.lines().next_back().unwrap_or_default();
    let is_notice = last.starts_with("Pane is dead (") && last.ends_with(')');
    let rest = text.strip_suffix(last).filter(|_| is_notice);
    let text = rest.unwrap_or(text).trim_end();
    if text.is_empty() {
        return String::new();
    }
    format!("{text}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notice_of_tmux_is_not_output() {
        let dead = "one\n\ntwo\n\n\nPane is dead (status 7, Tue Nov 17 10:00:00 2026)\n";
        assert_eq!(without_death_notice(dead), "one\n\ntwo\n");
        assert_eq!(without_death_notice("Pane is dead (status 7)\n"), "");
        let quoted = "it says\nPane is dead (x), it seems\n";
        assert_eq!(without_death_notice(quoted), quoted);
    }
}
