//! Decides what a run's death means, by its harness's rules.

use std::fs;

use orange_config::clock;
use orange_config::{LogLevel, RunResult};
use orange_effects::command::Invocation;
use orange_effects::process::is_oom_killed;
use orange_engine::Task;
use orange_engine::death::{Ending, Judgement, Meaning, ResetFormat, Rule, judge};
use orange_engine::evidence::Evidence;
use orange_engine::names::{RunId, TaskId};
use orange_store::{RunRecord, Store};
use serde_json::json;

use crate::DriverError;
use crate::agents::Agents;
use crate::context::run_location;

/// The signal that the kernel sends when memory runs out; any process may send it too.
const SIGKILL: i32 = 9;

impl Agents {
    /// Judges from its output how a run ended; returns `None` when the output cannot be read right
    /// now.
    pub(crate) fn classify_death(
        &self,
        store: &Store,
        id: &TaskId,
        run: &RunId,
        evidence: &Evidence,
    ) -> Result<Option<Judgement>, DriverError> {
        let unclassified = Judgement {
            evidence: evidence.clone(),
            output_line: None,
        };
        if !matches!(evidence, Evidence::Exit { .. } | Evidence::Signal { .. }) {
            return Ok(Some(unclassified));
        }
        let records = store.runs(id)?;
        let Some(record) = records.iter().find(|record| record.id == *run) else {
            return Ok(Some(unclassified));
        };
        // Any program can run out of memory, so this needs no rules of a harness.
        if *evidence == (Evidence::Signal { signal: SIGKILL }) && is_out_of_memory(record) {
            let evidence = Evidence::OutOfMemory;
            return Ok(Some(Judgement {
                evidence,
                ..unclassified
            }));
        }
        let rules = self.death_rules(id, record);
        if rules.is_empty() {
            return Ok(Some(unclassified));
        }
        let output = if rules.iter().any(|rule| !rule.patterns.is_empty()) {
            let task = store.require(id)?.task;
            match self.last_output(&task, run) {
                Ok(output) => with_error(output, self.result_of(&task.project, record)),
                // Without the output a crash cannot be recognized; the next check tries again.
                Err(_unknown) => return Ok(None),
            }
        } else {
            String::new()
        };
        let offset = self.clock_offset_for(&rules);
        let ending = Ending {
            evidence,
            output: &output,
            at: clock::now(),
            offset,
        };
        Ok(Some(judge(&rules, &ending)))
    }

    /// The death rules of a run's harness. A definition that is missing or invalid by now yields no
    /// rules, because never judging the death would be worse.
    pub(crate) fn death_rules(&self, id: &TaskId, record: &RunRecord) -> Vec<Rule> {
        let harnesses = self.context.harnesses();
        let found = harnesses.and_then(|all| Ok(all.require(&record.harness)?.deaths.clone()));
        found.unwrap_or_else(|error| {
            let error = json!({ "error": error.to_string(), "harness": record.harness });
            self.context
                .log(LogLevel::Warn, id, "death.unclassified", error);
            Vec::new()
        })
    }

    /// The pane's output, or what was saved of it when the pane was closed.
    fn last_output(&self, task: &Task, run: &RunId) -> Result<String, DriverError> {
        if let Some(captured) = self.context.tmux.pane_output(run)? {
            return Ok(captured.text);
        }
        let folder = self
            .context
            .launch_directory(&task.project, &task.id, run)?;
        let saved = fs::read(run_location::output_file(&folder)).unwrap_or_default();
        Ok(String::from_utf8_lossy(&saved).into_owned())
    }

    /// The offset of the local time from UTC, if a rule needs it.
    pub(crate) fn clock_offset_for(&self, rules: &[Rule]) -> Option<i32> {
        has_clock_rule(rules).then(|| self.clock_offset()).flatten()
    }

    /// How many minutes local time is ahead of UTC. Asks `date`, because the standard library has
    /// no time zones.
    fn clock_offset(&self) -> Option<i32> {
        let date = Invocation::new("date", self.context.environment.passed_variables([]))
            .arguments(["+%z"]);
        let output = date.require_success().ok()?;
        minutes(String::from_utf8_lossy(&output.stdout.bytes).trim())
    }
}

/// The output of a run, followed by its error, which its pane does not show.
fn with_error(output: String, result: Option<RunResult>) -> String {
    match result.and_then(|result| result.error) {
        Some(error) => format!("{}\n{error}\n", output.trim_end()),
        None => output,
    }
}

fn is_out_of_memory(record: &RunRecord) -> bool {
    let process = record.place.as_ref().map(|place| &place.process);
    let process = process.and_then(|it| Some((it.pid, it.started.parse().ok()?)));
    process.is_some_and(|(pid, start)| is_oom_killed(pid, start))
}

fn has_clock_rule(rules: &[Rule]) -> bool {
    rules.iter().any(|rule| {
        matches!(&rule.meaning, Meaning::Quota { resets, .. } if resets.contains(&ResetFormat::Clock))
    })
}

/// Parses an offset such as `+0130` into minutes.
fn minutes(text: &str) -> Option<i32> {
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = digits.split_at_checked(2).filter(|_| digits.len() == 4)?;
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    Some(sign * (hours * 60 + minutes))
}

#[cfg(test)]
mod tests {
    use super::minutes;

    #[test]
    fn an_offset_is_read() {
        assert_eq!(minutes("+0000"), Some(0));
        assert_eq!(minutes("+0530"), Some(330));
        assert_eq!(minutes("-0330"), Some(-210));
        for wrong in ["", "+", "0530", "+053", "+05300", "UTC", "+ab00", "é"] {
            assert_eq!(minutes(wrong), None, "{wrong}");
        }
    }
}
