//! Recognizes an input box or a question on a screen.
//!
//! Reading a screen is never certain, so the results only decide whether a line is typed, whether
//! Enter is pressed, and whether a delivery is reported as failed. No status depends on them.

/// How many of the last non-empty lines may contain the input box.
const LAST_LINES: usize = 12;

/// How many lines an agent may show below a box without a border.
const FOOTER_LINES: usize = 3;

/// What agents draw before the input.
const PROMPTS: [char; 8] = ['>', '❯', '›', '»', '$', '%', '#', '*'];

/// Prompts that also begin lines of ordinary output, such as list items and headings.
const OUTPUT_MARKS: [char; 4] = ['$', '%', '#', '*'];

/// Lower-case phrases of a question: text that is typed now would answer it.
const QUESTIONS: [&str; 11] = [
    "[y/n]",
    "(y/n)",
    "[yes/no]",
    "(yes/no)",
    "press enter",
    "press any key",
    "enter to confirm",
    "enter to continue",
    "enter to select",
    "esc to cancel",
    "use arrow keys",
];

/// What an agent's screen shows, as far as it matters for typing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Screen {
    input: Input,
    is_at_end: bool,
    /// How often the line appears on the screen.
    pub times_shown: usize,
    /// The question that would receive the input, if one is shown.
    pub dialog: Option<String>,
}

/// The content of the input box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    /// No box was recognized.
    Unknown,
    /// The line is not in it.
    Other,
    /// The line is in it, and nothing else.
    Ours,
    /// The line is in it together with other text.
    Mixed,
}

impl Screen {
    /// Reads the screen row by row; `line` is what was typed, or will be.
    ///
    /// If the line is the last text on the screen and the cursor is below it, the line was sent,
    /// even if the agent has not responded yet.
    pub fn read(shown: &str, cursor_row: Option<usize>, line: &str) -> Screen {
        let last = last_lines(shown);
        let expected = without_whitespace(line);
        let rows: Vec<&str> = shown.lines().collect();
        let last_row = rows.iter().rposition(|it| !it.trim().is_empty());
        let is_cursor_below = last_row.is_some() && cursor_row > last_row;
        let above = &last[..last.len() - footer(&rows, cursor_row).min(last.len())];
        let framed =
            framed_text(&rows, cursor_row).filter(|it| without_whitespace(it).contains(&expected));
        let typed = framed.or_else(|| typed_text(above, is_cursor_below, &expected));
        let input = match typed.map(|typed| without_whitespace(&typed)) {
            None => Input::Unknown,
            Some(typed) if expected.is_empty() || !typed.contains(&expected) => Input::Other,
            Some(typed) if typed.replace(&expected, "").is_empty() => Input::Ours,
            Some(_) => Input::Mixed,
        };
        Screen {
            input,
            is_at_end: !expected.is_empty()
                && cursor_row.is_some()
                && cursor_row == last_row
                && without_whitespace(shown).ends_with(&expected),
            times_shown: match expected.as_str() {
                "" => 0,
                expected => without_whitespace(shown).matches(expected).count(),
            },
            dialog: dialog(&last),
        }
    }

    /// Whether the line is in the input box, and nothing else.
    pub fn is_unsent(&self) -> bool {
        self.input == Input::Ours
    }

    /// Whether the line is in the input box together with other text.
    pub fn is_mixed(&self) -> bool {
        self.input == Input::Mixed
    }

    /// Whether an input box was recognized.
    pub fn has_box(&self) -> bool {
        self.input != Input::Unknown && self.dialog.is_none()
    }

    /// Whether the line is certainly waiting to be sent: in its box, or right before the cursor.
    pub fn is_waiting(&self) -> bool {
        self.is_unsent() || self.is_at_end && !self.is_mixed()
    }
}

/// The last non-empty lines, without the box drawing around them.
fn last_lines(shown: &str) -> Vec<&str> {
    let filled: Vec<&str> = shown.lines().filter(|it| !it.trim().is_empty()).collect();
    let last = filled.get(filled.len().saturating_sub(LAST_LINES)..);
    last.unwrap_or_default()
        .iter()
        .map(|it| without_box(it))
        .collect()
}

