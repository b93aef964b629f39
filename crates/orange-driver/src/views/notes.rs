//! Notes that wait for the user, as items of the attention list.

use std::collections::BTreeMap;

use orange_engine::attention::Item;
use orange_engine::names::ProjectName;
use orange_engine::time::Timestamp;

use crate::context::notes::{NoteState, Notes};
use crate::views::Views;

impl Views {
    /// One item for each project with waiting notes.
    pub(super) fn note_items(&self, project: Option<&ProjectName>) -> Vec<Item> {
        // A damaged file is reported by the commands about notes, and must not hide everything
        // else.
        let notes = Notes::read(&self.context).unwrap_or_default().notes;
        let mut waiting: BTreeMap<&ProjectName, (usize, Timestamp)> = BTreeMap::new();
        for note in notes.iter().filter(|it| it.state == NoteState::Waiting) {
            let entry = waiting.entry(&note.project).or_insert((0, note.at));
            entry.0 += 1;
            entry.1 = entry.1.min(note.at);
        }
        let own = waiting
            .into_iter()
            .filter(|(it, _)| project.is_none_or(|project| project == *it));
        own.map(|(project, (count, since))| Item::from_notes(project, count, since))
            .collect()
    }
}
