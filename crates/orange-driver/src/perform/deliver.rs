//! Notifies an agent in its terminal that a message waits.
//!
//! Never presses a key that could answer an unread question. So it does not type while the user
//! scrolls or types, or into a dialog, and does not press Enter before the typed line shows. Any
//! obstacle is recorded with the message, which stays in the inbox in every case.

use std::time::Duration;

use orange_config::clock::{self, Deadline};
use orange_effects::tmux::{Pane, TypingState};
use orange_engine::Task;
use orange_engine::activity::{Activity, ActivityState, AgentEvent, AgentEventKind};
use orange_engine::role::Role;
use orange_engine::time::Timestamp;
use orange_store::{Delivery, InboxEntry, RunRecord, Store};

use crate::failure::Failure;
use crate::perform::Performer;

/// The line typed into an agent's pane or added to its first prompt; the message itself is in its
/// inbox.
///
/// Has no backticks, because a shell would run what is inside them and discard its output.
pub(crate) const NUDGE: &str = "Message from orange: run orange inbox and do what it says.";

/// How long an agent may take to show what was typed; some lose an Enter that comes earlier.
const SHOW_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a line may stay in an agent's input before Enter counts as swallowed.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(1);

/// How long an agent that reports submitted prompts may take to report this one.
const REPORT_TIMEOUT: Duration = Duration::from_secs(2);

/// The poll interval for a terminal.
const POLL_INTERVAL: Duration = Duration::from_millis(40);

/// How long an agent that reports its start may take to do so.
const START_TIMEOUT: Duration = Duration::from_mins(1);

/// How long an agent that reports nothing and shows no input box counts as starting.
const SETTLE_TIME: Duration = Duration::from_secs(1);

/// How long one typed line counts as the announcement of all messages of an agent.
const NUDGE_VALIDITY: Duration = Duration::from_mins(1);

/// How long to wait for a typed line that does not show before typing it again.
const ECHO_TIMEOUT: Duration = Duration::from_secs(30);

/// A message to a live agent.
pub(crate) struct MessageDelivery<'a> {
    pub(crate) task: &'a Task,
    pub(crate) role: &'a Role,
    pub(crate) run: &'a RunRecord,
    pub(crate) pane: &'a Pane,
    pub(crate) entry: u64,
    /// The events that this kind of agent reports.
    pub(crate) events: Vec<AgentEventKind>,
}

impl Performer {
    /// Types the line, unless it is already in the input, and sends it.
    ///
    /// Presses Enter a second time only while the line is provably still in the input box. An agent
    /// without a known input box gets one Enter, and a message that it does not read stays
    /// undelivered.
    pub(crate) fn deliver(
        &self,
        store: &mut Store,
        message: &MessageDelivery<'_>,
    ) -> Result<(), Failure> {
        let inbox = store.inbox(&message.task.id).map_err(Failure::temporary)?;
        let entry = inbox.iter().find(|it| it.id == message.entry);
        let Some(entry) = entry.filter(|it| it.read_at.is_none()) else {
            return Ok(());
        };
        let mut delivery = entry.delivery.clone();
        // A line that was typed in an earlier run was for another agent.
        if delivery.typed_run.as_ref() != Some(&message.run.id) {
            delivery = Delivery::default();
        }
        if delivery.sent_at.is_some() {
            return self.send_again(store, message, delivery);
        }
        if let Some(typed_at) = notified_at(&inbox, message) {
            delivery.typed_run = Some(message.run.id.clone());
            delivery.sent_at = Some(typed_at);
            return note(store, message, delivery);
        }
        // The message may be about commits that the agent does not have yet.
        self.workspaces
            .refresh_private_repositories(store, message.task);
        let before = self.require_usable_pane(message)?;
        let is_in_input = before.screen.is_waiting();
        let should_type = !is_in_input && !is_recent(delivery.typed_at, ECHO_TIMEOUT);
        if should_type {
            let pasted = self.context.tmux.paste(message.pane, NUDGE);
            pasted.map_err(Failure::obstacle)?;
            // If this process is killed before this note, the line may be typed twice, which does
            // no harm.
            delivery.typed_run = Some(message.run.id.clone());
            delivery.typed_at = Some(clock::now());
            note(store, message, delivery.clone())?;
        }
        let typed_at = clock::now();
        let shown_before = should_type.then_some(before.screen.times_shown);
        let typing = self.wait_until_shown(message, shown_before)?;
        // Record this before sending: after a kill in between, the next attempt finds the line in
        // the input.
        delivery.typed_run = Some(message.run.id.clone());
        delivery.sent_at = Some(clock::now());
        note(store, message, delivery.clone())?;
        self.send(store, message, &typing)?;
        self.confirm(store, message, delivery, typed_at)
    }

