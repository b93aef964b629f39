//! Which agents did the work of a task.

use orange_engine::Task;
use orange_engine::effect::{Effect, Spawn};
use orange_engine::event::Fact;
use orange_engine::role::Role;
use orange_store::{Store, StoreError};

/// The agents that worked on a task and on its children, as `HARNESS` or `HARNESS:MODEL`, in the
/// order of their first starts. A reviewer changes nothing, so it is not named.
pub(super) fn assistants(store: &Store, task: &Task) -> Result<Vec<String>, StoreError> {
    let mut names: Vec<String> = Vec::new();
    let mut add = |name: String| {
        if !names.contains(&name) {
            names.push(name);
        }
    };
    let spawns = spawns(store, task)?;
    for run in store.runs(&task.id)? {
        // A run that was never prepared was never started.
        if run.setup.is_none() || run.role == Role::Reviewer {
            continue;
        }
        let spawn = spawns.iter().find(|it| it.run == run.id);
        let spawn = spawn.filter(|it| it.harness == run.harness);
        let model = spawn.and_then(|it| it.model.as_deref());
        let model = model.map(|it| format!(":{it}"));
        add(format!("{}{}", run.harness, model.unwrap_or_default()));
    }
    for child in task.children.keys() {
        if let Some(child) = store.load(child)? {
            assistants(store, &child.task)?
                .into_iter()
                .for_each(&mut add);
        }
    }
    Ok(names)
}

/// Every start that was planned for a task.
fn spawns(store: &Store, task: &Task) -> Result<Vec<Spawn>, StoreError> {
    let events = store.events(&task.id, 0)?.into_iter();
    let spawns = events.filter_map(|it| match it.event.fact {
        Fact::EffectPlanned(planned) => match planned.effect {
            Effect::Spawn(spawn) => Some(spawn),
            Effect::NotifyRole(notify) => notify.spawn_if_absent,
            _ => None,
        },
        _ => None,
    });
    Ok(spawns.collect())
}
