//! What the server stores at most, and which names it accepts.

use orange_fleet::capability::Capabilities;
use orange_fleet::chain::{Commit, Sha};
use orange_fleet::ids::{HarnessName, Label, OrgId, ProjectId, RunnerId, TaskId};
use orange_fleet::json::Json;
use orange_fleet::link::BATCH_BYTES;
use orange_fleet::message::{Summary, Text, Wip};

use super::DatabaseError;

/// Of the events and texts of all tasks in one call.
pub const CALL_BYTES: usize = 16 * 1024 * 1024;
/// Of a text, of the events of a single commit, and of a document.
pub const TEXT_BYTES: usize = 1024 * 1024;
/// Of a thin git bundle, before base 64.
pub const BUNDLE_BYTES: usize = 1024 * 1024;
/// Of what a person asks, and of what a list shows of a task.
pub const ASK_BYTES: usize = 64 * 1024;
/// Each event is a version.
pub const TASK_EVENTS: usize = 10_000;
/// Of the events and texts of a task.
pub const TASK_BYTES: usize = 64 * 1024 * 1024;
/// Of a claim's answer: no further task is added after this.
pub const CLAIM_BYTES: usize = 16 * 1024 * 1024;
/// A transaction has so many places in the feed.
pub const BATCH_COMMITS: usize = 1024;
/// Of ids and names.
pub const NAME_BYTES: usize = 200;
/// Of labels, harnesses, projects and tasks to wait for.
pub const LIST_ITEMS: usize = 256;
/// Of tasks that a runner says it holds.
pub const HELD_TASKS: usize = 10_000;

type Checked = Result<(), DatabaseError>;

pub(super) fn size(what: &'static str, size: usize, most: usize) -> Checked {
    if size <= most {
        return Ok(());
    }
    let number = |it: usize| u64::try_from(it).unwrap_or(u64::MAX);
    Err(DatabaseError::TooLarge {
        what,
        size: number(size),
        most: number(most),
    })
}

/// A name fits into an index and onto a terminal.
pub(super) fn name(what: &'static str, name: &str) -> Checked {
    size(what, name.len(), NAME_BYTES)?;
    if name.is_empty() {
        let reason = "it is empty";
        return Err(DatabaseError::Invalid { what, reason });
    }
    plain(what, name)
}

/// The id of mail is made from the id of its task.
pub(super) fn mail(id: &str) -> Checked {
    size("the id of the request", id.len(), NAME_BYTES + 50)?;
    plain("the id of the request", id)
}

pub(super) fn caller(org: &OrgId, runner: &RunnerId) -> Checked {
    self::org(org)?;
    name("the runner", runner.as_str())
}

pub(super) fn org(org: &OrgId) -> Checked {
    name("the organisation", org.as_str())
}

pub(super) fn task(task: &TaskId) -> Checked {
    name("the task", task.as_str())
}

fn plain(what: &'static str, text: &str) -> Checked {
    if text.chars().any(char::is_control) {
        let reason = "it has a control character";
        return Err(DatabaseError::Invalid { what, reason });
    }
    Ok(())
}

pub(super) fn names<'a>(
    what: &'static str,
    names: impl ExactSizeIterator<Item = &'a str>,
) -> Checked {
    size(what, names.len(), LIST_ITEMS)?;
    for it in names {
        name(what, it)?;
    }
    Ok(())
}

pub(super) fn capabilities(it: &Capabilities) -> Checked {
    names(
        "a project of the runner",
        it.projects.iter().map(ProjectId::as_str),
    )?;
    names(
        "a harness of the runner",
        it.harnesses.iter().map(HarnessName::as_str),
    )?;
    names("a label of the runner", it.labels.iter().map(Label::as_str))
}

pub(super) fn summary(it: &Summary) -> Checked {
    name("the status", &it.status)?;
    json("what the summary shows", &it.shown)
}

pub(super) fn json(what: &'static str, json: &Json) -> Checked {
    size(what, json.as_str().len(), ASK_BYTES)
}

