//! Draws popups above everything else: questions, menus, answers.

use orange_driver::WorkspaceInfo;
use orange_engine::input::RequestKind;
use orange_engine::language::verbs::Verb;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::{Block, Borders, Clear, Widget as _};

use super::cursor;
use crate::output::display_width;
use crate::tui::fit::{fold, put};
use crate::tui::keys::matching_bindings;
use crate::tui::layout::{popup_frame_width, popup_width};
use crate::tui::model::Model;
use crate::tui::model::command::Action;
use crate::tui::model::field::Field;
use crate::tui::model::list::Filter;
use crate::tui::model::mode::{Alert, MessageDraft, Mode, Question};
use crate::tui::theme::Tone;

pub(super) fn draw(model: &Model, mode: &Mode, area: Rect, buffer: &mut Buffer) {
    match mode {
        Mode::Confirm(question) => confirm(model, question, area, buffer),
        Mode::Alert(alert) => draw_alert(model, alert, area, buffer),
        Mode::Write(draft) => {
            let question = question_lines(model, draft, area);
            write(model, (&draft.title, &draft.text), &question, area, buffer);
        }
        Mode::Comment(draft) => {
            let place = &draft.place;
            let title = format!("Comment on {}, {}", place.path, place.lines());
            write(model, (&title, &draft.text), &[], area, buffer);
        }
        Mode::Palette(field, chosen) => palette(model, field, *chosen, area, buffer),
        Mode::Moves(chosen) => moves(model, *chosen, area, buffer),
        Mode::Filter(chosen) => {
            let lines = Filter::ALL.iter().map(|(_, name)| (*name).to_owned());
            menu(
                model,
                "Show",
                &lines.collect::<Vec<_>>(),
                *chosen,
                area,
                buffer,
            );
        }
        Mode::Workspaces(found, chosen) => {
            workspaces(model, found.as_deref(), *chosen, area, buffer);
        }
        Mode::Browse
        | Mode::Search(_)
        | Mode::Help(_)
        | Mode::Create(_)
        | Mode::Permission(_)
        | Mode::DemoOver => {}
    }
}

/// Draws a centred frame with room for this many lines; returns the area inside it.
pub(super) fn frame(
    model: &Model,
    title: &str,
    lines: usize,
    area: Rect,
    buffer: &mut Buffer,
) -> Rect {
    let width = popup_frame_width(area.width);
    let max_height = area.height.saturating_sub(2);
    let height = u16::try_from(lines + 2).unwrap_or(u16::MAX).min(max_height);
    let outer = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + 1 + (max_height - height) / 3,
        width,
        height,
    };
    Clear.render(outer, buffer);
    let block = Block::new()
        .borders(Borders::ALL)
        .border_style(model.theme.style(Tone::Key));
    let inner = block.inner(outer);
    block.render(outer, buffer);
    let title = format!(" {title} ");
    let room = width.saturating_sub(4);
    put(
        buffer,
        (outer.x + 2, outer.y),
        room,
        &title,
        model.theme.style(Tone::Strong),
    );
    Rect {
        x: inner.x + 1,
        width: inner.width.saturating_sub(2),
        ..inner
    }
}

/// The width inside a frame.
pub(super) fn room(area: Rect) -> usize {
    popup_width(area.width)
}

pub(super) fn put_lines(model: &Model, lines: &[(Tone, String)], area: Rect, buffer: &mut Buffer) {
    for (y, (tone, line)) in (area.y..area.bottom()).zip(lines) {
        put(
            buffer,
            (area.x, y),
            area.width,
            line,
            model.theme.style(*tone),
        );
    }
}

fn confirm(model: &Model, question: &Question, area: Rect, buffer: &mut Buffer) {
    let width = room(area);
    let mut lines = Vec::new();
    for line in fold(&question.text, width) {
        lines.push((Tone::Strong, line));
    }
    lines.push((Tone::Plain, String::new()));
    lines.extend(paragraphs(&question.consequences, width));
    lines.push((Tone::Plain, String::new()));
    let choices = question.choices.iter();
    let keys = choices.map(|choice| format!("{} {}   ", choice.key, choice.label));
    lines.push((Tone::Key, keys.collect::<String>() + "n no"));
    let inside = frame(model, "Confirm", lines.len(), area, buffer);
    put_lines(model, &lines, inside, buffer);
}

