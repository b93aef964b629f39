//! What a task in a queue waits for, in answers.

use orange_engine::schedule::Wait;
use serde::Serialize;

/// A reason to wait, with its wording.
#[derive(Serialize, schemars::JsonSchema)]
pub struct ToldWait<'a> {
    #[serde(flatten)]
    wait: &'a Wait,
    told: String,
}

/// Every reason to wait, as data and in words.
pub fn told_waits(waits: &[Wait]) -> Vec<ToldWait<'_>> {
    let told = waits.iter().map(|wait| ToldWait {
        wait,
        told: wait.to_string(),
    });
    told.collect()
}