/// How many lines of text are below a box without a border: the cursor is in the box, an empty row
/// ends it, and little follows.
fn footer(rows: &[&str], cursor_row: Option<usize>) -> usize {
    let is_filled = |row: &&str| !row.trim().is_empty();
    let is_prompt = |row: &&str| without_box(row).starts_with(PROMPTS);
    // Some agents draw their own cursor, and leave the real one on the row below.
    let row = match cursor_row {
        Some(row) if rows.get(row).is_some_and(is_filled) => row,
        Some(row) if row > 0 => row - 1,
        _ => return 0,
    };
    let below = rows.get(row + 1..).unwrap_or_default();
    let is_ended = below.first().is_some_and(|row| !is_filled(row));
    let is_box = rows.iter().rposition(is_prompt) == Some(row);
    let lines = below.iter().filter(|row| is_filled(row)).count();
    if is_ended && is_box && lines <= FOOTER_LINES {
        lines
    } else {
        0
    }
}

/// The text in the frame around the cursor: some agents draw no prompt in their box, and the output
/// above the box may start like a prompt.
fn framed_text(rows: &[&str], cursor_row: Option<usize>) -> Option<String> {
    let cursor_row = cursor_row?;
    let is_text = |row: &&str| !without_box(row).is_empty();
    let is_edge = |row: &&str| !row.trim().is_empty() && !is_text(row);
    rows.get(cursor_row).filter(|row| is_text(row))?;
    let above = rows[..cursor_row]
        .iter()
        .rev()
        .take_while(|row| is_text(row));
    let below = rows[cursor_row..].iter().take_while(|row| is_text(row));
    let (first, end) = (cursor_row - above.count(), cursor_row + below.count());
    rows.get(first.checked_sub(1)?).filter(|row| is_edge(row))?;
    let (edge, below) = rows.get(end..)?.split_first()?;
    // With more than a footer below, the box is further down, and this is a message above it.
    let is_last = below.iter().filter(|row| is_text(row)).count() <= FOOTER_LINES;
    if !is_edge(edge) || !is_last {
        return None;
    }
    let text: String = rows[first..end]
        .iter()
        .map(|row| without_box(row))
        .collect();
    let unprompted = text.strip_prefix(PROMPTS);
    let unprompted = unprompted.filter(|it| it.starts_with(char::is_whitespace));
    Some(unprompted.unwrap_or(&text).to_owned())
}

/// The input after the last prompt: up to the border of a box or the end of the screen.
///
/// After a message was sent, an empty input box, a placeholder, a dialog or the agent's output is
/// below it.
fn typed_text(last: &[&str], is_cursor_below: bool, expected: &str) -> Option<String> {
    let start = last.iter().rposition(|it| it.starts_with(PROMPTS))?;
    // The border of a box is empty once the box drawing is removed.
    let typed = last.iter().skip(start).take_while(|it| !it.is_empty());
    let typed: Vec<&str> = typed.copied().collect();
    if is_cursor_below && start + typed.len() == last.len() {
        return None;
    }
    // If the first row begins like output and our line begins in the next row, the first row is
    // output.
    if let Some((first, rest)) = typed.split_first()
        && first.starts_with(OUTPUT_MARKS)
        && !expected.is_empty()
        && without_whitespace(&rest.concat()).starts_with(expected)
    {
        return Some(rest.concat());
    }
    let typed = typed.concat();
    Some(typed.trim_start_matches(PROMPTS).to_owned())
}

/// The question below the last input box, if there is one.
fn dialog(last: &[&str]) -> Option<String> {
    let is_box = |it: &&str| it.starts_with(PROMPTS) && choice(it).is_none();
    let below = last.iter().rposition(is_box).map_or(0, |at| at + 1);
    let below: Vec<&&str> = last.iter().skip(below).collect();
    let choices = below.iter().filter(|it| choice(it).is_some()).count();
    let mut selected = below
        .iter()
        .filter(|it| it.starts_with(PROMPTS) && choice(it).is_some());
    if choices > 1
        && let Some(chosen) = selected.next()
    {
        return Some((**chosen).to_string());
    }
    let is_question = |it: &&&&str| {
        let lowercase = it.to_lowercase();
        QUESTIONS
            .iter()
            .any(|question| lowercase.contains(question))
    };
    let question = below.iter().find(is_question);
    question.map(|question| (**question).to_string())
}

/// The number of a choice, such as 2 in `❯ 2. Skip`.
fn choice(line: &str) -> Option<u32> {
    let line = line.trim_start_matches(PROMPTS).trim_start();
    let (number, _) = line.split_once(['.', ')'])?;
    number.parse().ok()
}

/// A line without the box that is drawn around it.
fn without_box(line: &str) -> &str {
    let is_drawn = |it: char| ('\u{2500}'..='\u{259f}').contains(&it) || it == '|';
    line.trim_matches(|it: char| it.is_whitespace() || is_drawn(it))
}

