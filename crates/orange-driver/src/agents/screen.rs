//! The current screen of a task's agent, with colours.

use orange_effects::tmux::{Pane, Screens, TmuxError};
use orange_engine::names::{RunId, TaskId};
use orange_engine::role::Role;
use orange_store::Store;

use crate::DriverError;
use crate::agents::Agents;
use crate::context::run_location;
use crate::steps::pinned_workflow;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentScreen {
    pub role: Role,
    /// Whether the agent is still running.
    pub is_running: bool,
    /// The lines of the screen, with colour escape sequences.
    pub lines: Vec<String>,
    /// Column and line of the cursor, if it is shown.
    pub cursor: Option<(u16, u16)>,
}

/// Shows one agent after the other through one tmux client.
#[derive(Debug)]
pub struct ScreenViewer {
    agents: Agents,
    store: Option<Store>,
    screens: Option<Screens>,
    cached: Option<CachedAgent>,
}

/// What was looked up about a task; valid until the store changes.
#[derive(Debug)]
struct CachedAgent {
    data_version: i64,
    task: TaskId,
    agent: Option<Agent>,
}

#[derive(Clone, Debug)]
struct Agent {
    role: Role,
    run: RunId,
    /// Its pane, unless nothing says any more which one it had.
    pane: Option<Pane>,
}

impl Agents {
    /// Creates a viewer; it connects to tmux when there is something to see.
    pub fn screen_viewer(&self) -> ScreenViewer {
        ScreenViewer {
            agents: self.clone(),
            store: None,
            screens: None,
            cached: None,
        }
    }
}

impl ScreenViewer {
    /// The screen of the agent that the current status expects, else of any that exists, else of the
    /// latest one, with `before` lines of scrollback. Without a screen, the output that was saved.
    pub fn load(
        &mut self,
        task: &TaskId,
        before: usize,
    ) -> Result<Option<AgentScreen>, DriverError> {
        let Some(Agent { role, run, pane }) = self.agent(task)? else {
            return Ok(None);
        };
        if pane.is_some() && self.screens.is_none() {
            self.screens = match self.agents.context.tmux.screens() {
                Ok(screens) => Some(screens),
                // Without a server only the saved output can be shown.
                Err(TmuxError::Disconnected(_) | TmuxError::NoServer(_)) => None,
                Err(error) => return Err(error.into()),
            };
        }
        let screens = self.screens.as_mut().zip(pane.as_ref());
        let screen = screens.map(|(screens, pane)| screens.screen(pane, before));
        match screen {
            Some(Ok(Some(screen))) if screen.is_running || !is_blank(&screen.lines) => {
                return Ok(Some(AgentScreen {
                    role,
                    is_running: screen.is_running,
                    lines: screen.lines,
                    cursor: screen.cursor,
                }));
            }
            // Reconnect at the next call: another server may have replaced this one.
            Some(Err(_)) => self.screens = None,
            // Keep the client: one that disconnects and reconnects with every call could take the
            // server down. tmux 3.3 crashes when it reports a client that leaves while another is
            // only half connected.
            //
            // If an agent has cleared its screen before it exited, its output may show more.
            Some(Ok(_)) | None => {}
        }
        let output = match self.agents.logs_of(task, &run) {
            Ok(output) => output,
            Err(DriverError::NoOutput { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some(AgentScreen {
            role,
            is_running: output.is_running,
            lines: output.text.lines().map(str::to_owned).collect(),
            cursor: None,
        }))
    }

    /// The agent to show; looked up again only when the store has changed.
    fn agent(&mut self, task: &TaskId) -> Result<Option<Agent>, DriverError> {
        if self.store.as_ref().is_none_or(Store::is_replaced) {
            self.store = Some(Store::open_read_only(&self.agents.context.home)?);
            self.cached = None;
        }
        let Some(store) = &self.store else {
            return Ok(None);
        };
        // Read the version before the data: a concurrent write is then seen twice rather than
        // never.
        let data_version = store.data_version()?;
        let is_current = |it: &&CachedAgent| it.task == *task && it.data_version == data_version;
        if let Some(cached) = self.cached.as_ref().filter(is_current) {
            return Ok(cached.agent.clone());
        }
        let agent = self.agents.agent_to_show(store, task)?;
        self.cached = Some(CachedAgent {
            data_version,
            task: task.clone(),
            agent: agent.clone(),
        });
        Ok(agent)
    }
}

/// Whether lines show nothing: only spaces and escape sequences.
fn is_blank(lines: &[String]) -> bool {
    let is_blank = |line: &String| {
        let mut parts = line.split('\u{1b}');
        let start = parts.next().unwrap_or_default();
        let after_escapes = parts.map(|part| {
            let end = part.find(|it: char| it.is_ascii_alphabetic());
            end.map_or("", |end| &part[end + 1..])
        });
        start.trim().is_empty() && after_escapes.map(str::trim).all(str::is_empty)
    };
    lines.iter().all(is_blank)
}

impl Agents {
    fn agent_to_show(&self, store: &Store, task: &TaskId) -> Result<Option<Agent>, DriverError> {
        let stored = store.require(task)?;
        let workflow = pinned_workflow(&stored)?;
        let state = workflow.state(&stored.task.status);
        let expected = state.map(|state| state.expects.as_slice());
        let runs = &stored.task.runs;
        let mut expected = expected.unwrap_or_default().iter();
        let first = expected.find_map(|role| runs.get(role));
        let current = first.or_else(|| runs.values().next());
        let records = store.runs(task)?;
        let record = match current {
            Some(run) => records.iter().find(|record| record.id == run.id),
            None => records.iter().max_by_key(|record| record.created_at),
        };
        let Some(record) = record else {
            return Ok(None);
        };
        let project = &stored.task.project;
        let folder = self.context.launch_directory(project, task, &record.id)?;
        let pane = run_location::recorded_pane(record, &run_location::run_file(&folder));
        Ok(Some(Agent {
            role: record.role.clone(),
            run: record.id.clone(),
            pane,
        }))
    }
}
