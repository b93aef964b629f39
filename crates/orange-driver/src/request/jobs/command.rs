//! Runs the command of a job, in a process of its own.

use orange_config::{JobWork, Jobs, ORANGE_BACKGROUND, ORANGE_HOME, clock};
use orange_effects::command::{CommandExit, CommandOutput, Invocation};
use orange_effects::process::ProcessIdentity;
use orange_engine::names::JobName;
use orange_engine::time::Timestamp;
use orange_store::JobRunState;

use crate::DriverError;
use crate::request::Requests;

/// How much output is read, in bytes.
const LIMIT: usize = 1024 * 1024;

/// How much of the output is kept, in characters.
const KEPT: usize = 4000;

impl Requests {
    /// Starts a process that runs the command of an instant. It outlives this one.
    pub(super) fn start_job_process(
        &self,
        job: &JobName,
        instant: Timestamp,
    ) -> Result<(), DriverError> {
        let words = ["run-job", job.as_str(), &instant.to_string()];
        self.context.start_in_background(&words)?;
        Ok(())
    }

    /// Runs the command of an instant, unless another process has; called by that process.
    pub fn run_job_command(&self, name: &str, instant: Timestamp) -> Result<(), DriverError> {
        let name = JobName::new(name);
        let mut store = self.context.store()?;
        let own = ProcessIdentity::of(std::process::id())?;
        let own = serde_json::to_string(&own).unwrap_or_default();
        if !store.claim_job_run(&name, instant, &own)? {
            return Ok(());
        }
        let (state, detail) = match self.run_command_of(&name) {
            Ok(output) => describe(&output),
            Err(reason) => (JobRunState::Failed, reason),
        };
        store.end_job_run(&name, instant, state, &detail)?;
        Ok(())
    }

    /// Runs the command as the file has it now; fails with the reason.
    fn run_command_of(&self, name: &JobName) -> Result<CommandOutput, String> {
        let jobs = Jobs::load(&self.context.home, clock::now()).map_err(|it| it.to_string())?;
        let job = jobs.require(name.as_str()).map_err(|it| it.to_string())?;
        let JobWork::Command { command, timeout } = &job.work else {
            return Err(String::from("the job has no command any more"));
        };
        let projects = self.context.projects().map_err(|it| it.to_string())?;
        let project = projects
            .require(&job.project)
            .map_err(|it| it.to_string())?;
        let variables = self.context.user_variables().map_err(|it| it.to_string())?;
        let home = self.context.home.path();
        let invocation = Invocation::new("sh", variables)
            .arguments(["-c", command])
            .variable(ORANGE_HOME, home)
            // Whatever the command asks of orange, it does not count as the user.
            .variable(ORANGE_BACKGROUND, home)
            .directory(&project.path)
            .timeout(*timeout)
            .limit(LIMIT);
        invocation.run().map_err(|it| it.to_string())
    }
}

/// The result of a command, and how it ended with the end of its output.
fn describe(output: &CommandOutput) -> (JobRunState, String) {
    let (state, ending) = match &output.ending {
        CommandExit::Code(0) => (JobRunState::Succeeded, String::from("exited with code 0")),
        CommandExit::Code(code) => (JobRunState::Failed, format!("exited with code {code}")),
        CommandExit::Signal(signal) => {
            (JobRunState::Failed, format!("was ended by signal {signal}"))
        }
        CommandExit::TimedOut(limit) => {
            let seconds = limit.as_secs();
            (JobRunState::Failed, format!("took longer than {seconds}s"))
        }
    };
    let mut detail = ending;
    for stream in [&output.stdout, &output.stderr] {
        let text = String::from_utf8_lossy(&stream.bytes);
        let text = text.trim();
        let skipped = text.chars().count().saturating_sub(KEPT);
        if !text.is_empty() {
            detail.push('\n');
            detail.extend(text.chars().skip(skipped));
        }
    }
    (state, detail)
}
