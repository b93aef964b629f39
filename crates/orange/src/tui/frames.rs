//! Records every frame, for tests only.
//!
//! In a normal build both functions do nothing. With the feature `crash-points`, and if the home
//! has a file `crash-points/frames`, each frame adds a line to that file: which commit of the store
//! the frame shows, how long it took, and what was drawn of the list.

#[cfg(feature = "crash-points")]
pub use recorder::{record_frame, start_frame};

use ratatui::buffer::Buffer;

use super::model::Model;

/// Called when a message has arrived; a frame will follow.
#[cfg(not(feature = "crash-points"))]
pub fn start_frame() {}

/// Called after a frame was drawn; `None` if another program has the terminal.
#[cfg(not(feature = "crash-points"))]
pub fn record_frame(_model: &Model, _frame: Option<&Buffer>) {}

#[cfg(feature = "crash-points")]
mod recorder {
    use std::cell::RefCell;
    use std::fs::{File, OpenOptions};
    use std::io::Write as _;

    use ratatui::layout::Rect;
    use serde_json::json;

    use super::{Buffer, Model};
    use crate::tui::layout::layout;
    use orange_config::clock::Stopwatch;
    use orange_config::{Environment, Home};

    thread_local! {
        static FRAME_LOG: RefCell<FrameLog> = RefCell::new(FrameLog::open());
    }

    struct FrameLog {
        file: Option<File>,
        since: Option<Stopwatch>,
    }

    impl FrameLog {
        fn open() -> FrameLog {
            let home = Home::resolve(&Environment::read());
            let path = home.map(|home| home.path().join("crash-points/frames"));
            let file = path.map(|path| OpenOptions::new().append(true).open(path));
            FrameLog {
                file: file.ok().and_then(Result::ok),
                since: None,
            }
        }
    }

    pub fn start_frame() {
        FRAME_LOG.with_borrow_mut(|log| log.since = Some(Stopwatch::start()));
    }

    pub fn record_frame(model: &Model, frame: Option<&Buffer>) {
        FRAME_LOG.with_borrow_mut(|log| {
            let took = log.since.take().map(Stopwatch::elapsed);
            if let (Some(file), Some(frame)) = (&mut log.file, frame) {
                let places = layout(model);
                let line = json!({
                    "sequence": model.list.sequence,
                    "is_loaded": model.list.is_loaded,
                    "now": model.now.millis(),
                    "micros": took.map(|took| took.as_micros()),
                    "header": text(frame, places.header),
                    "list": text(frame, places.list.unwrap_or_default()),
                });
                // One write: formatted straight into the file, each token would be one.
                let _full = file.write_all(format!("{line}\n").as_bytes());
            }
        });
    }

    /// The text in an area of the frame, by line.
    fn text(frame: &Buffer, area: Rect) -> Vec<String> {
        let area = area.intersection(frame.area);
        let rows = area.rows();
        let line = |row: Rect| {
            let cells = row.positions().map(|at| frame[at].symbol().to_owned());
            cells.collect::<String>().trim_end().to_owned()
        };
        rows.map(line).collect()
    }
}
