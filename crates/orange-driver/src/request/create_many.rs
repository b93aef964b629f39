//! Creates many tasks, and starts several of them at a time.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use super::start::CreatedTask;
use super::wait::WaitPolicy;
use crate::DriverError;
use crate::request::Requests;
use crate::steps::create::NewTaskRequest;
use crate::steps::preview::NewTaskOutlook;

/// The results so far, by the number of the task.
type Results = BTreeMap<usize, Result<CreatedTask, DriverError>>;

impl Requests {
    /// What would become of these new tasks, which differ in nothing but their text. Creates
    /// nothing.
    pub fn preview(&self, new: &[NewTaskRequest]) -> Result<Vec<NewTaskOutlook>, DriverError> {
        self.steps.preview(new)
    }

    /// Creates these tasks and requests their starts, in their order. The starts are performed as
    /// many at a time as there are processors. If waiting should stop, no further task is created,
    /// and the results of those are missing at the end.
    pub fn create_many(
        &self,
        new: &[NewTaskRequest],
        starts: bool,
        waiting: WaitPolicy,
    ) -> Vec<Result<CreatedTask, DriverError>> {
        let next = Mutex::new(0);
        let results = Mutex::new(Results::new());
        let processors = thread::available_parallelism().map_or(1, usize::from);
        thread::scope(|scope| {
            for _ in 0..processors.min(new.len()) {
                scope.spawn(|| {
                    while let Some((number, created)) = self.create_next(new, starts, &next) {
                        let created = created.and_then(|it| self.await_start(it, waiting));
                        lock(&results).insert(number, created);
                    }
                });
            }
        });
        let results = results.into_inner();
        let results = results.unwrap_or_else(PoisonError::into_inner);
        results.into_values().collect()
    }

    /// Records the next task and its start; `None` if there is none, or if waiting should stop.
    /// Other threads wait meanwhile: if there is no room for all, the first tasks are started.
    fn create_next(
        &self,
        new: &[NewTaskRequest],
        starts: bool,
        next: &Mutex<usize>,
    ) -> Option<(usize, Result<CreatedTask, DriverError>)> {
        let mut next = lock(next);
        let number = *next;
        let request = new.get(number)?;
        if self.context.progress.is_over() {
            return None;
        }
        *next += 1;
        let created = self.create_and_start(request, starts, WaitPolicy::Skip);
        Some((number, created))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
