//! Writes down how an agent is started: prompt and run file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use orange_config::{
    Environment, Harness, HarnessError, Home, Level, Manner, ORANGE_HOME, ORANGE_RESUMED_ID,
    ORANGE_ROLE, ORANGE_RUN_ID, ORANGE_RUN_PROOF, ORANGE_TASK_ID, Values,
};
use orange_engine::language::workflow::Permissions;
use orange_engine::names::{RunId, TaskId};
use orange_engine::role::Role;

use super::file::{RunFile, RunFileError, RunParts};
use super::raw_text::RawText;
use crate::private_file::{self, PrivateFileError};
use crate::process::usual_open_files;

/// How many settings of git the variables hold.
const COUNT: &str = "GIT_CONFIG_COUNT";

/// What git is told in the shell of an agent that judges the work of another: no hook and no monitor
/// that the other one wrote into the repository runs there. A worker's own hooks are its business.
const FOR_REVIEWERS: &[(&str, &str)] =
    &[("core.hooksPath", "/dev/null"), ("core.fsmonitor", "false")];

/// A start of an agent with everything that is decided about it, its secret included.
#[derive(Clone, Copy)]
pub struct Launch<'a> {
    pub run: &'a RunId,
    pub task: &'a TaskId,
    pub role: &'a Role,
    /// The secret by which it proves that it is the one.
    pub proof: &'a str,
    /// The program and how to start it.
    pub harness: &'a Harness,
    /// Whether it waits for more in its terminal.
    pub manner: Manner,
    /// The file that all it prints is added to, if not its pane.
    pub output: Option<&'a Path>,
    /// What it may do.
    pub permissions: Permissions,
    /// What it is told.
    pub prompt: &'a str,
    /// Which model to use.
    pub model: Option<&'a str>,
    /// How hard to think.
    pub effort: Option<&'a str>,
    /// Which conversation it begins.
    pub session_id: Option<&'a str>,
    /// Which conversation it goes on with.
    pub resumed_id: Option<&'a str>,
    /// What it is told before everything else.
    pub system_prompt: Option<&'a str>,
    /// Where it runs.
    pub directory: &'a Path,
    /// The home that its own calls of `orange` use.
    pub home: &'a Home,
    /// What its variables are taken from.
    pub environment: &'a Environment,
}

/// Why a start could not be written down.
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

impl Launch<'_> {
    /// Writes prompt, run file and what else it is given into the run's own directory; the path of
    /// the run file.
    ///
    /// Writing twice is the same as writing once. A loss of power ends the pane that reads them.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, LaunchError> {
        let prompt_file = folder.join("prompt.md");
        let run_folder = folder.join("given");
        let values = Values {
            prompt: self.prompt,
            prompt_file: &prompt_file,
            run_folder: &run_folder,
            model: self.model,
            effort: self.effort,
            session_id: self.session_id,
            resumed_id: self.resumed_id,
            system_prompt: self.system_prompt,
        };
        let level = Level::of(self.permissions, self.role);
        let arguments = self.harness.arguments(self.manner, level, &values)?;
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
            // The tmux server may have been started by who raised its own limit.
            open_files: usual_open_files(),
            output: self.output.map(RawText::from),
        })?;
        private_file::write_for_now(&prompt_file, self.prompt.as_bytes())?;
        for given in &self.harness.run_files {
            private_file::write_for_now(&run_folder.join(&given.name), given.text.as_bytes())?;
        }
        let run_file = folder.join("run.json");
        file.write(&run_file)?;
        Ok(run_file)
    }

    fn variables(&self, level: Level, run_folder: &Path) -> BTreeMap<String, RawText> {
        let pass = self.harness.pass.iter().map(String::as_str);
        let passed = self.environment.passed(pass);
        let passed = passed.into_iter().filter_map(|(name, value)| {
            // A name that is no text was asked for by nobody.
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
        variables
    }
}

/// Adds settings of git to those that the variables hold already.
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
