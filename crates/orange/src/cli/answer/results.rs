//! The result of a headless run, in words.

use orange_config::RunResult;
use orange_driver::ResultOfRun;

/// How many characters of an agent's text are shown; JSON and the logs have all of it.
const MAX_TEXT_CHARS: usize = 200;

/// The result of each role's last run, in lines.
pub fn result_lines(results: &[ResultOfRun]) -> Vec<String> {
    let is_last = |at: usize| {
        let later = results.get(at + 1..).unwrap_or_default();
        results
            .get(at)
            .is_some_and(|it| later.iter().all(|other| other.role != it.role))
    };
    let last = results.iter().enumerate().filter(|(at, _)| is_last(*at));
    last.flat_map(|(_, it)| lines(&it.role.to_string(), &it.result))
        .collect()
}

fn lines(role: &str, result: &RunResult) -> Vec<String> {
    let class = result.error_class.map(|it| format!(" ({})", it.as_str()));
    let text = result.error.as_ref().or(result.text.as_ref());
    let text = text.map(|text| format!(": {}", shorten(text)));
    let mut lines = vec![format!(
        "{role} {}{}{}",
        result.status.as_str(),
        class.unwrap_or_default(),
        text.unwrap_or_default()
    )];
    let read = result.input_tokens.map(|it| format!("{it} tokens read"));
    let written = result.output_tokens;
    let written = written.map(|it| format!("{it} tokens written"));
    let cost = result.cost_usd.as_ref().map(|it| format!("{it} USD"));
    let session = result.session_id.as_ref();
    let session = session.map(|it| format!("conversation {it}"));
    let details = [read, written, cost, session].into_iter().flatten();
    let details: Vec<String> = details.collect();
    if !details.is_empty() {
        lines.push(details.join(", "));
    }
    lines
}

/// The beginning of a text, in one line.
fn shorten(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    if text.chars().count() <= MAX_TEXT_CHARS {
        return text;
    }
    text.chars().take(MAX_TEXT_CHARS - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use orange_config::ResultStatus;
    use orange_engine::death::FailureClass;
    use orange_engine::names::RunId;
    use orange_engine::role::Role;
    use orange_engine::usage::{Cost, RunUsage};

    fn result(role: Role, text: &str) -> ResultOfRun {
        ResultOfRun {
            run: RunId::new("r"),
            role,
            result: RunResult {
                status: ResultStatus::Succeeded,
                text: Some(text.to_owned()),
                input_tokens: Some(300),
                output_tokens: Some(60),
                cached_tokens: Some(100),
                cost_usd: Cost::from_dollars(0.0024),
                session_id: Some(String::from("s-1")),
                error: None,
                error_class: None,
                used: RunUsage::default(),
            },
        }
    }

    #[test]
    fn each_role_has_its_last_result() {
        let mut failed = result(Role::Worker, "Half");
        failed.result.status = ResultStatus::Failed;
        failed.result.error = Some(String::from("no quota\nleft"));
        failed.result.error_class = Some(FailureClass::Quota);
        let lines = result_lines(&[
            result(Role::Worker, "First"),
            result(Role::Reviewer, "Good"),
            failed,
        ]);
        let known = "300 tokens read, 60 tokens written, 0.0024 USD, conversation s-1";
        assert_eq!(
            lines,
            [
                "reviewer succeeded: Good",
                known,
                "worker failed (quota): no quota left",
                known
            ]
        );
        assert!(result_lines(&[]).is_empty());
    }

    #[test]
    fn lesson_38_a_long_text_is_cut_between_characters() {
        let lines = result_lines(&[result(Role::Worker, &"🦀".repeat(500))]);
        let text = lines[0].strip_prefix("worker succeeded: ").unwrap();
        assert_eq!(text.chars().count(), MAX_TEXT_CHARS);
        assert!(text.ends_with("🦀…"));
    }
}
