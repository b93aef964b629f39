//! The calls of the protocol: each request with its answer.
//!
//! | caller | call | request → answer | repeating it is safe by |
//! |---|---|---|---|
//! | runner | `POST runners` | [`Register`] → [`RegisterAnswer`] | incarnation and home |
//! | runner | `POST runners/R/beat` | [`Beat`] → [`BeatAnswer`] | incarnation |
//! | runner | `POST runners/R/work` | [`WorkRequest`] → [`WorkAnswer`] | the next beat's `yours` |
//! | runner | `POST append` | [`Append`] → [`AppendAnswer`] | first version and hash |
//! | runner | `POST tasks/T/give-back` | [`GiveBack`] → [`HoldingAnswer`] | epoch |
//! | runner | `POST tasks/T/adopt` | [`Adopt`] → [`AdoptAnswer`] | epoch |
//! | runner | `PUT tasks/T/wip` | [`Wip`] → [`HoldingAnswer`] | epoch and number |
//! | runner | `POST mail/M/answer` | [`MailAnswer`] → [`MailResult`] | epoch |
//! | person | `POST tasks` | [`CreateTask`] → [`CreateAnswer`] | key |
//! | person | `POST tasks/T/requests` | [`PostRequest`] → [`RequestState`] | key |
//! | person | `GET requests/M` | – → [`RequestState`] | |
//! | person | `GET tasks/T` | – → [`TaskView`] | |
//! | person | `GET changes?since` | – → [`Changes`] | |
//!
//! A reader ignores fields that it does not know, and a new field is optional, so neighbouring
//! versions understand each other. No type that holds [`Json`](crate::json::Json) is an enum with
//! a tag: reading one would reformat the text.

mod append;
mod beat;
mod holding;
mod people;
mod registration;
mod work;

pub use append::{Append, AppendAnswer, AppendResult, Summary, TaskAppend, TaskResult, Text};
pub use beat::{Beat, BeatAnswer, HeldTask, OwnedTask, Want};
pub use holding::{Adopt, AdoptAnswer, GiveBack, HoldingAnswer, MailAnswer, MailResult, Rest, Wip};
pub use people::{
    Change, Changes, CreateAnswer, CreateTask, PostRequest, RequestState, RequestStatus, TaskState,
    TaskView,
};
pub use registration::{Register, RegisterAnswer};
pub use work::{Claim, EndedTask, Mail, Sender, WorkAnswer, WorkRequest};
