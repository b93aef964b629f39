//! Everything that can happen to a task, tried through `decide`.
//!
//! A [`Situation`] is what determines a task's future: its status, its counters, what it holds and
//! which agents are alive. A [`Step`] leads from one to the next through the same `decide` and
//! `apply` that run tasks, so what is explored cannot differ from what happens. Between two steps
//! every effect has been performed; a failing effect is a step of its own.

mod artifact;
mod notice;
mod play;
mod possible;
mod rehearsal;
mod relevance;
mod search;
mod situation;
mod step;

pub use notice::Notice;
pub use play::{Played, Playing, Refused, beginning};
pub use possible::{beginnings, possible};
pub(crate) use possible::{led_to, rules};
pub use rehearsal::Rehearsal;
pub use relevance::Relevance;
pub use search::{Arc, Explored, MAX_SITUATIONS, Node, Visit, explore, most_situations};
pub use situation::Situation;
pub use step::{Failing, Happening, Shown, Step};
