//! How things look: the terminal's own sixteen colours, or none.

use ratatui::style::{Color, Modifier, Style};

/// Which palette is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// On a dark ground.
    Dark,
    /// On a light ground.
    Light,
    /// Nobody wants colour: shape alone tells.
    Plain,
}

/// What something is, which decides how it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Nothing special.
    Plain,
    /// A name or a heading.
    Strong,
    /// What matters less.
    Dim,
    /// What is right.
    Good,
    /// What somebody should look at.
    Warn,
    /// What is wrong.
    Bad,
    /// What can be pressed.
    Key,
    /// What is chosen.
    Chosen,
    /// A line that was added.
    Added,
    /// A line that was removed.
    Removed,
    /// Where in a file.
    Place,
}

impl Theme {
    /// The palette for what the environment says of the terminal's ground.
    pub fn of(is_coloured: bool, ground: Option<&str>) -> Theme {
        if !is_coloured {
            return Theme::Plain;
        }
        // `COLORFGBG` is `foreground;background`; of the sixteen, 7 and 15 are light.
        let ground = ground.and_then(|it| it.rsplit(';').next());
        match ground {
            Some("7" | "15") => Theme::Light,
            _ => Theme::Dark,
        }
    }

    /// How something looks.
    pub fn style(self, tone: Tone) -> Style {
        let plain = Style::new();
        let strong = plain.add_modifier(Modifier::BOLD);
        match (self, tone) {
            (_, Tone::Plain) | (Theme::Plain, Tone::Good | Tone::Added | Tone::Removed) => plain,
            (_, Tone::Strong) | (Theme::Plain, Tone::Warn | Tone::Bad | Tone::Key) => strong,
            (_, Tone::Dim) | (Theme::Plain, Tone::Place) => plain.add_modifier(Modifier::DIM),
            (_, Tone::Chosen) => plain.add_modifier(Modifier::REVERSED),
            (_, Tone::Good | Tone::Added) => plain.fg(Color::Green),
            (_, Tone::Bad) => strong.fg(Color::Red),
            (_, Tone::Removed) => plain.fg(Color::Red),
            (Theme::Dark, Tone::Warn) => plain.fg(Color::Yellow),
            // Yellow cannot be read on a light ground.
            (Theme::Light, Tone::Warn) => plain.fg(Color::Magenta),
            (Theme::Dark, Tone::Key | Tone::Place) => plain.fg(Color::Cyan),
            (Theme::Light, Tone::Key | Tone::Place) => plain.fg(Color::Blue),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ground_is_dark_unless_the_terminal_says_otherwise() {
        assert_eq!(Theme::of(true, None), Theme::Dark);
        assert_eq!(Theme::of(true, Some("15;0")), Theme::Dark);
        assert_eq!(Theme::of(true, Some("0;15")), Theme::Light);
        assert_eq!(Theme::of(true, Some("0;default;7")), Theme::Light);
        assert_eq!(Theme::of(false, Some("0;15")), Theme::Plain);
    }
}
