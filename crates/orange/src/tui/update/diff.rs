//! What keys do in the diff.

use crate::tui::layout::diff_room;
use crate::tui::model::Model;
use crate::tui::model::diff::{LineKind, Row};

/// How many columns a key scrolls sideways.
const COLUMNS: usize = 8;

pub(super) fn move_by(model: &mut Model, by: isize) {
    let room = diff_room(model);
    let (diff, files) = model.detail.diff_mut();
    diff.move_by(by, files, room);
}

pub(super) fn page(model: &mut Model, pages: isize) {
    let height = diff_room(model).height.saturating_sub(2).max(1);
    scroll(model, pages.saturating_mul(height.cast_signed()));
}

pub(super) fn scroll(model: &mut Model, by: isize) {
    let room = diff_room(model);
    let (diff, files) = model.detail.diff_mut();
    diff.scroll_by(by, files, room);
}

pub(super) fn go_to_file(model: &mut Model, is_next: bool) {
    let room = diff_room(model);
    let (diff, files) = model.detail.diff_mut();
    let is_file = |row: Row| matches!(row, Row::Heading(_));
    diff.jump(is_next, is_file, files, room);
}

pub(super) fn go_to_hunk(model: &mut Model, is_next: bool) {
    let room = diff_room(model);
    let (diff, files) = model.detail.diff_mut();
    let is_hunk = |row: Row| match row {
        Row::Line(file, line) => files[file].lines[line].kind == LineKind::Hunk,
        Row::Heading(_) => false,
    };
    diff.jump(is_next, is_hunk, files, room);
}

pub(super) fn scroll_sideways(model: &mut Model, by: isize) {
    let room = diff_room(model);
    let (diff, files) = model.detail.diff_mut();
    let widest = diff.widest(files, room).saturating_sub(room.width);
    let to = diff
        .column
        .saturating_add_signed(by * COLUMNS.cast_signed());
    diff.column = to.min(widest.next_multiple_of(COLUMNS));
}

pub(super) fn toggle_wrap(model: &mut Model) {
    let diff = &mut model.detail.diff;
    diff.is_wrapped = !diff.is_wrapped;
    diff.column = 0;
}

pub(super) fn fold(model: &mut Model) {
    let room = diff_room(model);
    let (diff, files) = model.detail.diff_mut();
    diff.fold(files, room);
}

pub(super) fn point_at(model: &mut Model, line: u16) {
    let room = diff_room(model);
    let (diff, files) = model.detail.diff_mut();
    diff.point_at(line.into(), files, room);
}
