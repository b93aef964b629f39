//! Threads that work on tasks; one thread per task at a time.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use orange_engine::names::TaskId;

/// The waiting tasks, and those being worked on.
#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<TaskId>,
    /// Tasks that wait or are being worked on, and whether they are wanted again afterwards.
    known: BTreeMap<TaskId, Stage>,
    is_over: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waiting,
    Working,
    WantedAgain,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    change: Condvar,
}

/// Threads that do one kind of work. When this is dropped, the threads exit after their current
/// work.
pub(super) struct Workers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    /// Starts the threads, each of which takes at most `at_once` tasks at a time.
    pub(super) fn new(
        name: &str,
        threads: usize,
        at_once: usize,
        work: impl Fn(&[TaskId]) + Send + Sync + 'static,
    ) -> Result<Workers, String> {
        let shared = Arc::new(Shared::default());
        let work = Arc::new(work);
        let mut started = Vec::new();
        for _ in 0..threads.max(1) {
            let (shared, work) = (Arc::clone(&shared), Arc::clone(&work));
            let thread = thread::Builder::new().name(name.to_owned());
            let thread = thread.spawn(move || {
                while let Some(tasks) = shared.take(at_once) {
                    // A panic in the work for one task must not stop the other tasks, so after
                    // a panic, each task is tried on its own.
                    let work = |tasks: &[TaskId]| catch_unwind(AssertUnwindSafe(|| work(tasks)));
                    if work(&tasks).is_err() && tasks.len() > 1 {
                        for task in &tasks {
                            let _broken = work(slice::from_ref(task));
                        }
                    }
                    shared.done(&tasks);
                }
            });
            started.push(thread.map_err(|error| error.to_string())?);
        }
        Ok(Workers {
            shared,
            threads: started,
        })
    }

    /// Whether a task waits or is being worked on.
    pub(super) fn has(&self, task: &TaskId) -> bool {
        self.shared.lock().known.contains_key(task)
    }

    /// Queues a task: to be worked on soon, or once more after the current work on it.
    pub(super) fn add(&self, task: TaskId) {
        let mut queue = self.shared.lock();
        match queue.known.get_mut(&task) {
            Some(stage @ Stage::Working) => *stage = Stage::WantedAgain,
            Some(_) => {}
            None => {
                queue.known.insert(task.clone(), Stage::Waiting);
                queue.waiting.push_back(task);
                self.shared.change.notify_one();
            }
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next tasks; `None` when the workers should exit.
    fn take(&self, at_once: usize) -> Option<Vec<TaskId>> {
        let queue = self.lock();
        let idle = |queue: &mut Queue| queue.waiting.is_empty() && !queue.is_over;
        let queue = self.change.wait_while(queue, idle);
        let mut queue = queue.unwrap_or_else(PoisonError::into_inner);
        if queue.is_over {
            return None;
        }
        let count = at_once.min(queue.waiting.len());
        let tasks: Vec<TaskId> = queue.waiting.drain(..count).collect();
        for task in &tasks {
            queue.known.insert(task.clone(), Stage::Working);
        }
        Some(tasks)
    }

    fn done(&self, tasks: &[TaskId]) {
        let mut queue = self.lock();
        for task in tasks {
            if queue.known.remove(task) == Some(Stage::WantedAgain) {
                queue.known.insert(task.clone(), Stage::Waiting);
                queue.waiting.push_back(task.clone());
                self.change.notify_one();
            }
        }
    }
}

impl fmt::Debug for Workers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.fmt(formatter)
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.change.notify_all();
        for thread in self.threads.drain(..) {
            // The thread cannot have panicked: panics are caught.
            let _ended = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_task_has_one_worker_at_a_time_and_is_requeued_on_demand() {
        let (begun, begins) = mpsc::channel();
        let (go, goes) = mpsc::channel::<()>();
        let goes = Mutex::new(goes);
        let workers = Workers::new("test", 4, 1, move |tasks| {
            begun.send(tasks.to_vec()).unwrap();
            goes.lock().unwrap().recv().unwrap();
        });
        let workers = workers.unwrap();
        let task = TaskId::new("a");
        workers.add(task.clone());
        assert_eq!(begins.recv().unwrap(), slice::from_ref(&task));
        workers.add(task.clone());
        workers.add(task.clone());
        assert!(
            begins.try_recv().is_err(),
            "no other thread takes it meanwhile"
        );
        go.send(()).unwrap();
        assert_eq!(begins.recv().unwrap(), slice::from_ref(&task));
        go.send(()).unwrap();
        drop(workers);
        assert!(begins.try_recv().is_err(), "twice wanted is once more");
    }

    #[test]
    fn a_panicking_job_stops_no_worker() {
        let (done, dones) = mpsc::channel();
        let workers = Workers::new("test", 1, 1, move |tasks| {
            assert!(tasks[0].as_str() != "bad");
            done.send(tasks.to_vec()).unwrap();
        });
        let workers = workers.unwrap();
        for id in ["bad", "good", "bad", "good"] {
            workers.add(TaskId::new(id));
        }
        assert_eq!(dones.recv().unwrap(), [TaskId::new("good")]);
    }

    #[test]
    fn a_panicking_job_does_not_drop_the_rest_of_its_batch() {
        let (done, dones) = mpsc::channel();
        let (go, goes) = mpsc::channel::<()>();
        let goes = Mutex::new(goes);
        let workers = Workers::new("test", 1, usize::MAX, move |tasks| {
            if tasks[0].as_str() == "first" {
                done.send(tasks.to_vec()).unwrap();
                goes.lock().unwrap().recv().unwrap();
                return;
            }
            assert!(tasks.iter().all(|it| it.as_str() != "bad"));
            done.send(tasks.to_vec()).unwrap();
        });
        let workers = workers.unwrap();
        workers.add(TaskId::new("first"));
        assert_eq!(dones.recv().unwrap(), [TaskId::new("first")]);
        for id in ["bad", "good", "better"] {
            workers.add(TaskId::new(id));
        }
        go.send(()).unwrap();
        assert_eq!(dones.recv().unwrap(), [TaskId::new("good")]);
        assert_eq!(dones.recv().unwrap(), [TaskId::new("better")]);
    }
}