/// The commits and texts of one task.
pub(super) fn commits(commits: &[Commit], texts: &[Text]) -> Checked {
    size("the list of commits", commits.len(), BATCH_COMMITS)?;
    let bytes = |it: &Commit| it.events.iter().map(|it| it.as_str().len()).sum::<usize>();
    for commit in commits {
        size("a commit", bytes(commit), TEXT_BYTES)?;
        size(
            "the list of a commit's texts",
            commit.texts.len(),
            BATCH_COMMITS,
        )?;
        if let Some(request) = &commit.request {
            mail(request.as_str())?;
        }
    }
    if commits.len() > 1 {
        let all = commits.iter().map(bytes).sum();
        size("the batch of commits", all, BATCH_BYTES)?;
    }
    for text in texts {
        size("a text", text.content.len(), TEXT_BYTES)?;
        // A wrong text under a right hash would mislead every runner that takes the task over.
        let actual = Sha::of(text.content.as_bytes());
        if actual != text.sha {
            let named = text.sha;
            return Err(DatabaseError::WrongText { named, actual });
        }
    }
    Ok(())
}

/// Of the events and texts of one task.
pub(super) fn bytes(commits: &[Commit], texts: &[Text]) -> usize {
    let events = commits.iter().flat_map(|it| &it.events);
    let events: usize = events.map(|it| it.as_str().len()).sum();
    let texts: usize = texts.iter().map(|it| it.content.len()).sum();
    events.saturating_add(texts)
}

pub(super) fn wip(it: &Wip) -> Checked {
    name("the base of the bundle", &it.base)?;
    size(
        "the bundle in base 64",
        it.bundle.len(),
        BUNDLE_BYTES.div_ceil(3) * 4,
    )?;
    let is_base64 = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'+' | b'/' | b'=');
    if !it.bundle.bytes().all(is_base64) {
        let (what, reason) = ("the bundle", "it is not base 64");
        return Err(DatabaseError::Invalid { what, reason });
    }
    size("the document", it.document.len(), TEXT_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use orange_fleet::chain::Head;
    use orange_fleet::ids::MailId;

    fn commit(event: &str, request: Option<MailId>) -> Commit {
        let event = Json::new(event).unwrap();
        Commit::new(Head::default(), vec![event], Vec::new(), request).unwrap()
    }

    fn is_too_large(checked: &Checked) -> bool {
        matches!(checked, Err(DatabaseError::TooLarge { .. }))
    }

    #[test]
    fn a_name_fits_into_an_index_and_onto_a_terminal() {
        for good in ["k3f9", "ä b/c", &"x".repeat(NAME_BYTES)] {
            assert!(name("it", good).is_ok(), "{good}");
        }
        for bad in ["", "a\0b", "a\nb", "\u{1b}[2J"] {
            assert!(name("it", bad).is_err(), "{bad:?}");
        }
        assert!(is_too_large(&name("it", &"x".repeat(NAME_BYTES + 1))));
    }

    #[test]
    fn commits_and_texts_have_limits() {
        let event = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
        let one = commit(&event(TEXT_BYTES), None);
        assert!(commits(std::slice::from_ref(&one), &[]).is_ok());
        assert!(is_too_large(&commits(
            &[commit(&event(TEXT_BYTES + 1), None)],
            &[]
        )));
        let half = commit(&event(BATCH_BYTES / 2), None);
        assert!(commits(&[half.clone(), half.clone()], &[]).is_ok());
        assert!(is_too_large(&commits(
            &[half.clone(), half.clone(), half],
            &[]
        )));
        let long = MailId::new("x".repeat(NAME_BYTES + 51));
        assert!(is_too_large(&commits(&[commit("1", Some(long))], &[])));
    }

    #[test]
    fn a_text_has_the_hash_that_names_it() {
        let good = Text {
            sha: Sha::of(b"a"),
            content: "a".to_owned(),
        };
        assert!(commits(&[], std::slice::from_ref(&good)).is_ok());
        let wrong = Text {
            content: "b".to_owned(),
            ..good
        };
        let refused = commits(&[], &[wrong]);
        assert!(matches!(refused, Err(DatabaseError::WrongText { .. })));
    }

    #[test]
    fn a_bundle_is_base_64() {
        let wip = |bundle: &str| Wip {
            epoch: orange_fleet::ids::Epoch(1),
            number: 1,
            base: "abc".to_owned(),
            bundle: bundle.to_owned(),
            document: "\0 is a byte like others".to_owned(),
            imported: None,
        };
        assert!(super::wip(&wip("aGk+/w==")).is_ok());
        assert!(super::wip(&wip("a\0")).is_err());
        let most = BUNDLE_BYTES.div_ceil(3) * 4;
        assert!(super::wip(&wip(&"a".repeat(most))).is_ok());
        assert!(is_too_large(&super::wip(&wip(&"a".repeat(most + 1)))));
    }
}
