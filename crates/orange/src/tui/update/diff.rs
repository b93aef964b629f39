//! What keys do in the diff.

use crate::tui::layout::diff_room;
use crate::tui::model::Model;
use crate::tui::model::diff::{LineKind, Row};
use crate::tui::model::field::Field;
use crate::tui::model::mode::{CommentDraft, Mode};
use crate::tui::model::review::CommentPlace;
use crate::tui::theme::Tone;

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
        Row::Heading(_) | Row::Comment(..) => false,
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
    let (room, Some(task)) = (diff_room(model), model.detail.task.clone()) else {
        return;
    };
    let (diff, files) = model.detail.diff_mut();
    diff.fold(files, &model.drafts.review(&task), room);
}

pub(super) fn toggle_viewed(model: &mut Model) {
    let Some(task) = model.detail.task.clone() else {
        return;
    };
    let (diff, files) = model.detail.diff_mut();
    if let Some(number) = diff.file() {
        let file = &files[number];
        diff.fold_by_default(file);
        diff.go_to_heading(number);
        model
            .drafts
            .change_review(&task, |it| it.toggle_viewed(file));
    }
}

/// Opens the comment at the cursor, or a new one on the selected lines.
pub(super) fn comment(model: &mut Model) {
    let Some(task) = model.detail.task.clone() else {
        return;
    };
    let review = model.drafts.review(&task).into_owned();
    let (diff, files) = model.detail.diff_mut();
    let place = match diff.row(diff.cursor()) {
        Some(Row::Comment(_, at, _)) => review.comments.get(at).map(|it| it.place.clone()),
        _ => diff
            .selected_lines()
            .and_then(|(file, first, last)| CommentPlace::new(&files[file], first, last)),
    };
    let Some(place) = place else {
        let text = if model.detail.has_commentable_file() {
            "move the cursor to a line of the file first"
        } else {
            "this file has no lines to comment on"
        };
        model.set_notice(Tone::Warn, text);
        return;
    };
    diff.end_selection();
    let text = Field::of(review.comment_on(&place).unwrap_or_default());
    model.mode = Mode::Comment(CommentDraft { task, place, text });
}

pub(super) fn point_at(model: &mut Model, line: u16) {
    let room = diff_room(model);
    let (diff, files) = model.detail.diff_mut();
    diff.point_at(line.into(), files, room);
}