/// Folds texts into lines; an empty text becomes an empty line.
fn paragraphs(texts: &[String], width: usize) -> impl Iterator<Item = (Tone, String)> {
    let fold = move |text: &String| match text.as_str() {
        "" => vec![String::new()],
        text => fold(text, width),
    };
    let lines = texts.iter().flat_map(fold);
    lines.map(|line| (Tone::Plain, line))
}

fn draw_alert(model: &Model, alert: &Alert, area: Rect, buffer: &mut Buffer) {
    let width = room(area);
    let mut lines = Vec::new();
    for line in &alert.lines {
        lines.extend(fold(line, width).into_iter().map(|it| (Tone::Plain, it)));
    }
    for hint in &alert.hints {
        lines.push((Tone::Plain, String::new()));
        let hint = format!("hint: {hint}");
        lines.extend(fold(&hint, width).into_iter().map(|it| (Tone::Key, it)));
    }
    let inside = frame(model, &alert.title, lines.len(), area, buffer);
    put_lines(model, &lines, inside, buffer);
}

fn write(
    model: &Model,
    (title, text): (&str, &Field),
    question: &[(Tone, String)],
    area: Rect,
    buffer: &mut Buffer,
) {
    // The agent's output or the diff, which the text is about, stays visible below.
    let height = (area.height / 4).clamp(4, 10);
    let above = u16::try_from(question.len()).unwrap_or(u16::MAX);
    let top = Rect {
        height: height
            .saturating_add(above)
            .saturating_add(4)
            .min(area.height),
        ..area
    };
    let lines = usize::from(height) + question.len();
    let inside = frame(model, title, lines, top, buffer);
    put_lines(model, question, inside, buffer);
    let above = above.min(inside.height);
    let below = Rect {
        y: inside.y + above,
        height: inside.height - above,
        ..inside
    };
    field(model, text, below, true, buffer);
}

/// The question that the user is answering, in at most half of the screen.
fn question_lines(model: &Model, draft: &MessageDraft, area: Rect) -> Vec<(Tone, String)> {
    let glance = match &draft.action {
        Action::Ask {
            task,
            ask: RequestKind::Tell { .. },
            ..
        } => model.list.entry(task),
        _ => None,
    };
    let glance = glance.and_then(|entry| entry.glance.as_ref());
    let Some(question) = glance.and_then(|it| it.question.as_ref()) else {
        return paragraphs(&draft.explanation, room(area)).collect();
    };
    let mut lines = fold(question, room(area));
    let max_lines = usize::from(area.height / 2).max(1);
    if lines.len() > max_lines {
        lines.truncate(max_lines - 1);
        lines.push(String::from("… the rest is in the tab `task`"));
    }
    let lines = lines.into_iter().map(|line| (Tone::Strong, line));
    lines.chain([(Tone::Plain, String::new())]).collect()
}

/// Draws a text that is being typed, scrolled to its cursor.
pub(super) fn field(model: &Model, text: &Field, area: Rect, has_focus: bool, buffer: &mut Buffer) {
    let style = model.theme.style(Tone::Plain);
    let (line, column) = text.cursor_position();
    let height = usize::from(area.height).max(1);
    let width = usize::from(area.width).max(1);
    let first = (line + 1).saturating_sub(height);
    let skipped = (column + 1).saturating_sub(width);
    for (y, text) in (area.y..area.bottom()).zip(text.text().split('\n').skip(first)) {
        let (shown, gap) = after_columns(text, skipped);
        let x = (area.x + gap).min(area.right());
        put(buffer, (x, y), area.right() - x, shown, style);
    }
    if has_focus {
        let x = area.x + u16::try_from(column - skipped).unwrap_or(0);
        let y = area.y + u16::try_from(line - first).unwrap_or(0);
        cursor(buffer, (x, y), model.theme.style(Tone::Chosen));
    }
}

/// The part of a line after this many columns, and the columns left empty by a wide character that
/// begins before them.
fn after_columns(line: &str, columns: usize) -> (&str, u16) {
    let mut passed = 0;
    for (at, character) in line.char_indices() {
        if passed >= columns {
            let gap = u16::try_from(passed - columns).unwrap_or(0);
            return (&line[at..], gap);
        }
        passed += display_width(character.encode_utf8(&mut [0; 4]));
    }
    ("", 0)
}