    /// Waits until the agent reports that it received the line, if this kind of agent reports that.
    /// If no report comes and the line is in the input box, the line was not received: `send` may
    /// have seen an empty box while the agent redrew its screen.
    fn confirm(
        &self,
        store: &mut Store,
        message: &MessageDelivery<'_>,
        mut delivery: Delivery,
        typed_at: Timestamp,
    ) -> Result<(), Failure> {
        if message.events.contains(&AgentEventKind::PromptSubmitted) {
            let is_received = || {
                Ok(self.find_acceptance(message, typed_at).is_some() || is_read(store, message)?)
            };
            if wait_until(REPORT_TIMEOUT, is_received)? {
                delivery.confirmed_at = Some(clock::now());
                return note(store, message, delivery);
            }
            if self.is_unsent(message)? {
                return Err(not_accepted(message.role));
            }
        }
        Ok(())
    }

    /// Finishes the work of a killed process: sends a line that is still in the input.
    fn send_again(
        &self,
        store: &mut Store,
        message: &MessageDelivery<'_>,
        mut delivery: Delivery,
    ) -> Result<(), Failure> {
        let typed_at = delivery.sent_at;
        if typed_at.is_some_and(|typed_at| self.find_acceptance(message, typed_at).is_some()) {
            delivery.confirmed_at = delivery.confirmed_at.or(Some(clock::now()));
            return note(store, message, delivery);
        }
        let typing = self.context.tmux.typing_state(message.pane, NUDGE);
        let typing = typing.map_err(Failure::temporary)?;
        if let Some(obstacle) = &typing.obstacle {
            return Err(Failure::obstacle(obstacle));
        }
        if !typing.screen.is_waiting() {
            return note(store, message, delivery);
        }
        let typed_at = clock::now();
        self.send(store, message, &typing)?;
        note(store, message, delivery.clone())?;
        self.confirm(store, message, delivery, typed_at)
    }

    /// Waits until the line is visible, and returns the state of the terminal. `before` is how
    /// often the line was visible before it was typed, if it was typed just now.
    fn wait_until_shown(
        &self,
        message: &MessageDelivery<'_>,
        before: Option<usize>,
    ) -> Result<TypingState, Failure> {
        let deadline = Deadline::after(SHOW_TIMEOUT);
        loop {
            let typing = self.require_usable_pane(message)?;
            let screen = &typing.screen;
            // If the agent has no known input box, it is enough that the line shows once more than
            // before.
            let is_new = before.is_some_and(|before| screen.times_shown > before);
            if screen.is_waiting() || is_new && !screen.has_box() {
                return Ok(typing);
            }
            if deadline.has_passed() {
                return Err(Failure::obstacle("the typed line does not appear"));
            }
            clock::sleep_until(clock::after(POLL_INTERVAL), POLL_INTERVAL);
        }
    }

    /// Sends the typed line, which is visible by now.
    fn send(
        &self,
        store: &Store,
        message: &MessageDelivery<'_>,
        typing: &TypingState,
    ) -> Result<(), Failure> {
        let press = || {
            let pressed = self.context.tmux.press_enter(message.pane);
            pressed.map_err(Failure::obstacle)
        };
        if !typing.screen.is_unsent() {
            return press();
        }
        for _ in 0..2 {
            press()?;
            let is_accepted = || Ok(!self.is_unsent(message)? || is_read(store, message)?);
            if wait_until(ACCEPT_TIMEOUT, is_accepted)? {
                return Ok(());
            }
        }
        Err(not_accepted(message.role))
    }

    /// Whether the line is provably still in the input box; while the user types, nothing is
    /// certain.
    fn is_unsent(&self, message: &MessageDelivery<'_>) -> Result<bool, Failure> {
        let typing = self.context.tmux.typing_state(message.pane, NUDGE);
        let typing = typing.map_err(Failure::temporary)?;
        Ok(typing.obstacle.is_none() && typing.screen.is_unsent())
    }

