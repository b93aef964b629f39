//! F8: without further faults, the task ends and requests are decided.

use orange_fleet::ledger::MOST_ATTEMPTS;
use orange_fleet::link::Registration;

use crate::actions;
use crate::mutant::Mutant;
use crate::step::step;
use crate::world::{HostState, Packet, World, task};

/// More than any state of the model needs.
const MOST_STEPS: usize = 300;

/// Continue a state without faults: late messages are lost, everything else is done at once, and
/// time passes only when nothing else is left.
pub fn settles(world: &World, mutant: Option<Mutant>) -> bool {
    let mut world = world.clone();
    world.faults = 0;
    world.drains = 0;
    let is_post = |packet: &Packet| matches!(packet, Packet::Post(_));
    world.network.retain(|it| is_post(&it.packet));
    for _ in 0..MOST_STEPS {
        if world.is_over() || waits_for_a_person(&world) || has_no_runner(&world) {
            return true;
        }
        let mut next = Vec::new();
        actions::progress(&world, mutant, &mut next);
        match next.into_iter().next() {
            Some(action) => step(&mut world, action, mutant),
            None => return false,
        }
    }
    false
}

/// A task that was claimed too often without progress waits with a reason.
fn waits_for_a_person(world: &World) -> bool {
    let task = &world.ledger.tasks[&task()];
    task.owner.is_none() && task.attempts >= MOST_ATTEMPTS
}

/// Every home is lost, has not joined, or was replaced by one of these.
fn has_no_runner(world: &World) -> bool {
    world.hosts.iter().all(|host| {
        let is_gone = matches!(host.state, HostState::Absent | HostState::Lost);
        is_gone || *host.link.registration() == Registration::Replaced
    })
}