fn menu(
    model: &Model,
    title: &str,
    lines: &[String],
    chosen: usize,
    area: Rect,
    buffer: &mut Buffer,
) {
    let inside = frame(model, title, lines.len().max(1), area, buffer);
    list(model, lines, chosen, inside, buffer);
}

/// Draws lines of which one is selected, scrolled to it.
fn list(model: &Model, lines: &[String], chosen: usize, area: Rect, buffer: &mut Buffer) {
    let height = usize::from(area.height).max(1);
    let first = (chosen + 1).saturating_sub(height);
    let shown = lines.iter().enumerate().skip(first);
    for (y, (number, line)) in (area.y..area.bottom()).zip(shown) {
        put(
            buffer,
            (area.x, y),
            area.width,
            line,
            model.theme.style(Tone::Plain),
        );
        if number == chosen {
            let row = Rect {
                y,
                height: 1,
                ..area
            };
            buffer.set_style(row, model.theme.style(Tone::Chosen));
        }
    }
}

fn palette(model: &Model, typed: &Field, chosen: usize, area: Rect, buffer: &mut Buffer) {
    let matching = matching_bindings(model, typed.text());
    let lines: Vec<String> = matching
        .iter()
        .map(|it| format!("{:<6} {}", it.key_label, it.label))
        .collect();
    let height = usize::from(area.height.saturating_sub(6)).min(16);
    let inside = frame(model, "Commands", height + 1, area, buffer);
    let line = Rect {
        height: 1,
        ..inside
    };
    let at = (line.x, line.y);
    put(buffer, at, 1, ":", model.theme.style(Tone::Key));
    let typing = Rect {
        x: line.x + 1,
        width: line.width.saturating_sub(1),
        ..line
    };
    field(model, typed, typing, true, buffer);
    let rest = Rect {
        y: inside.y + 1,
        height: inside.height.saturating_sub(1),
        ..inside
    };
    list(model, &lines, chosen, rest, buffer);
}

fn moves(model: &Model, chosen: usize, area: Rect, buffer: &mut Buffer) {
    let Some(entry) = model.list.selected() else {
        return;
    };
    let lines: Vec<String> = entry
        .ways()
        .map(|way| {
            let to = way.to.as_ref().map(ToString::to_string).unwrap_or_default();
            let is_merge = way.verbs.contains(&Verb::Merge);
            let to = if is_merge { to + " (merge)" } else { to };
            let moved = is_merge && entry.has_new_commits();
            let moved = moved.then(|| String::from("commits after the submitted one"));
            let missing = way.missing.iter().map(ToString::to_string);
            let missing: Vec<String> = missing.chain(moved).collect();
            let needs = match missing.as_slice() {
                [] => String::new(),
                missing => format!("  not yet: {}", missing.join("; ")),
            };
            format!("{to:<14}{needs}")
        })
        .collect();
    let title = format!("Move {} from {} to", entry.row.id, entry.row.status);
    menu(model, &title, &lines, chosen, area, buffer);
}

fn workspaces(
    model: &Model,
    found: Option<&[WorkspaceInfo]>,
    chosen: usize,
    area: Rect,
    buffer: &mut Buffer,
) {
    let lines: Vec<String> = match found {
        None => vec![String::from("loading …")],
        Some([]) => vec![String::from("no workspaces yet")],
        Some(all) => {
            let name_width = all.iter().map(|it| it.name.as_str().len()).max();
            let name_width = name_width.unwrap_or_default();
            let line = |it: &WorkspaceInfo| {
                let task = it.task.as_ref().map(ToString::to_string);
                let task = task.unwrap_or_default();
                format!(
                    "{:<name_width$} {:<9} {task:<8} {}",
                    it.name.as_str(),
                    it.state,
                    it.path.display()
                )
            };
            all.iter().map(line).collect()
        }
    };
    menu(model, "Workspaces", &lines, chosen, area, buffer);
}

#[cfg(test)]
mod tests {
    use super::after_columns;

    #[test]
    fn a_long_line_of_wide_characters_is_scrolled_by_columns() {
        assert_eq!(after_columns("abcd", 3), ("d", 0));
        assert_eq!(after_columns("漢字漢", 4), ("漢", 0));
        assert_eq!(after_columns("漢字漢", 3), ("漢", 1));
        assert_eq!(after_columns("漢", 2), ("", 0));
    }
}
