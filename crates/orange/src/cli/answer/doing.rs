//! What agents seem to be doing, in answers.

use orange_driver::RunActivity;
use orange_engine::activity::Activity;
use orange_engine::names::RunId;
use orange_engine::time::Timestamp;
use serde::Serialize;

use super::age::ago;

/// What an agent seems to be doing, with what that is taken from.
#[derive(Serialize, schemars::JsonSchema)]
pub struct ToldActivity<'a> {
    role: &'a str,
    run: &'a str,
    #[serde(flatten)]
    activity: &'a Activity,
}

/// What each agent seems to be doing, as data.
pub fn told_activities(activities: &[RunActivity]) -> Vec<ToldActivity<'_>> {
    let told = activities.iter().map(|it| ToldActivity {
        role: it.role.as_str(),
        run: it.run.as_str(),
        activity: &it.activity,
    });
    told.collect()
}

/// The same for one of them in words; nothing where nothing is known.
pub fn doing(activities: &[RunActivity], run: &RunId, now: Timestamp) -> Option<String> {
    let found = activities.iter().find(|it| it.run == *run)?;
    if let Some(since) = found.activity.silent_since {
        let when = ago(now, since);
        return Some(format!("has told nothing since it was started {when}"));
    }
    let told = found.activity.evidence.as_ref()?;
    let (doing, when, kind) = (found.activity.doing, ago(now, told.at), told.kind);
    let words = told.message.as_ref().map(|it| format!(": {it}"));
    let words = words.unwrap_or_default();
    Some(format!(
        "seems to be {doing}: it told `{kind}` {when}{words}"
    ))
}
