//! Orders listed tasks as a tree: children below their parents.

use std::collections::{BTreeMap, BTreeSet};

use orange_engine::names::TaskId;
use orange_store::TaskRow;

use crate::views::list::Overview;

impl Overview {
    /// Puts each task below its parent, where that is listed; returns how deep each task stands.
    /// The order among siblings stays.
    pub fn order_as_tree(&mut self) -> BTreeMap<TaskId, usize> {
        let rows = std::mem::take(&mut self.tasks);
        let listed: BTreeSet<TaskId> = rows.iter().map(|row| row.id.clone()).collect();
        let mut roots = Vec::new();
        let mut children: BTreeMap<TaskId, Vec<TaskRow>> = BTreeMap::new();
        for row in rows {
            match row.parent.clone().filter(|parent| listed.contains(parent)) {
                Some(parent) => children.entry(parent).or_default().push(row),
                None => roots.push(row),
            }
        }
        let mut depths = BTreeMap::new();
        // The last of the stack is next, so whole lists are pushed backwards.
        let mut stack: Vec<(usize, TaskRow)> = roots.into_iter().rev().map(|it| (0, it)).collect();
        while let Some((depth, row)) = stack.pop() {
            let own = children.remove(&row.id).unwrap_or_default();
            stack.extend(own.into_iter().rev().map(|child| (depth + 1, child)));
            depths.insert(row.id.clone(), depth);
            self.tasks.push(row);
        }
        // No task is its own ancestor, but a damaged record must not hide a task.
        for row in children.into_values().flatten() {
            depths.insert(row.id.clone(), 0);
            self.tasks.push(row);
        }
        depths
    }
}

#[cfg(test)]
mod tests {
    use orange_engine::names::{ProjectName, Status};

    use super::*;

    fn overview(rows: &[(&str, Option<&str>)]) -> Overview {
        let row = |(id, parent): &(&str, Option<&str>)| TaskRow {
            id: TaskId::new(*id),
            project: ProjectName::new("app"),
            status: Status::new("x"),
            kind: None,
            need: None,
            working_roles: Vec::new(),
            respawnable: Vec::new(),
            branch: String::new(),
            summary: String::new(),
            round: 0,
            entered_at: None,
            attention: Vec::new(),
            runs: BTreeMap::new(),
            children: orange_store::ChildCount::default(),
            parent: parent.map(TaskId::new),
        };
        let mut overview = Overview::default();
        overview.tasks = rows.iter().map(row).collect();
        overview
    }

    fn tree(rows: &[(&str, Option<&str>)]) -> Vec<String> {
        let mut overview = overview(rows);
        let depths = overview.order_as_tree();
        let lines = overview.tasks.iter();
        let lines = lines.map(|row| format!("{}{}", " ".repeat(depths[&row.id]), row.id));
        lines.collect()
    }

    #[test]
    fn children_stand_below_their_parents() {
        let rows = [
            ("c", Some("a")),
            ("lone", None),
            ("deep", Some("c")),
            ("a", None),
            ("b", Some("a")),
            ("orphan", Some("not listed")),
        ];
        let expected = ["lone", "a", " c", "  deep", " b", "orphan"];
        assert_eq!(tree(&rows), expected);
    }

    #[test]
    fn a_task_that_is_its_own_ancestor_is_still_listed() {
        assert_eq!(tree(&[("a", Some("b")), ("b", Some("a"))]).len(), 2);
    }
}
