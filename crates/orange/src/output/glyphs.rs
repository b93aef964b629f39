//! Replaces our non-ASCII signs for terminals that show only ASCII.

use std::borrow::Cow;

use super::text::{FIRST_STRONG_ISOLATE, POP_ISOLATE};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Glyphs {
    Unicode,
    Ascii,
}

/// Our own signs and their replacements, of the same width, so that tables stay aligned.
const SIGNS: [(char, char); 6] = [
    ('●', '*'),
    ('○', 'o'),
    ('✗', 'x'),
    ('…', '~'),
    ('→', '>'),
    ('·', '-'),
];

impl Glyphs {
    /// The glyphs that the locale can show. Without a locale, Unicode is assumed.
    pub fn of(locale: Option<&str>) -> Glyphs {
        let locale = locale.map(str::to_ascii_lowercase);
        match locale {
            Some(locale) if !locale.contains("utf-8") && !locale.contains("utf8") => Glyphs::Ascii,
            _ => Glyphs::Unicode,
        }
    }

    /// The text as printed. Only our own signs are replaced: anything else may be part of a name.
    pub(super) fn render(self, text: &str, is_terminal: bool) -> Cow<'_, str> {
        if text.is_ascii() {
            return Cow::Borrowed(text);
        }
        let is_isolate = |it: char| it == FIRST_STRONG_ISOLATE || it == POP_ISOLATE;
        // Unicode isolates protect neighbouring text on a terminal; elsewhere the output must be
        // exact.
        let drops_isolates = !is_terminal && text.contains(is_isolate);
        let is_sign = |it: char| SIGNS.iter().any(|(sign, _)| *sign == it);
        let replaces_signs = self == Glyphs::Ascii && text.contains(is_sign);
        if !drops_isolates && !replaces_signs {
            return Cow::Borrowed(text);
        }
        let replace = |it: char| {
            let replacement = SIGNS.iter().find(|(sign, _)| replaces_signs && *sign == it);
            replacement.map_or(it, |(_, replacement)| *replacement)
        };
        let kept = text
            .chars()
            .filter(|it| !(drops_isolates && is_isolate(*it)));
        Cow::Owned(kept.map(replace).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_locale_decides_which_glyphs_are_used() {
        for (locale, glyphs) in [
            (None, Glyphs::Unicode),
            (Some("de_DE.UTF-8"), Glyphs::Unicode),
            (Some("C.utf8"), Glyphs::Unicode),
            (Some("C"), Glyphs::Ascii),
            (Some("POSIX"), Glyphs::Ascii),
            (Some("de_DE.ISO-8859-1"), Glyphs::Ascii),
        ] {
            assert_eq!(Glyphs::of(locale), glyphs, "{locale:?}");
        }
    }

    #[test]
    fn our_glyphs_are_replaced_and_names_are_not() {
        assert_eq!(Glyphs::Ascii.render("● ä …", true), "* ä ~");
        assert_eq!(Glyphs::Unicode.render("● ä …", true), "● ä …");
        let isolated = "\u{2068}ש\u{2069}";
        assert_eq!(Glyphs::Unicode.render(isolated, true), isolated);
        assert_eq!(Glyphs::Unicode.render(isolated, false), "ש");
    }
}
