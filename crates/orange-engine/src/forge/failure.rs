//! Describes failed checks for an agent: job, step, end of log.

use std::fmt::Write as _;

use super::text::fence;

/// How much of a log an agent gets.
const TAIL_LINES: usize = 120;
const TAIL_BYTES: usize = 16 * 1024;

/// A job of the forge's CI that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedJob {
    pub name: String,
    /// The steps that failed; empty if the job failed as a whole.
    pub steps: Vec<String>,
    /// The end of its log; absent when it could not be read.
    pub log: Option<String>,
}

/// The Markdown text with which an agent learns about failed jobs, and about failed checks without
/// a job.
pub fn describe_failures(jobs: &[FailedJob], other_checks: &[String]) -> String {
    let mut text = String::new();
    for job in jobs {
        let _never_fails = write!(text, "### Job `{}`\n\n", line(&job.name));
        let steps: Vec<String> = job
            .steps
            .iter()
            .map(|it| format!("`{}`", line(it)))
            .collect();
        if !steps.is_empty() {
            let _never_fails = write!(text, "Failed: {}\n\n", steps.join(", "));
        }
        match &job.log {
            Some(log) => {
                text.push_str("The end of its log:\n\n");
                text.push_str(&fence(&log_tail(log), "text"));
            }
            None => text.push_str("Its log could not be read.\n"),
        }
        text.push('\n');
    }
    for check in other_checks {
        let _never_fails = write!(
            text,
            "### Check `{}`\n\nIt has no log here; see its page on the forge.\n\n",
            line(check)
        );
    }
    text
}

/// A name from outside, on one line and without backticks, which would end its quotation.
fn line(name: &str) -> String {
    let plain = |c: char| if c.is_control() || c == '`' { ' ' } else { c };
    let plain: String = name.chars().take(200).map(plain).collect();
    plain.trim().to_owned()
}

/// The end of a log, without colours and without the time before each line.
pub fn log_tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let mut kept = Vec::new();
    let mut bytes = 0;
    for line in lines.iter().rev().take(TAIL_LINES) {
        let line = plain_line(line);
        bytes += line.len() + 1;
        if bytes > TAIL_BYTES && !kept.is_empty() {
            break;
        }
        kept.push(line);
    }
    kept.reverse();
    let tail = kept.join("\n");
    let start = tail.len().saturating_sub(TAIL_BYTES);
    let start = (start..=tail.len()).find(|at| tail.is_char_boundary(*at));
    tail[start.unwrap_or(tail.len())..].to_owned()
}

fn plain_line(line: &str) -> String {
    let mut plain = String::new();
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            if characters.next_if_eq(&'[').is_some() {
                // A control sequence ends with a character from `@` to `~`.
                while characters.next().is_some_and(|c| !('@'..='~').contains(&c)) {}
            }
        } else if !character.is_control() || character == '\t' {
            plain.push(character);
        }
    }
    match plain.split_once(' ') {
        Some((stamp, rest)) if crate::time::Timestamp::parse(stamp).is_ok() => rest.to_owned(),
        _ => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lesson_77_an_agent_gets_the_job_the_step_and_the_end_of_the_log() {
        let log = (0..500).fold(String::new(), |mut log, line| {
            let stamp = "2026-01-02T03:04:05.1234567Z";
            writeln!(log, "{stamp} \u{1b}[31mline {line}\u{1b}[0m").unwrap();
            log
        });
        let job = FailedJob {
            name: "test (linux)".to_owned(),
            steps: vec!["cargo test".to_owned()],
            log: Some(log),
        };
        let text = describe_failures(&[job], &["deploy`x".to_owned()]);
        assert!(text.starts_with("### Job `test (linux)`\n\nFailed: `cargo test`\n"));
        assert!(text.contains("\nline 499\n```"));
        assert!(text.contains("\nline 380\n") && !text.contains("line 379"));
        assert!(text.contains("### Check `deploy x`"));
    }

    #[test]
    fn lesson_38_a_log_of_one_long_line_is_cut_between_characters() {
        let tail = log_tail(&"🍊".repeat(TAIL_BYTES));
        assert!(tail.len() <= TAIL_BYTES && tail.len() > TAIL_BYTES - 8);
    }
}
