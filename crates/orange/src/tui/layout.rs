//! The layout of the screen, for drawing and for clicks.

use ratatui::layout::Rect;

use super::model::Model;
use super::model::detail::Tab;
use super::model::diff::Room;

/// From this width on, the list and the selected task are side by side.
const SIDE_BY_SIDE: u16 = 150;

/// Below this width or height, there is room only for the list or only for the task.
const BOTH_WIDTH: u16 = 70;
const BOTH_HEIGHT: u16 = 22;

/// The maximum width of a popup.
const WIDEST_POPUP: u16 = 76;

/// The width of a popup on a screen of this width, with its frame.
pub fn popup_frame_width(screen: u16) -> u16 {
    screen.saturating_sub(2).min(WIDEST_POPUP)
}

/// The width inside the frame.
pub fn popup_width(screen: u16) -> usize {
    usize::from(popup_frame_width(screen).saturating_sub(4))
}

/// The area of each part; `None` if it has no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    pub header: Rect,
    pub list: Option<Rect>,
    pub tabs: Option<Rect>,
    pub detail: Option<Rect>,
    pub status: Rect,
    pub footer: Rect,
}

/// The layout for the terminal size in the model.
pub fn layout(model: &Model) -> Layout {
    let (width, height) = (model.width, model.height);
    let line = |y: u16| Rect::new(0, y.min(height.saturating_sub(1)), width, 1.min(height));
    let body = Rect::new(0, 1, width, height.saturating_sub(3));
    let mut layout = Layout {
        header: line(0),
        status: line(height.saturating_sub(2)),
        footer: line(height.saturating_sub(1)),
        ..Layout::default()
    };
    let mut detail = |area: Rect| {
        layout.tabs = Some(Rect { height: 1, ..area });
        layout.detail = Some(Rect {
            y: area.y + 1,
            height: area.height.saturating_sub(1),
            ..area
        });
    };
    // Without a task in the list, there is no task to show beside it.
    if model.list.lines().is_empty() {
        layout.list = Some(body);
    } else if model.detail.is_zoomed {
        detail(body);
    } else if width >= SIDE_BY_SIDE {
        let left = width * 9 / 20;
        detail(Rect {
            x: left + 1,
            width: width - left - 1,
            ..body
        });
        layout.list = Some(Rect {
            width: left,
            ..body
        });
    } else if width >= BOTH_WIDTH && height >= BOTH_HEIGHT {
        let lines = u16::try_from(model.list.lines().len()).unwrap_or(u16::MAX);
        let top = lines.clamp(4, body.height * 9 / 20);
        detail(Rect {
            y: body.y + top,
            height: body.height - top,
            ..body
        });
        layout.list = Some(Rect {
            height: top,
            ..body
        });
    } else {
        layout.list = Some(body);
    }
    layout
}

/// Whether the diff is on screen. A view without room takes no keys.
pub fn shows_diff(model: &Model) -> bool {
    model.detail.is_at_diff() && layout(model).detail.is_some()
}

/// The room for the lines of a diff: beside them is a column for the cursor and one for the sign.
pub fn diff_room(model: &Model) -> Room {
    let area = layout(model).detail.unwrap_or_default();
    Room {
        width: usize::from(area.width.saturating_sub(2)),
        height: usize::from(area.height),
    }
}

/// Each tab with the column it begins in.
pub fn tab_columns() -> impl Iterator<Item = (u16, Tab)> {
    let mut column = 1;
    Tab::ALL.into_iter().map(move |tab| {
        let at = column;
        // Its number, a space, its name, and two columns of gap.
        column += u16::try_from(tab.title().len()).unwrap_or(0) + 4;
        (at, tab)
    })
}
