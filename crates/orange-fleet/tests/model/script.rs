//! The life of the model's task: its events and their fold.

use orange_fleet::chain::{Commit, Head};
use orange_fleet::ids::{MailId, Version};
use orange_fleet::json::Json;
use orange_fleet::message::Summary;

/// What a commit of the model's task records. Each has one event.
#[derive(Clone, Debug)]
pub enum Event {
    Created,
    /// A holder took over, and plans to start an agent.
    Taken,
    /// The agent is done, and a push is planned.
    Finished,
    Decided(MailId),
    /// The push is done.
    Ended,
}

/// The task as its commits leave it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fold {
    /// The commit that planned the last start of an agent.
    pub start: Option<Head>,
    /// The commit that planned the push.
    pub push: Option<Head>,
    pub decided: usize,
    pub ended: bool,
}

/// The author makes commits differ that were not made at once, as times and ids do.
pub fn commit(local: &[Commit], event: &Event, author: (usize, u8)) -> Commit {
    let (name, request) = match event {
        Event::Created => ("created", None),
        Event::Taken => ("taken", None),
        Event::Finished => ("finished", None),
        Event::Decided(mail) => ("decided", Some(mail.clone())),
        Event::Ended => ("ended", None),
    };
    let event = Json::new(format!("[\"{name}\",{},{}]", author.0, author.1)).unwrap();
    let previous = local.last().map_or_else(Head::default, Commit::head);
    Commit::new(previous, vec![event], Vec::new(), request).unwrap()
}

pub fn fold<'a>(commits: impl IntoIterator<Item = &'a Commit>) -> Fold {
    let mut fold = Fold::default();
    for commit in commits {
        let event = commit.events[0].as_str();
        let head = Some(commit.head());
        match event.split('"').nth(1).unwrap() {
            "taken" => fold.start = head,
            "finished" => fold.push = head,
            "decided" => fold.decided += 1,
            "ended" => fold.ended = true,
            _ => {}
        }
    }
    fold
}

/// What a holder says of the task after a commit.
pub fn summary(local: &[Commit], until: Version) -> Summary {
    let fold = fold(local.iter().filter(|it| it.last <= until));
    let status = match &fold {
        Fold { ended: true, .. } => "over",
        Fold { push: Some(_), .. } => "pushing",
        _ => "open",
    };
    Summary {
        status: format!("{status}, {} decided", fold.decided),
        ended: fold.ended,
        shown: Json::null(),
    }
}
