//! The styles of text, as terminal escape sequences.

/// The meaning of a word, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Plain,
    Bold,
    Bad,
    Warn,
    Good,
    Hint,
    Dim,
}

impl Style {
    /// The text with this style's escape sequences around it.
    pub(super) fn paint(self, text: &str) -> String {
        let parameters = match self {
            Style::Plain => return text.to_owned(),
            Style::Bold => "1",
            Style::Bad => "1;31",
            Style::Warn => "33",
            Style::Good => "32",
            Style::Hint => "36",
            Style::Dim => "2",
        };
        format!("\u{1b}[{parameters}m{text}\u{1b}[0m")
    }
}
