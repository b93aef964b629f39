//! Which characters of a text a terminal shows.

/// What follows the opening of a control sequence.
#[derive(Clone, Copy)]
enum Opening {
    /// The next character says what follows.
    Escape,
    /// Parameters and a letter, as for a colour.
    Parameters,
    /// Text up to a terminator, as for a title or a link.
    Text,
}

/// The openings, as control characters and as escapes in strings, such as `\x1b`.
const OPENINGS: &[(&str, Opening)] = &[
    ("\u{1b}", Opening::Escape),
    ("\\u001b", Opening::Escape),
    ("\\u001B", Opening::Escape),
    ("\\x1b", Opening::Escape),
    ("\\x1B", Opening::Escape),
    ("\\033", Opening::Escape),
    ("\\e", Opening::Escape),
    ("\\E", Opening::Escape),
    ("\u{9b}", Opening::Parameters),
    ("\\u009b", Opening::Parameters),
    ("\\u009B", Opening::Parameters),
    ("\\x9b", Opening::Parameters),
    ("\\x9B", Opening::Parameters),
    ("\u{90}", Opening::Text),
    ("\u{98}", Opening::Text),
    ("\u{9d}", Opening::Text),
    ("\u{9e}", Opening::Text),
    ("\u{9f}", Opening::Text),
    ("\\u009d", Opening::Text),
    ("\\u009D", Opening::Text),
    ("\\x9d", Opening::Text),
    ("\\x9D", Opening::Text),
];

/// What ends the text of a sequence; an escape followed by a backslash ends it too.
const TERMINATORS: [&str; 8] = [
    "\u{7}", "\u{9c}", "\\u0007", "\\u009c", "\\x07", "\\x9c", "\\007", "\\a",
];

/// Maximum number of parameter and intermediate characters in a sequence.
const MAX_PARAMETERS: usize = 64;

/// The positions of the characters that a terminal shows: those that are neither invisible nor part
/// of a control sequence, real or escaped.
pub fn visible_positions(text: &[char]) -> Vec<usize> {
    let mut kept = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        if let Some(length) = sequence(&text[at..]) {
            at += length;
            continue;
        }
        if !is_invisible(text[at]) {
            kept.push(at);
        }
        at += 1;
    }
    kept
}

/// The positions in `visible` that remain when lines are joined: all but line breaks and the blanks
/// around them.
pub fn joined_positions(text: &[char], visible: &[usize]) -> Vec<usize> {
    let mut kept: Vec<usize> = Vec::with_capacity(visible.len());
    let mut is_after_break = false;
    for at in visible {
        let c = text[*at];
        if matches!(c, '\n' | '\r') {
            while kept
                .last()
                .is_some_and(|it| matches!(text[*it], ' ' | '\t'))
            {
                kept.pop();
            }
            is_after_break = true;
        } else if !(is_after_break && matches!(c, ' ' | '\t')) {
            kept.push(*at);
            is_after_break = false;
        }
    }
    kept
}

/// Characters without a glyph: those that Unicode lets programs ignore, and control characters.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
        || (c.is_control() && !c.is_whitespace())
}

/// The length of the control sequence with which the text begins, if it does.
fn sequence(text: &[char]) -> Option<usize> {
    let first = *text.first()?;
    if first != '\\' && !first.is_control() {
        return None;
    }
    let (start, opening) = opening(text)?;
    let (start, opening) = match (opening, text.get(start)) {
        (Opening::Escape, Some('[')) => (start + 1, Opening::Parameters),
        (Opening::Escape, Some(']' | 'P' | 'X' | '^' | '_')) => (start + 1, Opening::Text),
        (opening, _) => (start, opening),
    };
    let rest = &text[start..];
    let length = match opening {
        Opening::Parameters => parameters(rest)?,
        Opening::Text => terminated(rest)?,
        // This sequence selects a character set: an intermediate character, then the set.
        Opening::Escape => match rest {
            [' '..='/', '0'..='~', ..] => 2,
            _ => return None,
        },
    };
    Some(start + length)
}

fn opening(text: &[char]) -> Option<(usize, Opening)> {
    let mut openings = OPENINGS.iter();
    let (written, opening) = openings.find(|it| starts_with(text, it.0))?;
    Some((written.chars().count(), *opening))
}

/// The length of the parameters together with the letter after them.
fn parameters(rest: &[char]) -> Option<usize> {
    let is_parameter = |c: &&char| (' '..='?').contains(*c);
    let length = rest.iter().take(MAX_PARAMETERS).take_while(is_parameter);
    let length = length.count();
    let is_end = ('@'..='~').contains(rest.get(length)?);
    is_end.then_some(length + 1)
}

/// The length of a text together with its terminator. `None` if another control character or a
/// backslash comes first: it may begin a new sequence.
fn terminated(rest: &[char]) -> Option<usize> {
    for (at, c) in rest.iter().enumerate() {
        if *c != '\\' && !c.is_control() {
            continue;
        }
        let rest = &rest[at..];
        if let Some(end) = TERMINATORS.iter().find(|it| starts_with(rest, it)) {
            return Some(at + end.chars().count());
        }
        let (length, Opening::Escape) = opening(rest)? else {
            return None;
        };
        return match &rest[length..] {
            ['\\', '\\', ..] if *c == '\\' => Some(at + length + 2),
            ['\\', ..] => Some(at + length + 1),
            _ => None,
        };
    }
    None
}

pub fn starts_with(text: &[char], prefix: &str) -> bool {
    let mut characters = text.iter();
    prefix.chars().all(|it| characters.next() == Some(&it))
}
