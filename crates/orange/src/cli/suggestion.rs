//! Suggests a command for a mistyped or unknown one.

use clap::Command;

use super::task::SHORT_FORMS;

/// Words that other tools use for our commands.
const SYNONYMS: [(&str, &str); 7] = [
    ("add", "new"),
    ("kill", "cancel"),
    ("message", "tell"),
    ("ps", "ls"),
    ("rm", "task delete"),
    ("send", "tell"),
    ("status", "ls"),
];

/// Names less similar than this are different words, not typos.
const SIMILAR: f64 = 0.75;

/// The full command line that the user may have meant by `word` after `command`; never a hidden
/// command.
pub fn suggest(word: &str, command: &Command, program: &Command) -> Option<String> {
    let is_program = command.get_name() == program.get_name();
    let task = program.find_subcommand("task")?;
    if is_program {
        if let Some((_, meant)) = SYNONYMS.iter().find(|(synonym, _)| *synonym == word) {
            return Some(format!("orange {meant}"));
        }
        if visible(task).any(|name| name == word) {
            return Some(shortest(word));
        }
    }
    let prefix = command.get_bin_name().unwrap_or("orange");
    let here = visible(command).map(|name| (name, format!("{prefix} {name}")));
    let tasks = visible(task).filter(|_| is_program);
    let tasks = tasks.map(|name| (name, shortest(name)));
    let similar = here
        .chain(tasks)
        .map(|(name, line)| (similarity(word, name), line));
    let best = similar.max_by(|(one, _), (other, _)| one.total_cmp(other));
    best.filter(|(similarity, _)| *similarity >= SIMILAR)
        .map(|(_, line)| line)
}

/// In a short word, one wrong letter or two swapped ones already count as much to
/// `jaro_winkler` as another word.
fn similarity(word: &str, name: &str) -> f64 {
    let is_slip = name.len() > 2 && strsim::osa_distance(word, name) == 1;
    if is_slip {
        return 0.95;
    }
    strsim::jaro_winkler(word, name)
}

/// A command for tasks, in its short form if it has one.
fn shortest(task_command: &str) -> String {
    let short = SHORT_FORMS.iter().find(|(_, long)| *long == task_command);
    match short {
        Some((short, _)) => format!("orange {short}"),
        None => format!("orange task {task_command}"),
    }
}

fn visible(command: &Command) -> impl Iterator<Item = &str> {
    let commands = command.get_subcommands().filter(|it| !it.is_hide_set());
    commands.map(Command::get_name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::help;

    fn suggested(word: &str, group: Option<&str>) -> Option<String> {
        let mut program = help::commands();
        program.build();
        let command = group.and_then(|it| program.find_subcommand(it));
        suggest(word, command.unwrap_or(&program), &program)
    }

    #[test]
    fn a_typo_or_another_tools_command_suggests_ours() {
        let cases = [
            ("list", None, "orange ls"),
            ("create", None, "orange new"),
            ("status", None, "orange ls"),
            ("stop", None, "orange task stop"),
            ("spawn", None, "orange task spawn"),
            ("respwan", None, "orange task respawn"),
            ("mrege", None, "orange merge"),
            ("nwe", None, "orange new"),
            ("workflows", None, "orange workflow"),
            ("lst", Some("workflow"), "orange workflow list"),
            ("creat", Some("task"), "orange task create"),
        ];
        for (word, group, meant) in cases {
            assert_eq!(suggested(word, group).as_deref(), Some(meant), "{word}");
        }
        assert_eq!(suggested("frobnicate", None), None);
    }

    #[test]
    fn a_hidden_command_is_never_suggested() {
        let program = help::commands();
        let hidden = program.get_subcommands().filter(|it| it.is_hide_set());
        let hidden: Vec<&str> = hidden.map(Command::get_name).collect();
        assert!(!hidden.is_empty());
        for name in hidden {
            for typo in [&name[1..], &name[..name.len() - 1], &format!("{name}x")] {
                let found = suggested(typo, None).unwrap_or_default();
                assert_ne!(found, format!("orange {name}"), "{typo}");
            }
        }
    }
}
