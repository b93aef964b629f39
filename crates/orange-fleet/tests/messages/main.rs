//! Each message against its golden file, in both directions.
//!
//! The files of a version are never changed once it is released: a later version adds its own, and
//! still reads these.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

mod examples;

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;

use orange_fleet::ids::{Epoch, Incarnation};
use orange_fleet::json::Json;
use orange_fleet::message::{Append, Beat, BeatAnswer, WorkAnswer};

fn require<T>(golden: &str, examples: &[T])
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    let read: Vec<T> = serde_json::from_str(golden).unwrap();
    assert_eq!(read, examples);
    let written = serde_json::to_string_pretty(examples).unwrap();
    assert_eq!(written, golden.trim_end());
}

/// One test per message, with examples of the same name.
macro_rules! golden {
    ($($name:ident),+ $(,)?) => {$(
        #[test]
        fn $name() {
            let golden = include_str!(concat!("golden/v1/", stringify!($name), ".json"));
            require(golden, &examples::$name());
        }
    )+};
}

golden! {
    register, register_answer, beat, beat_answer, work_request, work_answer, append,
    append_answer, give_back, holding_answer, adopt, adopt_answer, wip, mail_answer, mail_result,
    create_task, create_answer, post_request, request_state, task_view, changes,
}

#[test]
fn unknown_fields_are_ignored_and_new_ones_are_optional() {
    let beat = r#"{"home":"h","incarnation":1,"held":[],"later":{"a":1}}"#;
    let beat: Beat = serde_json::from_str(beat).unwrap();
    assert_eq!((beat.incarnation, beat.free), (Incarnation(1), 0));
    assert_eq!(beat.activity, Json::null());
    let answer = r#"{"status":"alive","lost_after":90000,"now":1,"want":"hold","later":[1]}"#;
    let answer: BeatAnswer = serde_json::from_str(answer).unwrap();
    assert!(
        matches!(answer, BeatAnswer::Alive { lost, yours, .. } if lost.is_empty() && yours.is_empty())
    );
    let work: WorkAnswer = serde_json::from_str(r#"{"incarnation":2,"later":true}"#).unwrap();
    assert!(work.claims.is_empty() && work.mail.is_empty());
}

/// A runner hashes the text of an event, so a message must not reformat it.
#[test]
fn events_keep_their_text() {
    let append = examples::append().remove(0);
    let text = serde_json::to_string(&append).unwrap();
    let read: Append = serde_json::from_str(&text).unwrap();
    assert_eq!(read.tasks[0].epoch, Epoch(5));
    assert_eq!(read.tasks[0].commits[0].events[0].as_str(), examples::EVENT);
    assert!(text.contains(examples::EVENT));
}
