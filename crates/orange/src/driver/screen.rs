//! What the agent of a task shows now, with colours.

use orange_engine::names::TaskId;
use orange_engine::role::Role;

use super::step::pinned;
use super::{Driver, DriverError, place};
use crate::effects::tmux::{Screens, TmuxError};
use crate::store::Store;

/// What an agent shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentScreen {
    /// As what it runs.
    pub role: Role,
    /// Whether more may come.
    pub is_running: bool,
    /// Its lines, with the sequences that set colours.
    pub lines: Vec<String>,
    /// Column and line of the cursor, if it is shown.
    pub cursor: Option<(u16, u16)>,
}

/// Looks at one agent after the other through one client of tmux.
#[derive(Debug)]
pub struct Onlooker {
    driver: Driver,
    store: Option<Store>,
    screens: Option<Screens>,
}

impl Driver {
    /// Begins to look on; tmux is asked when there is something to see.
    pub fn onlooker(&self) -> Onlooker {
        Onlooker {
            driver: self.clone(),
            store: None,
            screens: None,
        }
    }
}

impl Onlooker {
    /// What the agent shows that the present status expects, else any that is there; what was kept
    /// of its last one where none is.
    pub fn look(
        &mut self,
        task: &TaskId,
        before: usize,
    ) -> Result<Option<AgentScreen>, DriverError> {
        if self.store.as_ref().is_none_or(Store::is_replaced) {
            self.store = Some(Store::open_read_only(&self.driver.home)?);
        }
        let Some(store) = &self.store else {
            return Ok(None);
        };
        let stored = store.require(task)?;
        let workflow = pinned(&stored)?;
        let state = workflow.state(&stored.task.status);
        let expected = state.map(|state| state.expects.as_slice());
        let runs = &stored.task.runs;
        let mut expected = expected.unwrap_or_default().iter();
        let first = expected.find_map(|role| runs.get(role));
        let Some(run) = first.or_else(|| runs.values().next()) else {
            return Ok(None);
        };
        let records = store.runs(task)?;
        let Some(record) = records.iter().find(|record| record.id == run.id) else {
            return Ok(None);
        };
        let project = &stored.task.project;
        let folder = self.driver.launch_directory(project, task, &run.id)?;
        let Some(pane) = place::pane(record, &place::run_file(&folder)) else {
            return Ok(None);
        };
        let role = record.role.clone();
        if self.screens.is_none() {
            self.screens = match self.driver.tmux.screens() {
                Ok(screens) => Some(screens),
                // Without a server there is nothing to see but what was kept.
                Err(TmuxError::Disconnected(_) | TmuxError::NoServer(_)) => None,
                Err(error) => return Err(error.into()),
            };
        }
        let shown = self.screens.as_mut().map(|it| it.screen(&pane, before));
        match shown {
            Some(Ok(Some(screen))) => {
                return Ok(Some(AgentScreen {
                    role,
                    is_running: screen.is_running,
                    lines: screen.lines,
                    cursor: screen.cursor,
                }));
            }
            // Another server may have taken its place.
            Some(Ok(None) | Err(_)) => self.screens = None,
            None => {}
        }
        let kept = match self.driver.logs_of(task, &run.id) {
            Ok(kept) => kept,
            Err(DriverError::NoOutput { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some(AgentScreen {
            role,
            is_running: kept.is_running,
            lines: kept.text.lines().map(str::to_owned).collect(),
            cursor: None,
        }))
    }
}
