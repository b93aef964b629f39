//! `orange chat`: an agent in the terminal, for no task.
//!
//! Its processes carry a run id without a proof. The id makes them the role `assistant`, which may
//! read everything, create tasks and write to agents. Everything else stays with the user.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use orange_config::{Harness, Level, ORANGE_HOME, ORANGE_ROLE, ORANGE_RUN_ID, StartMode, Values};
use orange_effects::command::{CommandExit, Invocation};
use orange_effects::private_file;
use orange_engine::names::HarnessName;
use orange_engine::role::Role;

use crate::DriverError;
use crate::admin::Admin;

/// The instructions of the assistant, before those of the skill.
const INSTRUCTIONS: &str = "\
You are the assistant of `orange chat`. The user talks to you about the tasks that orange runs.

- `orange task list`, `show`, `why`, `diff`, `logs`, `history`, `orange attention` and `orange \
report` show everything. Explain what you find in plain words.
- Create tasks with `orange task create`, and write to their agents with `orange task tell`.
- Merging, cancelling, approving, allowing, budgets and settings are the user's. If they ask you \
for one of these, give them the command to run. `orange` refuses it from you and names the command.
- You have no worktree. Change no file of the repository: create a task for that.

Begin with `orange attention`, and tell the user in a few lines what needs them. Then wait.

Here is how orange works. Your part is \"Without a TASK.md\".
";

/// Stays above the agent: an agent that replaces its own process without the variables is still
/// the assistant.
const PARENT: &str = r#"trap : INT QUIT; "$@"; exit $?"#;

impl Admin {
    /// Runs an agent in this terminal and in the current directory, until it exits.
    pub fn chat(
        &self,
        harness: Option<HarnessName>,
        model: Option<&str>,
    ) -> Result<CommandExit, DriverError> {
        self.callers.require_user("start a chat")?;
        let harnesses = self.context.harnesses()?;
        let projects = self.context.projects()?;
        let project = self.callers.project_around(&projects)?;
        let settings = self.context.settings(project.as_ref())?;
        let name = harness
            .or(settings.harness)
            .or_else(|| self.context.first_installed(&harnesses));
        let name = name.ok_or_else(|| DriverError::ChatHarnessUnset {
            folder: self.context.home.harnesses(),
        })?;
        let harness = harnesses.require(&name)?;
        if let Some(model) = model {
            harness.require_setting("model", model)?;
        }
        let folder = self.context.home.path().join("chat");
        let run_folder = folder.join("given");
        let prompt_file = folder.join("prompt.md");
        let prompt = format!("{INSTRUCTIONS}\n{}", self.skill_text()?.0);
        write(&prompt_file, &prompt)?;
        for file in &harness.run_files {
            write(&run_folder.join(&file.name), &file.text)?;
        }
        let arguments = harness.arguments(
            StartMode::Interactive,
            Level::Reduced,
            &Values {
                prompt: &prompt,
                prompt_file: &prompt_file,
                run_folder: &run_folder,
                model,
                effort: None,
                session_id: None,
                resumed_id: None,
                schema: None,
                schema_file: None,
            },
        )?;
        let program = harness.locate(self.context.environment.variable("PATH"))?;
        let mut chat = Invocation::new("/bin/sh", self.chat_variables(harness, &run_folder))
            .arguments(["-c", PARENT, "sh"])
            .arguments([program])
            .arguments(arguments);
        if let Some(directory) = self.context.directory() {
            chat = chat.directory(directory);
        }
        Ok(chat.run_in_terminal()?)
    }

    /// The user's own variables, with those of the harness and the mark of the assistant.
    fn chat_variables(&self, harness: &Harness, run_folder: &Path) -> BTreeMap<OsString, OsString> {
        let environment = self.context.with_orange_on_path();
        let mut variables = environment.variables().clone();
        let run_folder = run_folder.to_string_lossy();
        for (name, value) in harness.variables(Level::Reduced) {
            let value = value.replace("{run_folder}", &run_folder);
            variables.insert(name.into(), value.into());
        }
        let run = self.context.assistant_run();
        let role = Role::assistant();
        variables.insert(ORANGE_RUN_ID.into(), run.as_str().into());
        variables.insert(ORANGE_ROLE.into(), role.as_str().into());
        variables.insert(ORANGE_HOME.into(), self.context.home.path().into());
        variables
    }
}

fn write(path: &Path, text: &str) -> Result<(), DriverError> {
    private_file::write_unsynced(path, text.as_bytes()).map_err(|error| DriverError::File {
        attempt: "write",
        path: path.to_owned(),
        reason: error.to_string(),
    })
}
