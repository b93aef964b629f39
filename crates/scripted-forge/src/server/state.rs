//! The world behind the server, and the record of what was asked.

use serde_json::Value;

use super::fault::Fault;
use crate::world::World;

/// A request and what came of it.
#[derive(Clone, Debug)]
pub struct Call {
    /// GitHub's name of the operation, or `graphql`.
    pub operation: String,
    /// The root fields of a GraphQL request.
    pub fields: Vec<String>,
    pub method: String,
    pub path: String,
    pub viewer: String,
    /// The status of the answer before a fault spoiled it.
    pub status: u16,
    /// What it took of the quota: requests in REST, points in GraphQL.
    pub cost: u64,
    pub fault: Option<Fault>,
}

/// A change that took effect, whether or not the client learnt of it.
#[derive(Clone, Debug)]
pub struct Write {
    /// GitHub's name of the operation or mutation.
    pub operation: String,
    pub viewer: String,
    pub path: String,
    pub input: Value,
}

/// A fault that waits for its request.
#[derive(Clone, Debug)]
pub struct PlannedFault {
    pub operation: String,
    /// How many matching requests still come before it.
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

    /// Lets so many matching requests pass, and then spoils one, or all.
    pub fn plan_fault(&mut self, operation: &str, before: u32, fault: Fault, repeats: bool) {
        let operation = operation.to_owned();
        self.faults.push(PlannedFault {
            operation,
            before,
            fault,
            repeats,
        });
    }

    /// The fault for a request with these names, if its turn has come.
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
