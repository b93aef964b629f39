//! What a change of a workflow changes in behaviour.
//!
//! Two loaded workflows are compared by what `decide` would make of them: who may ask for what,
//! what must be shown, what happens then, what the end of an agent leads to. What only reads
//! differently is no difference. A comparison is data; each piece of it has one sentence.

mod align;
mod change;
mod compare;
mod deaths;
mod hook_step;
mod lines;
pub(crate) mod needs;
mod order;
mod passages;
mod states;
mod steps;
mod values;
mod way_wording;
mod ways;
mod whole;
mod wording;
mod words;

pub use change::{Change, Difference, Opening, ParameterChange, Sign, Way, Who};
pub use deaths::Fate;
pub use lines::{Line, lines};
pub use needs::Need;
pub use steps::Step;
pub use values::Values;

use std::collections::BTreeMap;

use crate::language::Workflow;
use crate::names::{PromptName, Status};
use ways::Both;

/// Every difference in behaviour: status by status in the order of the new workflow, then what is
/// gone, then what concerns the whole workflow.
pub fn diff(old: &Workflow, new: &Workflow) -> Vec<Difference> {
    let both = Both::new(old, new);
    let mut differences = states::added_and_removed(&both);
    differences.extend(states::changed(&both));
    let mut ways = both.ways();
    order::tried_before(&both, &mut ways);
    differences.extend(ways);
    differences.extend(order::orders(&both));
    differences.extend(deaths::deaths(&both));
    differences.extend(whole::whole(&both));
    let order: Vec<&Status> = new
        .states
        .iter()
        .chain(&old.states)
        .map(|it| &it.name)
        .collect();
    differences.sort_by_key(|difference| {
        let place = |status| order.iter().position(|name| *name == status);
        difference
            .status
            .as_ref()
            .and_then(place)
            .unwrap_or(order.len())
    });
    tell_prompts_once(&mut differences);
    differences
}

/// A prompt says the same wherever it is used, so that what changed in it is told once, at the end.
fn tell_prompts_once(differences: &mut Vec<Difference>) {
    let mut prompts: BTreeMap<PromptName, Change> = BTreeMap::new();
    differences.retain(|difference| match &difference.change {
        Change::PromptChanged { prompt, .. } => {
            prompts.insert(prompt.clone(), difference.change.clone());
            false
        }
        _ => true,
    });
    differences.extend(prompts.into_values().map(|change| Difference {
        status: None,
        way: None,
        change,
    }));
}
