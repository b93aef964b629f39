//! Registers the MCP server with the agents that can use one.

use std::path::PathBuf;

use orange_config::Harness;
use orange_effects::mcp_entry::{self, EntryOutcome, McpEntryError};
use orange_engine::names::HarnessName;

use crate::DriverError;
use crate::admin::Admin;
use crate::admin::skills::{InstallReport, SkillAction, SkillOutcome};

impl Admin {
    /// Adds the server to the settings of one agent, or removes it. Without a name, adds it for
    /// every installed agent, or removes it for every known agent. An agent whose definition names
    /// no file for its servers is left out.
    pub fn update_mcp_servers(
        &self,
        name: Option<&HarnessName>,
        action: SkillAction,
    ) -> Result<Vec<InstallReport>, DriverError> {
        self.callers.require_user("register an MCP server")?;
        let harnesses = self.selected_harnesses(name, action)?;
        let reports = harnesses.iter().filter_map(|harness| {
            let (path, settings) = harness.mcp(&self.context.environment)?;
            let result = match action {
                SkillAction::Install => mcp_entry::install(&path, settings),
                SkillAction::Remove => mcp_entry::remove(&path, settings),
            };
            Some(report(&harness.name, path, action, &result))
        });
        Ok(reports.collect())
    }

    /// The files with an entry that orange wrote.
    pub(super) fn own_mcp_servers(&self) -> Result<Vec<PathBuf>, DriverError> {
        let harnesses = self.selected_harnesses(None, SkillAction::Remove)?;
        let files = harnesses.iter().filter_map(|harness| {
            let (path, settings) = harness.mcp(&self.context.environment)?;
            let is_own = mcp_entry::is_installed(&path, settings).unwrap_or(false);
            is_own.then_some(path)
        });
        Ok(files.collect())
    }

    fn selected_harnesses(
        &self,
        name: Option<&HarnessName>,
        action: SkillAction,
    ) -> Result<Vec<Harness>, DriverError> {
        let harnesses = self.context.harnesses()?;
        if let Some(name) = name {
            return Ok(vec![harnesses.require(name)?.clone()]);
        }
        let path = self.context.environment.variable("PATH");
        let is_selected = |it: &&Harness| action == SkillAction::Remove || it.locate(path).is_ok();
        let usable = harnesses.all().filter_map(|(_, it)| it.ok());
        Ok(usable.filter(is_selected).cloned().collect())
    }
}

fn report(
    harness: &HarnessName,
    path: PathBuf,
    action: SkillAction,
    result: &Result<EntryOutcome, McpEntryError>,
) -> InstallReport {
    let outcome = match result {
        Ok(EntryOutcome::Written) => SkillOutcome::Written,
        Ok(EntryOutcome::Unchanged) => SkillOutcome::Unchanged,
        Ok(EntryOutcome::Removed) => SkillOutcome::Removed,
        Ok(EntryOutcome::Absent) => SkillOutcome::Absent,
        Ok(EntryOutcome::Kept) => SkillOutcome::Kept,
        Err(_) => SkillOutcome::Failed,
    };
    let again = match action {
        SkillAction::Install => format!(", then run `orange install --harness {harness}`"),
        SkillAction::Remove => String::new(),
    };
    let file = path.display();
    let (reason, fix) = match result {
        Ok(EntryOutcome::Kept) => {
            let reason = "its server `orange` was not written by orange, or changed since";
            let fix = format!("keep it, or remove it from `{file}`{again}");
            (Some(reason.to_owned()), Some(fix))
        }
        Err(error) => {
            let fix = match error {
                McpEntryError::DanglingLink => format!("remove the link `{file}`{again}"),
                McpEntryError::Changing => format!("quit {harness}{again}"),
                McpEntryError::Text(_) | McpEntryError::NotText => {
                    format!("correct `{file}`, which was not changed{again}")
                }
                McpEntryError::System { .. }
                | McpEntryError::NotRegular
                | McpEntryError::TooLarge => {
                    format!("run `ls -ld {file}`: it must be a file that you may write{again}")
                }
            };
            (Some(error.to_string()), Some(fix))
        }
        Ok(_) => (None, None),
    };
    InstallReport {
        harness: harness.clone(),
        path,
        outcome,
        reason,
        fix,
    }
}
