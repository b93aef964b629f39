//! The look: the terminal's own sixteen colours, or none.

use orange_config::Background;
use ratatui::style::{Color, Modifier, Style};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    Dark,
    Light,
    /// Colour is off: shape alone carries the meaning.
    Plain,
}

/// The meaning of a text, which decides how it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Strong,
    Dim,
    Good,
    Warn,
    Bad,
    Key,
    Chosen,
    Added,
    Removed,
    Place,
    /// A string or a number in code.
    Literal,
}

impl Theme {
    /// The palette for the terminal's background: what the user has set, else what the environment
    /// says about it.
    pub fn of(
        is_coloured: bool,
        configured: Option<Background>,
        colour_variable: Option<&str>,
    ) -> Theme {
        if !is_coloured {
            return Theme::Plain;
        }
        // `COLORFGBG` is `foreground;background`; of the sixteen colours, 7 and 15 are light.
        let colour_variable = colour_variable.and_then(|it| it.rsplit(';').next());
        match (configured, colour_variable) {
            (Some(Background::Light), _) | (None, Some("7" | "15")) => Theme::Light,
            (Some(Background::Dark) | None, _) => Theme::Dark,
        }
    }

    pub fn style(self, tone: Tone) -> Style {
        let plain = Style::new();
        let strong = plain.add_modifier(Modifier::BOLD);
        match (self, tone) {
            (_, Tone::Plain)
            | (Theme::Plain, Tone::Good | Tone::Added | Tone::Removed | Tone::Literal) => plain,
            (_, Tone::Strong) | (Theme::Plain, Tone::Warn | Tone::Bad | Tone::Key) => strong,
            (_, Tone::Dim) | (Theme::Plain, Tone::Place) => plain.add_modifier(Modifier::DIM),
            (_, Tone::Chosen) => plain.add_modifier(Modifier::REVERSED),
            (_, Tone::Good | Tone::Added) => plain.fg(Color::Green),
            (_, Tone::Bad) => strong.fg(Color::Red),
            (_, Tone::Removed) => plain.fg(Color::Red),
            (Theme::Dark, Tone::Warn) => plain.fg(Color::Yellow),
            // Yellow is unreadable on a light background.
            (Theme::Light, Tone::Warn) => plain.fg(Color::Magenta),
            (Theme::Dark, Tone::Key | Tone::Place | Tone::Literal) => plain.fg(Color::Cyan),
            (Theme::Light, Tone::Key | Tone::Place | Tone::Literal) => plain.fg(Color::Blue),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_background_is_dark_unless_the_terminal_reports_otherwise() {
        assert_eq!(Theme::of(true, None, None), Theme::Dark);
        assert_eq!(Theme::of(true, None, Some("15;0")), Theme::Dark);
        assert_eq!(Theme::of(true, None, Some("0;15")), Theme::Light);
        assert_eq!(Theme::of(true, None, Some("0;default;7")), Theme::Light);
        assert_eq!(Theme::of(false, None, Some("0;15")), Theme::Plain);
    }

    #[test]
    fn the_configured_background_wins() {
        let (dark, light) = (Some(Background::Dark), Some(Background::Light));
        assert_eq!(Theme::of(true, light, Some("15;0")), Theme::Light);
        assert_eq!(Theme::of(true, dark, Some("0;15")), Theme::Dark);
        assert_eq!(Theme::of(false, light, None), Theme::Plain);
    }
}