    /// The terminal's content, if it is safe to type into it.
    fn require_usable_pane(&self, message: &MessageDelivery<'_>) -> Result<TypingState, Failure> {
        let events =
            self.agents
                .events_of(&message.task.project, &message.task.id, &message.run.id);
        let typing = self.context.tmux.typing_state(message.pane, NUDGE);
        let typing = typing.map_err(Failure::temporary)?;
        if let Some(obstacle) = &typing.obstacle {
            return Err(Failure::obstacle(obstacle));
        }
        if typing.screen.is_mixed() {
            return Err(Failure::obstacle(
                "Enter was not pressed: the agent's input line has other text",
            ));
        }
        let started = message.run.setup.as_ref().map(|setup| setup.at);
        let reports_start = message.events.contains(&AgentEventKind::SessionStart);
        let is_starting = if reports_start {
            events.is_empty() && is_recent(started, START_TIMEOUT)
        } else {
            events.is_empty() && !typing.screen.has_box() && is_recent(started, SETTLE_TIME)
        };
        if is_starting {
            return Err(Failure::obstacle("it is still starting"));
        }
        // While a hook holds its request, codex shows its input box; a key would answer the dialog
        // that appears when the wait ends.
        let Task { project, id, .. } = message.task;
        let requests = self.agents.open_requests(project, id, &message.run.id);
        // Agents do not report when a permission is granted, but then they show an input box again.
        let is_asking = Activity::from_events(&events).state == ActivityState::WaitingForPermission;
        if !requests.is_empty() || is_asking && !typing.screen.has_box() {
            return Err(Failure::obstacle("it is waiting for permission"));
        }
        Ok(typing)
    }

    /// The event that shows that an agent received the line.
    fn find_acceptance(
        &self,
        message: &MessageDelivery<'_>,
        typed_at: Timestamp,
    ) -> Option<AgentEvent> {
        let events =
            self.agents
                .events_of(&message.task.project, &message.task.id, &message.run.id);
        let mut events = events.into_iter();
        events.find(|it| it.kind == AgentEventKind::PromptSubmitted && it.at >= typed_at)
    }
}

fn not_accepted(role: &Role) -> Failure {
    Failure::temporary(format!(
        "the {role} did not accept the line about its message: press Enter in its terminal"
    ))
}

/// Records the obstacle with the message.
pub(crate) fn note_obstacle(store: &mut Store, task: &Task, entry: u64, why: &str) {
    let inbox = store.inbox(&task.id).unwrap_or_default();
    let Some(found) = inbox.into_iter().find(|it| it.id == entry) else {
        return;
    };
    let delivery = Delivery {
        problem: Some(why.to_owned()),
        ..found.delivery
    };
    // A failure is ignored, because the effect keeps the reason too.
    let _unnoted = store.set_delivery(entry, &delivery);
}

/// Records a message's delivery state, without an obstacle.
fn note(
    store: &mut Store,
    message: &MessageDelivery<'_>,
    delivery: Delivery,
) -> Result<(), Failure> {
    let delivery = Delivery {
        problem: None,
        ..delivery
    };
    let noted = store.set_delivery(message.entry, &delivery);
    noted.map_err(Failure::temporary)
}

/// When this agent was notified of waiting messages, if it has read none since.
fn notified_at(inbox: &[InboxEntry], message: &MessageDelivery<'_>) -> Option<Timestamp> {
    let unread = inbox.iter().filter(|it| {
        let in_this_run = it.delivery.typed_run.as_ref() == Some(&message.run.id);
        let has_no_problem = it.delivery.problem.is_none();
        it.to == *message.role && it.read_at.is_none() && in_this_run && has_no_problem
    });
    let sent_at = unread.filter_map(|it| it.delivery.sent_at).max();
    let own = inbox.iter().filter(|it| it.to == *message.role);
    let last_read = own.filter_map(|it| it.read_at).max();
    // A message that came while the inbox was being read is still unread, and no typed line
    // announces it.
    let sent_at = sent_at.filter(|at| last_read.is_none_or(|read| read < *at));
    sent_at.filter(|at| is_recent(Some(*at), NUDGE_VALIDITY))
}

fn is_recent(at: Option<Timestamp>, within: Duration) -> bool {
    let Some(at) = at else { return false };
    let passed = clock::now().millis().saturating_sub(at.millis());
    u64::try_from(passed).is_ok_and(|passed| u128::from(passed) < within.as_millis())
}

fn is_read(store: &Store, message: &MessageDelivery<'_>) -> Result<bool, Failure> {
    let inbox = store.inbox(&message.task.id).map_err(Failure::temporary)?;
    let mut inbox = inbox.iter();
    Ok(inbox.any(|it| it.id == message.entry && it.read_at.is_some()))
}

/// Whether a condition becomes true in time; a failed check ends the wait.
fn wait_until(
    bound: Duration,
    is_true: impl Fn() -> Result<bool, Failure>,
) -> Result<bool, Failure> {
    let deadline = Deadline::after(bound);
    while !is_true()? {
        if deadline.has_passed() {
            return Ok(false);
        }
        clock::sleep_until(clock::after(POLL_INTERVAL), POLL_INTERVAL);
    }
    Ok(true)
}
