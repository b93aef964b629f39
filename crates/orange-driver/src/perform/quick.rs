//! Performs what a user's own command can do while the user waits.

use std::sync::mpsc::{self, Receiver};
use std::thread;

use orange_config::clock::{self, Deadline};
use orange_engine::effect::Effect;
use orange_engine::names::{ProjectName, TaskId};
use orange_store::{Pending, Store};

use crate::DriverError;
use crate::context::lock::Lock;
use crate::due::{Next, next};
use crate::perform::Performer;

/// Receives the result when the thread has performed what it can.
pub(crate) type QuickPerformance = Receiver<Result<(), DriverError>>;

impl Performer {
    /// Starts a thread that performs what is due, up to the first effect that may take long. `None`
    /// if the first effect is one of those.
    ///
    /// A start takes a fraction of the time in the calling process, because another one has to be
    /// started and opens everything again. The thread begins no effect once the caller no longer
    /// waits. The caller may exit at any time, which is the death of any performer: the next one
    /// continues.
    pub(crate) fn start_quick(
        &self,
        store: &Store,
        task: &TaskId,
        deadline: Deadline,
    ) -> Result<Option<QuickPerformance>, DriverError> {
        let project = store.require(task)?.task.project;
        let has_quick_checkout = self.has_quick_checkout(&project);
        let is_first_quick = matches!(next(store, task, clock::now())?,
            Next::Now(pending) if is_quick(&pending.planned.effect, has_quick_checkout));
        if !is_first_quick {
            return Ok(None);
        }
        let (sender, receiver) = mpsc::channel();
        let (performer, task) = (self.clone(), task.clone());
        let progress = self.context.progress.clone();
        let is_wanted = move |pending: &Pending| {
            let is_awaited = !progress.is_over() && !deadline.has_passed();
            is_awaited && is_quick(&pending.planned.effect, has_quick_checkout)
        };
        let thread = thread::Builder::new().name(String::from("performer"));
        let started = thread.spawn(move || {
            let _abandoned = sender.send(performer.perform_wanted(&task, is_wanted));
        });
        // Without a thread, another process performs.
        Ok(started.is_ok().then_some(receiver))
    }

    fn perform_wanted(
        &self,
        task: &TaskId,
        is_wanted: impl Fn(&Pending) -> bool,
    ) -> Result<(), DriverError> {
        let mut store = self.context.store()?;
        let directory = store.require(task)?.directory;
        let Some(lock) = Lock::to_perform(&directory)? else {
            return Ok(());
        };
        // Taking the lock creates the directory again if the task was deleted in between.
        if store.require(task)?.task.is_deleted {
            lock.undo(&directory);
            return Ok(());
        }
        // The caller writes the files again, and reports if that fails.
        let _copies = self.drain(&mut store, task, is_wanted)?;
        Ok(())
    }

    /// Whether a checkout runs no code of the project and does not use the network.
    fn has_quick_checkout(&self, project: &ProjectName) -> bool {
        let projects = self.context.projects();
        let project = projects.as_ref().map(|it| it.require(project));
        let Ok(Ok(project)) = project else {
            return false;
        };
        let setup = self.context.setup_script(project);
        let has_no_setup = setup.is_ok_and(|setup| setup.command.is_empty());
        // A project without a remote has an empty URL; without any, it is not known yet.
        has_no_setup && project.remote.as_deref() == Some("")
    }
}

fn is_quick(effect: &Effect, has_quick_checkout: bool) -> bool {
    match effect {
        Effect::AcquireWorkspace { .. } => has_quick_checkout,
        Effect::Spawn(_) | Effect::SpawnNext | Effect::ArchiveSection { .. } => true,
        _ => false,
    }
}