/// A text without whitespace, for comparisons: where a line wraps depends on the screen's width.
fn without_whitespace(text: &str) -> String {
    text.chars().filter(|it| !it.is_whitespace()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUDGE: &str = "Message from orange: run orange inbox and do what it says.";

    fn read(shown: &str) -> Screen {
        Screen::read(shown, None, NUDGE)
    }

    #[test]
    fn a_line_the_cursor_has_left_was_sent() {
        let plain = format!("> {NUDGE}\n\n\n");
        assert!(Screen::read(&plain, Some(0), NUDGE).is_unsent());
        assert!(!Screen::read(&plain, Some(1), NUDGE).is_unsent());
        // Without a box, the cursor after the line shows that it is waiting.
        let echoed = format!("ready\n{NUDGE}\n\n");
        assert!(Screen::read(&echoed, Some(1), NUDGE).is_waiting());
        assert!(!Screen::read(&echoed, Some(2), NUDGE).is_waiting());
        assert!(!Screen::read(&echoed, None, NUDGE).is_waiting());
        let mixed = format!("> half a thought {NUDGE}\n");
        assert!(!Screen::read(&mixed, Some(0), NUDGE).is_waiting());
        // With a box, the cursor is wherever the agent left it.
        let boxed = format!("╭───╮\n│ > {NUDGE} │\n╰───╯\n  ? for shortcuts\n\n");
        assert!(Screen::read(&boxed, Some(4), NUDGE).is_unsent());
    }

    #[test]
    fn output_that_begins_like_a_prompt_is_not_input() {
        for mark in OUTPUT_MARKS {
            let shown = format!("{mark} worker on: A\n{NUDGE}\n");
            assert!(Screen::read(&shown, Some(1), NUDGE).is_waiting(), "{shown}");
            // After such a prompt it is input.
            let shown = format!("{mark} half a thought {NUDGE}\n");
            assert!(Screen::read(&shown, Some(0), NUDGE).is_mixed(), "{shown}");
        }
        let shown = format!("> half a thought\n{NUDGE}\n");
        assert!(Screen::read(&shown, Some(1), NUDGE).is_mixed(), "{shown}");
    }

    #[test]
    fn lesson_25_text_below_a_borderless_box_is_not_input() {
        let footer = "  model default · ~/repo\n        ⚠ 1 warning · f2 to view";
        let waits = format!("• I wait.\n\n› {NUDGE}\n\n{footer}\n");
        assert!(Screen::read(&waits, Some(2), NUDGE).is_unsent());
        assert!(Screen::read(&waits, Some(3), NUDGE).is_unsent());
        // Without the cursor in it, it cannot be determined.
        assert!(!Screen::read(&waits, Some(0), NUDGE).is_unsent());
        assert!(!Screen::read(&waits, None, NUDGE).is_unsent());
        let more = format!("› {NUDGE} And more.\n\n{footer}\n");
        assert!(Screen::read(&more, Some(0), NUDGE).is_mixed());
        let sent = format!("› {NUDGE}\n\n• Reading\n\n› Ask for anything\n\n{footer}\n");
        assert!(!Screen::read(&sent, Some(4), NUDGE).is_unsent());
        let answered = format!("› {NUDGE}\n\n{}", "words\n".repeat(5));
        assert!(!Screen::read(&answered, Some(0), NUDGE).is_unsent());
    }

    #[test]
    fn lesson_25_a_pending_nudge_is_detected() {
        for screen in [
            "some talk\n\n> Message from orange: run orange inbox and do what it says.\n",
            "╭──────────╮\n│ > Message from orange: run orange       │\n│   inbox and do what it says. │\n╰──────────╯\n  ? for shortcuts\n",
            "❯ Message from orange: run orange inbox and do what it says.\n──────\n  ⏵⏵ accept edits on",
            "▄▄▄▄\n * Message from orange: run orange inbox and do what it says.\n▀▀▀▀\n workspace  branch\n ~/repo  main",
            "$ Message from orange: run orange inbox and do what it says.",
            // Typed once more after a crash, it is still only our line.
            "> Message from orange: run orange inbox and do what it says.Message from orange: run orange inbox and do what it says.",
        ] {
            let read = read(screen);
            assert!(read.is_unsent() && !read.is_mixed(), "{screen}");
            assert_eq!(read.dialog, None, "{screen}");
        }
    }

    #[test]
    fn lesson_25_a_box_without_a_prompt_is_the_frame_around_the_cursor() {
        // The output of a command above starts like a prompt.
        let ruled = format!(" $ orange task update\n\n Took 0.1s\n\n────\n{NUDGE}\n────\n~/repo\n");
        let barred = format!(
            "  ┃  $ orange task update\n  ┃\n     I wait.\n\n  ┃\n  ┃  {NUDGE}\n  ┃\n  ┃  Build\n  ╹▀▀▀\n"
        );
        for screen in [&ruled, &barred] {
            let read = Screen::read(screen, Some(5), NUDGE);
            assert!(read.is_unsent() && read.is_waiting(), "{screen}");
            let mixed = screen.replace(NUDGE, &format!("half a thought {NUDGE}"));
            assert!(Screen::read(&mixed, Some(5), NUDGE).is_mixed(), "{mixed}");
            let begun = screen.replace(NUDGE, &format!("#{NUDGE}"));
            assert!(Screen::read(&begun, Some(5), NUDGE).is_mixed(), "{begun}");
            // A sent line, with the cursor left on it.
            let sent = format!("{screen}I read.\nI work.\n┃\n┃  Ask anything\n┃\n");
            assert!(!Screen::read(&sent, Some(5), NUDGE).is_waiting(), "{sent}");
            let broken = screen.replace("run orange inbox", "run\norange inbox");
            assert!(
                Screen::read(&broken, Some(6), NUDGE).is_waiting(),
                "{broken}"
            );
            // The cursor is elsewhere once it was sent, or its position is unknown.
            for row in [None, Some(0), Some(7), Some(90)] {
                assert!(
                    !Screen::read(screen, row, NUDGE).is_waiting(),
                    "{row:?} {screen}"
                );
            }
        }
    }

    #[test]
    fn lesson_26_a_nudge_that_was_sent_or_a_dialog_gets_no_second_enter() {
        for screen in [
            "",
            "nothing of ours",
            "> Message from orange: run orange inbox and do what it says.\n\n● Reading…\n\n> \n",
            "› Message from orange: run orange inbox and do what it says.\n\n› Ask for anything",
            "> Message from orange: run orange inbox and do what it says.\n▀▀▀▀\n▄▄▄▄\n *   Type your message\n▀▀▀▀\n ~/repo  main",
            "> Message from orange: run orange inbox and do what it says.\n\nUpdate available\n❯ 1. Install\n  2. Skip",
            "Message from orange: run orange inbox and do what it says.",
            "> [Pasted text #1 +12 lines]",
            "> Message from orange: run orange inbox and do what it says.\nInstall it? [Y/n]",
        ] {
            assert!(!read(screen).is_unsent(), "{screen}");
        }
        for screen in [
            "> half a thought Message from orange: run orange inbox and do what it says.",
            "> Message from orange: run orange inbox and do what it says. And more.",
        ] {
            let read = read(screen);
            assert!(!read.is_unsent() && read.is_mixed(), "{screen}");
        }
        assert!(!Screen::read("> ", None, "").is_unsent());
        let far_above = format!("> {NUDGE}\n{}", "line\n".repeat(20));
        assert!(!read(&far_above).is_unsent());
        assert_eq!(read(&far_above).times_shown, 1);
    }

    #[test]
    fn lesson_26_a_question_is_no_place_to_type() {
        for screen in [
            "Update available\n❯ 1. Install\n  2. Skip",
            "> an earlier message\n\nDo you want to proceed?\n❯ 1. Yes\n  2. No, tell me what to do\n\nEsc to cancel",
            "│ Do you trust the files in this folder? │\n│ > 1) Yes │\n│   2) No  │",
            "Install it? [Y/n] ",
            "A new version is there. Press Enter to install it.",
            "? Which one? (Use arrow keys)\n❯ this\n  that",
        ] {
            let read = read(screen);
            // The last one cannot be told from a box; what is typed there is not echoed.
            assert!(
                read.dialog.is_some() || screen.contains("❯ this"),
                "{screen}"
            );
        }
        for screen in [
            "> ",
            "1. one\n2. two\n\n> ",
            "Press Enter when you are ready, I said.\n\n╭───╮\n│ > │\n╰───╯\n  ? for shortcuts",
            "● Done:\n  1. this\n  2. that",
            "plain words",
        ] {
            assert_eq!(read(screen).dialog, None, "{screen}");
        }
        assert!(read("> ").has_box());
        assert!(!read("plain words").has_box());
        assert!(!read("Update available\n❯ 1. Install\n  2. Skip").has_box());
    }
}
