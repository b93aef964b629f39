//! Which conversation an agent starts or resumes.
//!
//! An agent that died on its own, or that the user stopped, is restarted in its conversation. An
//! agent that the workflow ended is not: the next reviewer judges afresh. Neither is one whose task
//! has got another worktree. An agent exits if its conversation cannot be resumed. So if a resumed conversation ends too, the next start begins a new one, unless the
//! harness was the cause.

use std::fs;
use std::path::Path;

use orange_config::Harness;
use orange_effects::private_file::{self, PrivateFileError};
use orange_engine::Task;
use orange_engine::effect::Spawn;
use orange_engine::evidence::Evidence;
use orange_store::{RunRecord, Store};
use serde::{Deserialize, Serialize};

use super::spawn::start_mode;
use crate::context::ids;
use crate::failure::Failure;
use crate::perform::Performer;

/// The conversation of a run, stored next to the run's other files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Conversation {
    id: String,
    is_resumed: bool,
}

impl Conversation {
    /// Its id, if it begins with this run.
    pub fn new_id(&self) -> Option<&str> {
        (!self.is_resumed).then_some(self.id.as_str())
    }

    /// Its id, if this run resumes it.
    pub fn resumed_id(&self) -> Option<&str> {
        self.is_resumed.then_some(self.id.as_str())
    }

    /// Saves it for the next run.
    pub fn save(&self, launch_directory: &Path) -> Result<(), PrivateFileError> {
        let json = serde_json::to_vec(self).unwrap_or_default();
        private_file::write(&file(launch_directory), &json)
    }

    fn load(launch_directory: &Path) -> Option<Self> {
        let bytes = fs::read(file(launch_directory)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }
}

impl Performer {
    /// The conversation for a run that is about to start.
    pub(crate) fn conversation(
        &self,
        store: &Store,
        task: &Task,
        spawn: &Spawn,
        harness: &Harness,
        directory: &Path,
    ) -> Result<Conversation, Failure> {
        let runs = store.runs(&task.id).map_err(Failure::temporary)?;
        let earlier = runs.iter().rev();
        let stopped = Evidence::Stopped;
        // A run that the user stopped before it was started has begun no conversation.
        let has_begun =
            |run: &&RunRecord| run.place.is_some() || run.evidence.as_ref() != Some(&stopped);
        let last = earlier
            .filter(|run| has_begun(run))
            .find(|run| run.role == spawn.role && run.id != spawn.run);
        let last = last.filter(|run| run.evidence.is_some() && run.harness == spawn.harness);
        // Some agents go on in the directory in which they began, which may be another task's now.
        let is_here = |run: &&RunRecord| {
            let setup = run.setup.as_ref();
            setup.is_none_or(|setup| setup.directory == directory)
        };
        let last = last.filter(is_here);
        let can_resume = harness.accepts(start_mode(spawn.headless), "resumed_id");
        if let Some(last) = last.filter(|_| can_resume) {
            let folder = self
                .context
                .launch_directory(&task.project, &task.id, &last.id);
            let folder = folder.map_err(Failure::permanent)?;
            // If the harness or the user caused the end, the conversation can be resumed again.
            let evidence = last.evidence.as_ref();
            let is_blameless = evidence.is_some_and(|it| it.is_harness_failure() || *it == stopped);
            let saved = Conversation::load(&folder).filter(|it| is_blameless || !it.is_resumed);
            // The id that the agent reported takes precedence: some agents choose it, and the user
            // may have started another conversation.
            let events = self.agents.events_of(&task.project, &task.id, &last.id);
            let reported = events.into_iter().rev().find_map(|it| it.session_id);
            let printed = || self.agents.result_of(&task.project, last)?.session_id;
            let reported = reported.or_else(printed);
            let chosen = saved.as_ref().map(|saved| saved.id.clone());
            let chosen =
                chosen.filter(|_| harness.accepts(start_mode(last.headless), "session_id"));
            if let Some(id) = reported.filter(|_| saved.is_some()).or(chosen) {
                let is_resumed = true;
                return Ok(Conversation { id, is_resumed });
            }
        }
        let id = ids::session().map_err(Failure::temporary)?;
        Ok(Conversation {
            id,
            is_resumed: false,
        })
    }
}

fn file(launch_directory: &Path) -> std::path::PathBuf {
    launch_directory.with_file_name("conversation.json")
}
