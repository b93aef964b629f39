//! The state of the server: the world, planned faults, recorded requests.

use serde_json::Value;

use super::fault::Fault;
use crate::world::World;

/// A request and its outcome.
#[derive(Clone, Debug)]
pub struct Call {
    /// GitHub's operation id, or `graphql`.
    pub operation: String,
    /// The root fields of a GraphQL request.
    pub fields: Vec<String>,
    pub method: String,
    pub path: String,
    pub viewer: String,
    /// The status of the answer before a fault spoiled it.
    pub status: u16,
    /// What it used of the quota: requests in REST, points in GraphQL.
    pub cost: u64,
    pub fault: Option<Fault>,
}

/// A change that took effect, whether or not the client learnt of it.
#[derive(Clone, Debug)]
pub struct Write {
    /// GitHub's operation id, or the name of the mutation.
    pub operation: String,
    pub viewer: String,
    pub path: String,
    pub input: Value,
}

/// A fault that waits for its request.
#[derive(Clone, Debug)]
pub struct PlannedFault {
    pub operation: String,
    /// How many matching requests still come before the fault applies.
    pub before: u32,
    pub fault: Fault,
    pub repeats: bool,
}

#[derive(Debug)]
pub struct State {
    pub world: World,
    /// The world before the last write, and how many reads it still answers.
    pub replica: Option<(World, u32)>,
    /// How many reads after a write do not see it.
    pub lag: u32,
    /// Whether the paths are those of an Enterprise server.
    pub enterprise: bool,
    pub faults: Vec<PlannedFault>,
    pub calls: Vec<Call>,
    pub writes: Vec<Write>,
    pub violations: Vec<String>,
}

impl State {
    pub fn new(world: World) -> Self {
        Self {
            world,
            replica: None,
            lag: 0,
            enterprise: false,
            faults: Vec::new(),
            calls: Vec::new(),
            writes: Vec::new(),
            violations: Vec::new(),
        }
    }

    /// Lets `before` matching requests pass, then applies the fault to the next one, or to all.
    pub fn plan_fault(&mut self, operation: &str, before: u32, fault: Fault, repeats: bool) {
        let operation = operation.to_owned();
        self.faults.push(PlannedFault {
            operation,
            before,
            fault,
            repeats,
        });
    }

    /// The fault for a request that matches these names, if one is due.
    pub fn take_fault(&mut self, names: &[&str]) -> Option<Fault> {
        let mut due = None;
        for (index, planned) in self.faults.iter_mut().enumerate() {
            if !names.contains(&planned.operation.as_str()) {
                continue;
            }
            if planned.before > 0 {
                planned.before -= 1;
            } else if due.is_none() {
                due = Some(index);
            }
        }
        let index = due?;
        let fault = self.faults[index].fault;
        if !self.faults[index].repeats {
            self.faults.remove(index);
        }
        Some(fault)
    }
}
