//! Parents and children: who is told of whose beginning and end.

use orange_engine::input::{Cause, Observation};
use orange_engine::names::TaskId;
use orange_engine::role::Role;
use orange_engine::schedule::{Place, Standing, circle};
use orange_engine::task::Queueing;
use orange_store::Store;

use crate::step::{Stepped, pinned};
use crate::{Driver, DriverError, Identity};

impl Driver {
    /// The task that a new one is a part of: the one that was named, else the worker's own.
    pub fn parent_meant(
        &self,
        named: Option<&str>,
        asker: &Identity,
    ) -> Result<Option<TaskId>, DriverError> {
        let Some(named) = named else {
            let own = asker.task.clone();
            return Ok(own.filter(|_| asker.role == Role::Worker));
        };
        let named = self.meant(Some(named))?;
        match &asker.task {
            Some(own) if *own != named => Err(DriverError::OtherTask {
                role: asker.role.clone(),
                own: own.clone(),
                asked: named,
            }),
            _ => Ok(Some(named)),
        }
    }

    /// Tells a task of every child that began or ended without its knowing; whether there was one.
    ///
    /// Beginnings come first, so that it does not wake while a child is left that it has not heard
    /// of.
    pub(crate) fn meet_children(
        &self,
        store: &mut Store,
        parent: &TaskId,
    ) -> Result<bool, DriverError> {
        let children = store.children(parent)?;
        if children.is_empty() {
            return Ok(false);
        }
        let known = store.require(parent)?.task.children;
        let is_news = |child: &&Standing| !known.contains_key(&child.task);
        let added = children.iter().filter(is_news).map(|child| {
            let child = child.task.clone();
            Observation::ChildAdded { child }
        });
        let is_end = |child: &&Standing| {
            let was_told = matches!(known.get(&child.task), Some(Some(_)));
            matches!(child.place, Place::Ended { .. }) && !was_told
        };
        let ended = children.iter().filter(is_end).map(|child| {
            let (child, status) = (child.task.clone(), child.status.clone());
            Observation::ChildEnded { child, status }
        });
        let mut has_changed = false;
        for observation in added.chain(ended) {
            let stepped = self.step(store, parent, &Cause::Observation(observation))?;
            has_changed |= matches!(stepped, Stepped::Recorded { .. });
        }
        if has_changed {
            self.leave_to_performer(store, parent)?;
            self.project_files(store, parent)?;
        }
        Ok(has_changed)
    }
}

/// What a new task waits for, checked; a part of another is as urgent as that one when nothing
/// else was said.
pub(crate) fn queueing_of_new(store: &Store, new: &Queueing) -> Result<Queueing, DriverError> {
    let mut queueing = new.clone();
    for after in &new.after {
        store.require(after)?;
    }
    let Some(parent) = &new.parent else {
        return Ok(queueing);
    };
    let stored = store.require(parent)?;
    if pinned(&stored)?.is_terminal(&stored.task.status) {
        return Err(DriverError::ParentEnded {
            task: parent.clone(),
            status: stored.task.status,
        });
    }
    // Only what it comes after can close a circle.
    let others = if new.after.is_empty() {
        Vec::new()
    } else {
        store.standings()?
    };
    if let Some(way) = circle(&others, Some(parent), &new.after) {
        return Err(DriverError::WaitsForItself {
            parent: parent.clone(),
            way,
        });
    }
    if queueing.priority == 0 {
        queueing.priority = stored.task.queueing.priority;
    }
    Ok(queueing)
}
