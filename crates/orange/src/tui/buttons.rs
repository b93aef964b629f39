//! The line of keys at the bottom, which can also be clicked.

use std::borrow::Cow;

use ratatui::crossterm::event::{KeyCode, KeyModifiers};

use super::keys::{Binding, CONTROL, NONE, bindings};
use super::model::Model;
use super::model::mode::{Choice, Mode};
use crate::output::display_width;

/// A key in the footer: how it is shown, what it does, and which key a click presses.
pub type Button = (
    Cow<'static, str>,
    Cow<'static, str>,
    (KeyCode, KeyModifiers),
);

/// The keys that the footer offers for the selected task, the most useful first.
fn browse_buttons(model: &Model) -> Vec<Button> {
    let mut table = bindings(model);
    table.retain(|binding| binding.priority.is_some());
    table.sort_by_key(|binding| std::cmp::Reverse(binding.priority));
    let button = |it: Binding| {
        let pressed = *it.keys.first()?;
        Some((Cow::from(it.key_label), it.label, pressed))
    };
    table.into_iter().filter_map(button).collect()
}

/// The footer: keys and what they do, the most useful first.
pub fn footer(model: &Model) -> Vec<Button> {
    let fixed = |pairs: &[(&'static str, &'static str, (KeyCode, KeyModifiers))]| {
        let pairs = pairs.iter();
        pairs
            .map(|(key, label, pressed)| (Cow::from(*key), Cow::from(*label), *pressed))
            .collect()
    };
    let (enter, escape) = ((KeyCode::Enter, NONE), (KeyCode::Esc, NONE));
    let (down, tab) = ((KeyCode::Down, NONE), (KeyCode::Tab, NONE));
    let letter = |letter| (KeyCode::Char(letter), NONE);
    let control = |letter| (KeyCode::Char(letter), CONTROL);
    match &model.mode {
        Mode::Browse => browse_buttons(model),
        Mode::Search(_) => fixed(&[
            ("Enter", "keep", enter),
            ("↓", "next", down),
            ("Esc", "clear", escape),
        ]),
        Mode::Help(_) => fixed(&[("Esc", "back", escape), ("j", "scroll", letter('j'))]),
        Mode::Alert(alert) => {
            let mut all: Vec<Button> = alert.offer.iter().map(choice_button).collect();
            all.extend(fixed(&[
                ("Esc", "back", escape),
                ("y", "copy", letter('y')),
            ]));
            all
        }
        Mode::Confirm(question) => {
            let mut all: Vec<Button> = question.choices.iter().map(choice_button).collect();
            all.extend(fixed(&[("n", "no", letter('n'))]));
            all
        }
        Mode::DemoOver => fixed(&[("Esc", "look around", escape), ("q", "leave", letter('q'))]),
        Mode::Permission(dialog) if dialog.is_over => fixed(&[("Esc", "back", escape)]),
        Mode::Permission(dialog) => {
            let mut all: Vec<Button> = Vec::new();
            if dialog.is_read {
                all.extend(fixed(&[("a", "allow once", letter('a'))]));
            } else {
                all.extend(fixed(&[("Space", "read on", letter(' '))]));
            }
            all.extend(fixed(&[
                ("d", "deny", letter('d')),
                ("Enter", "open the terminal", enter),
                ("Esc", "back", escape),
            ]));
            all
        }
        mode @ (Mode::Write(_) | Mode::Comment(_)) => fixed(&[
            (
                "^S",
                if matches!(mode, Mode::Write(_)) {
                    "send"
                } else {
                    "keep"
                },
                control('s'),
            ),
            ("^E", "editor", control('e')),
            ("Enter", "new line", enter),
            ("^X", "discard", control('x')),
            ("Esc", "close", escape),
        ]),
        Mode::Create(form) if form.focus.is_text() => fixed(&[
            ("^S", "create", control('s')),
            ("Tab", "next", tab),
            ("^E", "editor", control('e')),
            ("^X", "discard", control('x')),
            ("Esc", "close", escape),
        ]),
        Mode::Create(_) => fixed(&[
            ("^S", "create", control('s')),
            ("Tab", "next", tab),
            ("→", "choose", (KeyCode::Right, NONE)),
            ("^X", "discard", control('x')),
            ("Esc", "close", escape),
        ]),
        Mode::Palette(..) => fixed(&[
            ("Enter", "run", enter),
            ("↓", "next", down),
            ("Esc", "back", escape),
        ]),
        Mode::Moves(_) | Mode::Filter(_) => fixed(&[
            ("Enter", "choose", enter),
            ("j", "next", letter('j')),
            ("Esc", "back", escape),
        ]),
        Mode::Workspaces(Some(found), _) if !found.is_empty() => fixed(&[
            ("Esc", "back", escape),
            ("j", "next", letter('j')),
            ("y", "copy path", letter('y')),
        ]),
        Mode::Workspaces(..) => fixed(&[("Esc", "back", escape)]),
    }
}

fn choice_button(choice: &Choice) -> Button {
    let pressed = (KeyCode::Char(choice.key), NONE);
    (
        Cow::from(choice.key.to_string()),
        Cow::from(choice.label),
        pressed,
    )
}

/// The buttons that fit into the width, each with its first column. Help and quit are always among
/// them.
pub fn buttons(model: &Model) -> Vec<(u16, Button)> {
    let width = |button: &Button| display_width(&button.0) + display_width(&button.1) + 1;
    let room = usize::from(model.width);
    let all = footer(model);
    let is_fixed = |button: &Button| matches!(&*button.0, "?" | "q");
    let mut room_left = room.saturating_sub(1);
    let fixed_width: usize = all
        .iter()
        .filter(|it| is_fixed(it))
        .map(|it| width(it) + 2)
        .sum();
    room_left = room_left.saturating_sub(fixed_width);
    let (mut chosen, mut last): (Vec<Button>, Vec<Button>) = (Vec::new(), Vec::new());
    for button in all {
        if is_fixed(&button) {
            last.push(button);
        } else if width(&button) + 2 <= room_left {
            room_left -= width(&button) + 2;
            chosen.push(button);
        }
    }
    let mut column = 1;
    let placed = chosen.into_iter().chain(last).map(|button| {
        let at = column;
        column += width(&button) + 2;
        (u16::try_from(at).unwrap_or(u16::MAX), button)
    });
    placed.collect()
}
