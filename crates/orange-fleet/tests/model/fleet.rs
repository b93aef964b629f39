//! The model: its scenarios, its bounds, and what must hold.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use stateright::{Model, Property};

use crate::actions::{self, Action};
use crate::mutant::Mutant;
use crate::world::{HostState, World};
use crate::{properties, settle, step};

/// How a model begins, and how far it goes.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    pub name: &'static str,
    /// The runner of each host, and whether its home has joined.
    pub hosts: &'static [(&'static str, HostState)],
    pub registered: bool,
    pub faults: u8,
    pub drains: u8,
    /// Whether a person asks something of the task.
    pub asks: bool,
    pub backups: bool,
    pub ticks: u64,
    /// F8 is checked in one of so many states: it runs each to its end.
    pub settle_every: u64,
}

impl Scenario {
    pub const TWO_RUNNERS: Self = Self {
        name: "two runners",
        hosts: &[("r1", HostState::Up), ("r2", HostState::Up)],
        registered: true,
        faults: 1,
        drains: 0,
        asks: false,
        backups: false,
        ticks: 3,
        settle_every: 8,
    };

    pub const TWO_HOMES: Self = Self {
        name: "two homes",
        hosts: &[("r1", HostState::Up), ("r1", HostState::Absent)],
        registered: false,
        faults: 2,
        ticks: 2,
        ..Self::TWO_RUNNERS
    };

    pub const BACKUP: Self = Self {
        name: "backup",
        hosts: &[("r1", HostState::Up)],
        drains: 1,
        asks: true,
        backups: true,
        ticks: 2,
        ..Self::TWO_RUNNERS
    };

    pub const fn with_faults(self, faults: u8) -> Self {
        Self { faults, ..self }
    }

    pub const fn with_ticks(self, ticks: u64) -> Self {
        Self { ticks, ..self }
    }
}

pub struct Fleet {
    pub scenario: Scenario,
    pub mutant: Option<Mutant>,
    /// A property that is not checked.
    pub without: Option<&'static str>,
}

impl Fleet {
    pub fn new(scenario: Scenario) -> Self {
        Self {
            scenario,
            mutant: None,
            without: None,
        }
    }

    fn settles(&self, world: &World) -> bool {
        let every = self.scenario.settle_every;
        let mut hasher = DefaultHasher::new();
        if every > 1 {
            world.hash(&mut hasher);
        }
        !hasher.finish().is_multiple_of(every) || settle::settles(world, self.mutant)
    }
}

impl Model for Fleet {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(&self.scenario)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        actions::progress(world, self.mutant, actions);
        if world.now.0 >= self.scenario.ticks {
            actions.retain(|it| *it != Action::Tick);
        }
        if world.faults > 0 {
            actions::faults(world, actions);
        }
        if world.drains > 0 {
            actions::drains(world, actions);
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut world = world.clone();
        step::step(&mut world, action, self.mutant);
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let all = vec![
            Property::always("F1", |_, it| properties::log_is_gapless(it)),
            Property::always("F2", |_, it| properties::acknowledged_is_logged(it)),
            Property::always("F3", |_, it| properties::effects_are_planned(it)),
            Property::always("F4", |_, it| properties::agents_are_on_one_runner(it)),
            Property::always("F5", |_, it| properties::requests_are_decided_once(it)),
            Property::always("F6", |_, it| properties::folds_agree(it)),
            Property::always("F8", |model: &Self, it| model.settles(it)),
            Property::always("no conflict", |_, it| properties::no_conflict(it)),
            Property::always("healthy homes stay", |_, it| {
                properties::healthy_homes_stay(it)
            }),
            // What never happens in a model is not checked by it.
            Property::sometimes("the task ends", |_, it: &World| it.is_over()),
            Property::sometimes("the task moves", |_, it| properties::task_can_move(it)),
            Property::sometimes("an agent freezes", |_, it| {
                properties::agents_can_freeze(it)
            }),
            Property::sometimes("a tail is stale", |_, it| {
                properties::tails_can_be_stale(it)
            }),
        ];
        let checked = all.into_iter();
        checked.filter(|it| Some(it.name) != self.without).collect()
    }
}
