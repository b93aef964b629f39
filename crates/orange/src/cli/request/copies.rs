//! Warns when a change is recorded and its files are not written.

use orange_driver::Changed;

use crate::cli::hint_paragraph;
use crate::output::{Paragraph, Style, Text};

/// What could not be written of what was recorded.
pub fn copies_complaint(changed: &Changed, width: Option<usize>) -> Text {
    let mut text = Text::new();
    if let Some(error) = &changed.copies_failed {
        let task = &changed.task.id;
        let warning = Paragraph {
            lead: &[(Style::Warn, "warning:")],
            body: &format!("the files of task `{task}` are not up to date: {error}"),
            margin: 0,
            indent: "warning: ".len(),
        };
        text.push_paragraph(&warning, width);
        let hint = "the change itself is recorded; once that is fixed, the next command that \
                    changes the task writes the files too";
        text.push_paragraph(&hint_paragraph(hint, 0), width);
    }
    text
}
