//! Parses the colours of a captured terminal screen.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::theme::Theme;

/// The terminal's own sixteen colours, by number.
const NAMED: [Color; 16] = [
    Color::Black,
    Color::Red,
    Color::Green,
    Color::Yellow,
    Color::Blue,
    Color::Magenta,
    Color::Cyan,
    Color::Gray,
    Color::DarkGray,
    Color::LightRed,
    Color::LightGreen,
    Color::LightYellow,
    Color::LightBlue,
    Color::LightMagenta,
    Color::LightCyan,
    Color::White,
];

/// A captured line with its colours. `style` carries over to the next line, because a capture sets
/// a colour once, however many lines it spans. Escape sequences that set neither colours nor text
/// attributes are removed.
pub fn line(text: &str, style: &mut Style, theme: Theme) -> Line<'static> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        if let Some((parameters, length)) = colour(rest) {
            flush(&mut plain, *style, theme, &mut spans);
            *style = apply(*style, parameters);
            rest = &rest[length..];
            continue;
        }
        let length = if character == '\u{1b}' {
            escape_length(rest)
        } else {
            if character == '\t' {
                plain.push(' ');
            } else if !character.is_control() {
                plain.push(character);
            }
            character.len_utf8()
        };
        rest = &rest[length..];
    }
    flush(&mut plain, *style, theme, &mut spans);
    Line::from(spans)
}

fn flush(plain: &mut String, style: Style, theme: Theme, spans: &mut Vec<Span<'static>>) {
    if !plain.is_empty() {
        let style = match theme {
            Theme::Plain => Style {
                fg: None,
                bg: None,
                ..style
            },
            _ => style,
        };
        spans.push(Span::styled(std::mem::take(plain), style));
    }
}

/// The parameters and the length of the escape sequence at the start, if it sets colours or text
/// attributes.
fn colour(text: &str) -> Option<(&str, usize)> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let is_parameter = |it: char| it.is_ascii_digit() || matches!(it, ';' | ':');
    let end = parameters.find(|it| !is_parameter(it))?;
    let is_colour = parameters.as_bytes().get(end) == Some(&b'm');
    is_colour.then_some((&parameters[..end], 2 + end + 1))
}

/// The length of the escape sequence at the start of the text, of any kind.
fn escape_length(text: &str) -> usize {
    let mut characters = text.char_indices().skip(1);
    match characters.next() {
        // A string sequence ends with a bell, or with an escape and a backslash.
        Some((_, ']' | 'P' | 'X' | '^' | '_')) => {
            let bell = text.find('\u{7}').map(|at| at + 1);
            let end = text.get(1..).and_then(|it| it.find("\u{1b}\\"));
            let end = end.map(|at| at + 3);
            let ends = [bell, end].into_iter().flatten();
            ends.min().unwrap_or(text.len())
        }
        Some((_, '[')) => characters
            .find(|(_, it)| ('\u{40}'..='\u{7e}').contains(it))
            .map_or(text.len(), |(at, it)| at + it.len_utf8()),
        // The choice of a character set: escape, kind, and one more character.
        Some((_, '(' | ')' | '*' | '+')) => characters
            .next()
            .map_or(text.len(), |(at, it)| at + it.len_utf8()),
        Some((at, it)) => at + it.len_utf8(),
        None => text.len(),
    }
}

