//! Names and ids that are safe to pass to tmux.
//!
//! tmux executes `#(…)` in a name, so a branch with such a name would run a program. Names consist
//! of letters, digits and a few signs, and nothing is ever looked up by name.

use orange_engine::names::{BranchName, ProjectName};

use super::TmuxError;

/// The longest name, in characters; a longer one is of no use in a status line.
const MAX_CHARS: usize = 80;

/// The display name of a task's session.
pub fn session_name(project: &ProjectName, branch: &BranchName) -> String {
    plain(&format!("{project}/{branch}"))
}

/// The display name of a window.
pub fn window_name(window: &str) -> String {
    plain(window)
}

fn plain(text: &str) -> String {
    let is_plain = |it: char| it.is_alphanumeric() || "-_/+@,=".contains(it);
    let characters = text.chars().take(MAX_CHARS);
    let name: String = characters
        .map(|it| if is_plain(it) { it } else { '_' })
        .collect();
    // tmux would parse a name with such a first character as a flag, an id or a match pattern.
    match name.chars().next() {
        None => "_".to_owned(),
        Some('-' | '@' | '=' | '+') => format!("_{name}"),
        Some(_) => name,
    }
}

/// Requires one of our ids to have no special meaning to tmux.
pub(super) fn require_plain<'a>(what: &'static str, value: &'a str) -> Result<&'a str, TmuxError> {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_".contains(it);
    let has_plain_start = value.starts_with(|it: char| it.is_ascii_alphanumeric());
    if has_plain_start && value.len() <= MAX_CHARS && value.chars().all(is_plain) {
        return Ok(value);
    }
    Err(TmuxError::NotPlain {
        what,
        value: value.escape_debug().take(MAX_CHARS).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(branch: &str) -> String {
        session_name(&ProjectName::new("app"), &BranchName::new(branch))
    }

    #[test]
    fn lesson_9_dots_and_colons_are_replaced_as_tmux_does() {
        assert_eq!(session("fix-v1.2"), "app/fix-v1_2");
        assert_eq!(session("a:b"), "app/a_b");
    }

    #[test]
    fn a_name_is_neither_a_command_nor_a_flag() {
        assert_eq!(session("#(touch${IFS}x)"), "app/__touch__IFS_x_");
        assert_eq!(session("ä/🦀;\n"), "app/ä/___");
        assert_eq!(window_name("-t"), "_-t");
        assert_eq!(window_name("=a"), "_=a");
        assert_eq!(window_name(""), "_");
        assert_eq!(session(&"x".repeat(500)).chars().count(), MAX_CHARS);
    }

    #[test]
    fn our_ids_are_plain() {
        assert!(require_plain("run", "r1-2_x").is_ok());
        for value in [
            "",
            "-a",
            "a b",
            "a,b",
            "#{x}",
            "a;",
            "a}",
            "ä",
            &"a".repeat(81),
        ] {
            assert!(require_plain("run", value).is_err(), "{value}");
        }
    }
}
