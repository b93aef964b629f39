//! Child tasks in the list: each names its parent.

use orange_driver::ListChange;
use orange_engine::language::workflow::Kind;
use orange_engine::names::TaskId;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::sample::{model, row};
use crate::tui::model::message::Message;
use crate::tui::update::update;
use crate::tui::view::draw_on;

#[test]
fn a_child_names_its_parent() {
    let mut model = model();
    let mut child = row("ch1d", "pending", Kind::Queued, "The first part");
    child.parent = Some(TaskId::new("w0rk"));
    let change = ListChange {
        sequence: 8,
        is_whole: false,
        rows: vec![child],
        gone: Vec::new(),
    };
    update(&mut model, Message::Changed(change));
    let area = Rect::new(0, 0, 100, 30);
    update(&mut model, Message::Resized(area.width, area.height));
    let mut buffer = Buffer::empty(area);
    draw_on(&model, area, &mut buffer);
    let line = |y| (0..area.width).map(move |x| (x, y));
    let line = |y| line(y).map(|at| buffer[at].symbol()).collect::<String>();
    let lines: Vec<String> = (0..area.height).map(line).collect();
    let named: Vec<&String> = lines.iter().filter(|line| line.contains('↳')).collect();
    assert_eq!(named.len(), 1, "{lines:#?}");
    assert!(named[0].contains("ch1d"), "{named:?}");
    assert!(named[0].contains("↳ w0rk The first part"), "{named:?}");
}