fn apply(style: Style, parameters: &str) -> Style {
    let numbers: Vec<u8> = parameters
        .split([';', ':'])
        .map(|it| it.parse().unwrap_or(0))
        .collect();
    let mut style = style;
    let mut rest = numbers.as_slice();
    while let [first, later @ ..] = rest {
        rest = later;
        let modifier = |it| (it, true);
        let (change, is_on) = match first {
            0 => {
                style = Style::new();
                continue;
            }
            1 => modifier(Modifier::BOLD),
            2 => modifier(Modifier::DIM),
            3 => modifier(Modifier::ITALIC),
            4 => modifier(Modifier::UNDERLINED),
            5 => modifier(Modifier::SLOW_BLINK),
            7 => modifier(Modifier::REVERSED),
            9 => modifier(Modifier::CROSSED_OUT),
            22 => (Modifier::BOLD | Modifier::DIM, false),
            23 => (Modifier::ITALIC, false),
            24 => (Modifier::UNDERLINED, false),
            25 => (Modifier::SLOW_BLINK, false),
            27 => (Modifier::REVERSED, false),
            29 => (Modifier::CROSSED_OUT, false),
            30..=37 => {
                style.fg = Some(NAMED[usize::from(first - 30)]);
                continue;
            }
            90..=97 => {
                style.fg = Some(NAMED[usize::from(first - 90 + 8)]);
                continue;
            }
            40..=47 => {
                style.bg = Some(NAMED[usize::from(first - 40)]);
                continue;
            }
            100..=107 => {
                style.bg = Some(NAMED[usize::from(first - 100 + 8)]);
                continue;
            }
            39 => {
                style.fg = None;
                continue;
            }
            49 => {
                style.bg = None;
                continue;
            }
            38 | 48 => {
                let (color, later) = extended_colour(rest);
                rest = later;
                if *first == 38 {
                    style.fg = color;
                } else {
                    style.bg = color;
                }
                continue;
            }
            _ => continue,
        };
        style = if is_on {
            style.add_modifier(change)
        } else {
            style.remove_modifier(change)
        };
    }
    style
}

/// Reads a colour that is given as an index into 256 colours, or as red, green and blue. Also
/// returns the numbers after it.
fn extended_colour(rest: &[u8]) -> (Option<Color>, &[u8]) {
    match rest {
        [5, index, later @ ..] => (Some(Color::Indexed(*index)), later),
        [2, red, green, blue, later @ ..] => (Some(Color::Rgb(*red, *green, *blue)), later),
        _ => (None, &[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, Style)> {
        let line = line(text, &mut Style::new(), Theme::Dark);
        let spans = line.spans.into_iter();
        spans
            .map(|span| (span.content.into_owned(), span.style))
            .collect()
    }

    #[test]
    fn only_colour_sequences_are_interpreted() {
        let red = Style::new().fg(Color::Red);
        let plain = Style::new();
        assert_eq!(
            read("a\u{1b}[31mb\u{1b}[0mc"),
            [("a".into(), plain), ("b".into(), red), ("c".into(), plain)]
        );
        let exact = Style::new().fg(Color::Rgb(1, 2, 3)).bg(Color::Indexed(200));
        assert_eq!(read("\u{1b}[38;2;1;2;3;48;5;200mx"), [("x".into(), exact)]);
        assert_eq!(
            read("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{7}\u{1b}[2J\u{1b}(B\t.\u{8}"),
            [("link .".into(), plain)]
        );
        for broken in [
            "\u{1b}",
            "\u{1b}[",
            "\u{1b}[38;5",
            "\u{1b}]8;;",
            "\u{1b}[38;2;1m",
        ] {
            assert_eq!(read(broken).len(), 0, "{broken:?}");
        }
    }

    #[test]
    fn a_colour_lasts_until_it_ends() {
        let mut style = Style::new();
        line("\u{1b}[1;32ma", &mut style, Theme::Dark);
        let next = line("b\u{1b}[22m", &mut style, Theme::Dark);
        assert_eq!(next.spans[0].style.fg, Some(Color::Green));
        assert!(next.spans[0].style.add_modifier.contains(Modifier::BOLD));
        assert!(!style.add_modifier.contains(Modifier::BOLD));
    }

    #[test]
    fn without_colour_only_shape_is_left() {
        let line = line("\u{1b}[1;31;44ma", &mut Style::new(), Theme::Plain);
        let style = line.spans[0].style;
        assert_eq!((style.fg, style.bg), (None, None));
        assert!(style.add_modifier.contains(Modifier::BOLD));
    }
}
