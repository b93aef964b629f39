//! Wording and small JSON bodies that several answers share.

use orange_config::clock;
use orange_driver::{ChecksOutcome, Message, PullRequestSnapshot, ReviewSummary, RunActivity};
use orange_engine::Task;
use orange_engine::activity::Activity;
use orange_engine::language::gates::PullRequestState;
use orange_engine::names::RunId;
use orange_engine::schedule::Wait;
use orange_engine::time::Timestamp;

pub use orange_engine::time::age;
use serde::Serialize;

pub fn count_noun(count: usize, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

/// The words before the path at which the git directories of a removed worktree's submodules are
/// kept.
pub const SUBMODULES_KEPT: &str = "submodules with commits that no remote has are in";

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// The seconds in a duration such as `90s`, `10m`, `2h` or `3d`.
pub fn parse_duration(text: &str) -> Option<u64> {
    let unit = text.chars().last()?;
    let count: u64 = text.strip_suffix(unit)?.parse().ok()?;
    let seconds = match unit {
        's' => 1,
        'm' => MINUTE,
        'h' => HOUR,
        'd' => DAY,
        _ => return None,
    };
    count.checked_mul(seconds)
}

/// Parses an option that is a number of seconds, or a duration with its unit.
pub fn parse_seconds(text: &str) -> Result<u64, String> {
    let seconds = text.parse().ok().or_else(|| parse_duration(text));
    seconds.ok_or_else(|| String::from("write seconds, or a duration such as `90s` or `10m`"))
}

pub fn ago(now: Timestamp, then: Timestamp) -> String {
    match now.seconds_since(then) {
        0 => "just now".to_owned(),
        _ => format!("{} ago", age(now, then)),
    }
}

/// Why a message has not reached its agent; `None` if it has.
pub fn undelivered_reason(message: &Message) -> Option<String> {
    let delivery = &message.delivery;
    if message.read_at.is_some() || delivery.confirmed_at.is_some() {
        return None;
    }
    Some(match (&delivery.problem, delivery.sent_at) {
        (Some(problem), _) => problem.clone(),
        (None, Some(at)) => format!("the agent was last prompted at {at}, but has not read it"),
        (None, None) => String::from("the agent has not been prompted yet"),
    })
}

/// What an agent seems to be doing, with the evidence.
#[derive(Serialize, schemars::JsonSchema)]
pub struct ActivityBody<'a> {
    role: &'a str,
    run: &'a str,
    #[serde(flatten)]
    activity: &'a Activity,
}

/// What each agent seems to be doing, for JSON.
pub fn activity_bodies(activities: &[RunActivity]) -> Vec<ActivityBody<'_>> {
    let bodies = activities.iter().map(|it| ActivityBody {
        role: it.role.as_str(),
        run: it.run.as_str(),
        activity: &it.activity,
    });
    bodies.collect()
}

/// What one agent seems to be doing, in words; `None` if that is not known.
pub fn activity_text(activities: &[RunActivity], task: &Task, run: &RunId) -> Option<String> {
    let now = clock::now();
    let found = activities.iter().find(|it| it.run == *run)?;
    if let Some(since) = found.activity.stalled_since {
        let (waited, status, id) = (age(now, since), &task.status, &task.id);
        return Some(format!(
            "has been idle for {waited}, but `{status}` waits for its work; run `orange task tell \
             {id} -m MESSAGE` or `orange task attach {id}`"
        ));
    }
    if let Some(since) = found.activity.silent_since {
        let when = ago(now, since);
        return Some(format!("has reported nothing since it was started {when}"));
    }
    let evidence = found.activity.evidence.as_ref()?;
    let (state, when, kind) = (found.activity.state, ago(now, evidence.at), evidence.kind);
    let words = evidence.message.as_ref().map(|it| format!(": {it}"));
    let words = words.unwrap_or_default();
    Some(format!(
        "seems to be {state}: it reported `{kind}` {when}{words}"
    ))
}

/// A reason to wait, and its text.
#[derive(Serialize, schemars::JsonSchema)]
pub struct WaitBody<'a> {
    #[serde(flatten)]
    wait: &'a Wait,
    text: String,
}

/// Every reason to wait, for JSON, with its wording.
pub fn wait_bodies(waits: &[Wait]) -> Vec<WaitBody<'_>> {
    let bodies = waits.iter().map(|wait| WaitBody {
        wait,
        text: wait.to_string(),
    });
    bodies.collect()
}

/// What is known about a pull request, in one line.
pub fn pull_request_text(seen: &PullRequestSnapshot) -> String {
    let state = match (seen.state, seen.is_draft) {
        (PullRequestState::Merged, _) => "merged",
        (PullRequestState::Closed, _) => "closed without a merge",
        (PullRequestState::Open, true) => "a draft",
        (PullRequestState::Open, false) => "open",
    };
    let mut parts = vec![format!("#{} is {state}", seen.number)];
    if seen.state != PullRequestState::Open {
        return parts.remove(0);
    }
    if seen.is_conflicting == Some(true) {
        parts.push(format!("conflicts with `{}`", seen.base));
    }
    parts.push(match &seen.checks {
        None => String::from("checks unknown"),
        Some(checks) => {
            let names = match checks.names.as_slice() {
                [] => String::new(),
                names => format!(" ({})", names.join(", ")),
            };
            match checks.outcome {
                ChecksOutcome::Passing => String::from("checks passed"),
                ChecksOutcome::Failing => format!("checks failed{names}"),
                ChecksOutcome::Pending => format!("checks running{names}"),
                ChecksOutcome::None => String::from("no checks"),
            }
        }
    });
    match seen.review {
        Some(ReviewSummary::Approved) => parts.push(String::from("approved")),
        Some(ReviewSummary::ChangesRequested) => parts.push(String::from("changes requested")),
        Some(ReviewSummary::Required) => parts.push(String::from("review required")),
        Some(ReviewSummary::NotRequired) | None => {}
    }
    if let Some(count) = seen.open_threads.filter(|count| *count > 0) {
        parts.push(count_noun(count, "open thread"));
    }
    if seen.is_queued {
        parts.push(String::from("in the merge queue"));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_has_a_unit() {
        let now = Timestamp::from_millis(1_000_000_000_000);
        let before = |seconds: i64| Timestamp::from_millis(now.millis() - seconds * 1000);
        assert_eq!(parse_duration("10m"), Some(600));
        assert_eq!(parse_seconds("20"), Ok(20));
        assert_eq!(parse_seconds("20s"), Ok(20));
        assert!(parse_seconds("soon").is_err());
        assert_eq!(parse_duration("2d"), Some(172_800));
        for bad in ["", "m", "10", "-1m", "1.5h", "10é"] {
            assert_eq!(parse_duration(bad), None, "{bad}");
        }
        assert_eq!(ago(now, before(0)), "just now");
        assert_eq!(ago(now, before(90)), "1m ago");
    }
}
