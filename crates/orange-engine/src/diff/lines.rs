//! The lines of a text that went and came.

use serde::Serialize;

use super::align::{Edit, align};

/// One line of a text that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Line {
    /// It is gone.
    Removed(String),
    /// It was not there.
    Added(String),
    /// Lines that did not change.
    Same,
}

/// The lines that went and came; what lies between two of them is one [`Line::Same`].
pub fn lines(old: &str, new: &str) -> Vec<Line> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let mut lines: Vec<Line> = Vec::new();
    for edit in align(&old, &new, |one, two| one == two) {
        let line = match edit {
            Edit::Removed(place) => old.get(place).map(|it| Line::Removed((*it).to_owned())),
            Edit::Added(place) => new.get(place).map(|it| Line::Added((*it).to_owned())),
            Edit::Kept(..) if lines.last() == Some(&Line::Same) => None,
            Edit::Kept(..) => Some(Line::Same),
        };
        lines.extend(line);
    }
    // Nothing was left out before the first change or after the last.
    if lines.first() == Some(&Line::Same) {
        lines.remove(0);
    }
    if lines.last() == Some(&Line::Same) {
        lines.pop();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_there() {
        let removed = |text: &str| Line::Removed(text.to_owned());
        let added = |text: &str| Line::Added(text.to_owned());
        assert_eq!(lines("a\nb\nc", "a\nb\nc"), []);
        assert_eq!(lines("a\nb\nc", "a\nx\nc"), [removed("b"), added("x")]);
        let both = [removed("a"), Line::Same, added("d")];
        assert_eq!(lines("a\nb\nc", "b\nc\nd"), both);
        assert_eq!(lines("", "a"), [added("a")]);
    }
}
