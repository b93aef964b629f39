//! Writes the files that start an agent: prompt and run file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use orange_config::{
    Environment, Harness, HarnessError, Home, Level, ORANGE_HOME, ORANGE_RESUMED_ID, ORANGE_ROLE,
    ORANGE_RUN_ID, ORANGE_RUN_PROOF, ORANGE_TASK_ID, StartMode, Values,
};
use orange_engine::language::workflow::Permissions;
use orange_engine::names::{RunId, TaskId};
use orange_engine::role::Role;

use super::file::{RunFile, RunFileError, RunParts};
use super::raw_text::RawText;
use crate::private_file::{self, PrivateFileError};
use crate::process::original_open_file_limit;
use crate::sandbox::{self, Description};

/// The variable with the number of git settings that are passed as variables.
const COUNT: &str = "GIT_CONFIG_COUNT";

/// git settings for agents that review another agent's work: hooks and monitors that the other
/// agent wrote into the repository must not run there. A worker may run its own hooks.
const FOR_REVIEWERS: &[(&str, &str)] =
    &[("core.hooksPath", "/dev/null"), ("core.fsmonitor", "false")];

/// git settings for agents that share the user's repository at the partial level: they cannot write
/// its `packed-refs`, and the other way to rebase would leave git in the middle of a cherry-pick.
const WITHOUT_NAMESPACES: &[(&str, &str)] = &[("rebase.backend", "apply")];

/// Everything needed to start an agent, including its secret.
#[derive(Clone, Copy)]
pub struct Launch<'a> {
    pub run: &'a RunId,
    pub task: &'a TaskId,
    pub role: &'a Role,
    /// The secret that proves the run's identity.
    pub proof: &'a str,
    /// The program and how to start it.
    pub harness: &'a Harness,
    /// Whether the agent stays in its terminal and waits for more input.
    pub start_mode: StartMode,
    /// The file that its output is appended to, if not its pane.
    pub output: Option<&'a Path>,
    pub permissions: Permissions,
    pub prompt: &'a str,
    pub model: Option<&'a str>,
    /// The reasoning effort.
    pub effort: Option<&'a str>,
    /// The conversation it starts.
    pub session_id: Option<&'a str>,
    /// The conversation it resumes.
    pub resumed_id: Option<&'a str>,
    /// The working directory.
    pub directory: &'a Path,
    /// The orange home for its own calls of `orange`.
    pub home: &'a Home,
    /// The environment that its variables come from.
    pub environment: &'a Environment,
    /// Whether it can be frozen; without a sandbox, that costs a process.
    pub freezable: bool,
    /// The sandbox around it, if any.
    pub sandbox: Option<&'a Description>,
}

/// Why the files could not be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// The harness cannot be started like this.
    #[error(transparent)]
    Harness(#[from] HarnessError),
    #[error(transparent)]
    Run(#[from] RunFileError),
    #[error(transparent)]
    Prompt(#[from] PrivateFileError),
}

/// The prompt and the folder of the harness's other files, in the folder of a start: what the agent
/// reads there.
pub fn given_files(folder: &Path) -> [PathBuf; 2] {
    [folder.join("prompt.md"), folder.join("given")]
}

impl Launch<'_> {
    /// Writes the prompt, the run file and the harness's other files into the run's own directory;
    /// returns the path of the run file.
    ///
    /// Writing twice is the same as writing once. The files are not synced to disk: a power loss
    /// also ends the pane that reads them.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, LaunchError> {
        let [prompt_file, run_folder] = given_files(folder);
        let values = Values {
            prompt: self.prompt,
            prompt_file: &prompt_file,
            run_folder: &run_folder,
            model: self.model,
            effort: self.effort,
            session_id: self.session_id,
            resumed_id: self.resumed_id,
            schema: None,
            schema_file: None,
        };
        let level = Level::of(self.permissions, self.role);
        let mut arguments = self.harness.arguments(self.start_mode, level, &values)?;
        if self.sandbox.is_some() {
            arguments = self.harness.sandbox.arguments(arguments);
        }
        let variables = self.variables(level, &run_folder);
        let program = self.harness.locate(self.environment.variable("PATH"))?;
        let file = RunFile::new(RunParts {
            run: self.run.clone(),
            task: self.task.clone(),
            role: self.role.clone(),
            program: RawText::from(program),
            arguments: arguments.into_iter().map(RawText::from).collect(),
            environment: variables,
            directory: RawText::from(self.directory),
            prompt_file: RawText::from(&prompt_file),
            // Set explicitly, because the tmux server may have inherited a raised limit from the
            // process that started it.
            open_files: original_open_file_limit(),
            output: self.output.map(RawText::from),
            freezable: self.freezable,
            sandbox: self.sandbox.cloned(),
        })?;
        private_file::write_unsynced(&prompt_file, self.prompt.as_bytes())?;
        for harness_file in &self.harness.run_files {
            private_file::write_unsynced(
                &run_folder.join(&harness_file.name),
                harness_file.text.as_bytes(),
            )?;
        }
        let run_file = folder.join("run.json");
        file.write(&run_file)?;
        Ok(run_file)
    }

    fn variables(&self, level: Level, run_folder: &Path) -> BTreeMap<String, RawText> {
        let pass = self.harness.pass.iter().map(String::as_str);
        let passed = self.environment.passed_variables(pass);
        let passed = passed.into_iter().filter_map(|(name, value)| {
            // A name that is not valid UTF-8 cannot have been requested.
            Some((name.into_string().ok()?, RawText(value)))
        });
        let set = self.harness.variables(level).into_iter();
        let folder = run_folder.to_string_lossy();
        let set = set.map(|(name, value)| {
            let value = value.replace("{run_folder}", &folder);
            (name.to_owned(), RawText::from(value))
        });
        let own = [
            (ORANGE_TASK_ID, RawText::from(self.task.as_str())),
            (ORANGE_RUN_ID, RawText::from(self.run.as_str())),
            (ORANGE_ROLE, RawText::from(self.role.as_str())),
            (ORANGE_RUN_PROOF, RawText::from(self.proof)),
            (ORANGE_HOME, RawText::from(self.home.path())),
        ];
        let resumed = self
            .resumed_id
            .map(|id| (ORANGE_RESUMED_ID, RawText::from(id)));
        let own = own.into_iter().chain(resumed);
        let own = own.map(|(name, value)| (name.to_owned(), value));
        let mut variables: BTreeMap<String, RawText> = passed.chain(set).chain(own).collect();
        if *self.role == Role::Reviewer {
            add_settings(&mut variables, FOR_REVIEWERS);
        }
        if self
            .sandbox
            .is_some_and(|it| it.level() == sandbox::Level::Partial)
        {
            add_settings(&mut variables, WITHOUT_NAMESPACES);
        }
        variables
    }
}

/// Adds git settings to those already in the variables.
fn add_settings(variables: &mut BTreeMap<String, RawText>, settings: &[(&str, &str)]) {
    let count = variables.get(COUNT).and_then(|it| it.as_os_str().to_str());
    let mut count: usize = count.and_then(|it| it.parse().ok()).unwrap_or(0);
    for (key, value) in settings {
        variables.insert(format!("GIT_CONFIG_KEY_{count}"), RawText::from(*key));
        variables.insert(format!("GIT_CONFIG_VALUE_{count}"), RawText::from(*value));
        count += 1;
    }
    variables.insert(COUNT.to_owned(), RawText::from(count.to_string()));
}
