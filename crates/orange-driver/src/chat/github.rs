//! Commands in comments on the issues and pull requests of tasks.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use orange_config::{Project, clock};
use orange_effects::forge::client::Conditional;
use orange_effects::forge::error::{ForgeError, Trouble};
use orange_effects::forge::host::RepositoryAddress;
use orange_engine::chat::channel::Channel;
use orange_engine::chat::comment::{IssueComment, answer_body, answer_key};
use orange_engine::chat::message::{Incoming, Source};
use orange_engine::forge::account::{Account, Permission};
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::forge::marker::has_key;
use orange_engine::names::{ProjectName, TaskId};
use orange_engine::time::Timestamp;
use orange_store::steps::reach;
use orange_store::{ChatKey, ChatRecord, ChatState, Store, TaskFilter};
use serde::{Deserialize, Serialize};

use super::Chat;
use super::scope::{Scope, numbers_on};
use crate::DriverError;
use crate::forge::ForgeFailure;
use crate::forge::sessions::Session;
use crate::steps::Steps;

/// How many pages one round reads at most; the next one continues.
const MAX_PAGES: usize = 100;

/// How long the forge may take to show an answer that was sent.
const SETTLE: Duration = Duration::from_secs(20);

/// How far the comments of a repository were read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Position {
    since: Timestamp,
    /// Belongs to the query with this `since`.
    etag: Option<String>,
}

/// The answers that may have been sent, and since when this process knows of each.
pub(crate) type UnseenAnswers = BTreeMap<ChatKey, Timestamp>;

/// A project, and its repository on the forge.
pub(crate) struct CommentedProject<'a> {
    pub(crate) project: &'a Project,
    pub(crate) address: RepositoryAddress,
    /// The permission that the author of a command needs.
    pub(crate) needed: Permission,
}

impl Chat {
    /// Records the new commands in the comments of a project. If nothing changed, this is one
    /// request, which uses no quota, and nothing is written.
    ///
    /// Comments from before the first round are not read.
    pub(crate) fn receive_comments(&self, it: &CommentedProject<'_>) -> Result<(), DriverError> {
        let name = &it.project.name;
        let place = format!("{}/{name}/{}", Channel::GitHub.as_str(), it.address);
        let unread = |failure: ForgeFailure| failure.into_issues_error(name);
        let mut pages = 1;
        for _ in 0..MAX_PAGES {
            let Some(position) = self.comment_position(&place)? else {
                let since = self.forge_time(&it.address).map_err(unread)?;
                return self.save_comments(&place, &Position { since, etag: None }, &[]);
            };
            let (since, etag) = (position.since, position.etag);
            let read = self.forge.with_session(&it.address.host, |session| {
                let mut repository = session.repository(&it.address);
                let page = repository.fetch_changed_comments(since, etag.as_deref(), pages)?;
                let Conditional::Changed(page) = page else {
                    return Ok(None);
                };
                let reached = page.items.iter().map(|it| it.updated).max();
                let messages = self.commands(session, it, page.items)?;
                let reached = reached.map_or(since, |it| it.max(since));
                Ok(Some((messages, reached, page.is_complete, page.etag)))
            });
            let Some((messages, reached, is_complete, etag)) = read.map_err(unread)? else {
                return Ok(());
            };
            let position = Position {
                since: reached,
                etag: etag.filter(|_| reached == since && is_complete),
            };
            self.save_comments(&place, &position, &messages)?;
            if reached == since && (is_complete || pages > 1) {
                return Ok(());
            }
            // More comments than fit on one page changed in the same second, so read more pages of
            // this query.
            pages = if reached == since { MAX_PAGES } else { 1 };
        }
        Ok(())
    }

    fn comment_position(&self, place: &str) -> Result<Option<Position>, DriverError> {
        let text = Store::open_read_only(&self.context.home)?.chat_position(place)?;
        // A position that cannot be read counts as none, so that no old comment is obeyed.
        Ok(text.and_then(|it| serde_json::from_str(&it).ok()))
    }

    fn save_comments(
        &self,
        place: &str,
        position: &Position,
        messages: &[Incoming],
    ) -> Result<(), DriverError> {
        let position = serde_json::json!(position).to_string();
        self.receive(Channel::GitHub, (place, &position), messages)
    }

    /// The time by the forge's clock, which the times of comments are in.
    fn forge_time(&self, address: &RepositoryAddress) -> Result<Timestamp, ForgeFailure> {
        self.forge.with_session(&address.host, |session| {
            let now = clock::now();
            let mut repository = session.repository(address);
            repository.fetch_changed_comments(now, None, 1)?;
            let skew = session.client.clock_skew().unwrap_or_default();
            let millis = now.millis().saturating_add(skew.saturating_mul(1000));
            Ok(Timestamp::from_millis(millis))
        })
    }

    /// The comments that look like new commands for a task. Asks for the permission of an author
    /// each time, because it may have been withdrawn.
    fn commands(
        &self,
        session: &mut Session,
        it: &CommentedProject<'_>,
        comments: Vec<IssueComment>,
    ) -> Result<Vec<Incoming>, ForgeFailure> {
        let host = it.address.host.to_string();
        let mut messages = Vec::new();
        let mut allowed: BTreeMap<Account, bool> = BTreeMap::new();
        for comment in comments.into_iter().filter(IssueComment::is_command) {
            let store = Store::open_read_only(&self.context.home).map_err(DriverError::from)?;
            let key = ChatKey {
                channel: Channel::GitHub,
                id: format!("{host}/{}", comment.id),
            };
            let here = tasks_of(&store, &it.project.name, &it.address, comment.number)?;
            let is_known = store.has_chat(&key).map_err(DriverError::from)?;
            if here.is_empty() || is_known {
                continue;
            }
            let source = comment.source(&session.own_account()?);
            let is_allowed = match (&comment.author, source) {
                (Some(author), Source::Person) => {
                    if !allowed.contains_key(author) {
                        let is_allowed = is_allowed(session, it, author)?;
                        allowed.insert(author.clone(), is_allowed);
                    }
                    allowed[author]
                }
                _ => false,
            };
            let room = format!("{}/{}", it.project.name, comment.number);
            let here = here.iter().map(ToString::to_string).collect();
            messages.push(comment.into_message(&host, room, source, here, is_allowed));
        }
        Ok(messages)
    }

    /// Obeys the commands that were received in comments of these projects; those of other
    /// projects end, because their comments are not read any more.
    pub(crate) fn obey_comments(
        &self,
        projects: &[CommentedProject<'_>],
        steps: &Steps,
    ) -> Result<(), DriverError> {
        let store = Store::open_read_only(&self.context.home)?;
        for record in store.open_chat(Channel::GitHub)? {
            if place_of(projects, &record).is_none() {
                self.record(|store| store.end_chat(&record.key))?;
            }
        }
        let created = store.all_chat(Channel::GitHub)?.into_iter();
        let created: BTreeSet<TaskId> = created.filter_map(|it| it.task).collect();
        let scope = |record: &ChatRecord| {
            let Some((it, number)) = place_of(projects, record) else {
                return Ok(Scope::default());
            };
            let store = Store::open_read_only(&self.context.home)?;
            let name = &it.project.name;
            Ok(Scope {
                projects: vec![name.clone()],
                page: Some(page_of(&it.address)),
                created: created.clone(),
                here: tasks_of(&store, name, &it.address, number)?,
            })
        };
        self.obey(Channel::GitHub, scope, steps)
    }

    /// Writes each answer that is due as a comment, once. One that may have been sent is looked for
    /// before it is written again.
    pub(crate) fn answer_comments(
        &self,
        projects: &[CommentedProject<'_>],
        unseen: &mut UnseenAnswers,
    ) -> Result<(), DriverError> {
        let open = Store::open_read_only(&self.context.home)?.open_chat(Channel::GitHub)?;
        unseen.retain(|key, _| open.iter().any(|it| it.key == *key));
        for record in open.iter().filter(|it| it.state != ChatState::Received) {
            let Some((it, number)) = place_of(projects, record) else {
                continue;
            };
            let host = &it.address.host;
            let answered = self.forge.with_session(host, |session| {
                if record.state == ChatState::Sending {
                    let since = *unseen.entry(record.key.clone()).or_insert_with(clock::now);
                    match find_answer(session, &it.address, number, record)? {
                        FoundAnswer::Written | FoundAnswer::Unknown => {
                            return Ok(self.record(|store| store.end_chat(&record.key))?);
                        }
                        FoundAnswer::None
                            if clock::now().seconds_since(since) < SETTLE.as_secs() =>
                        {
                            return Ok(());
                        }
                        FoundAnswer::None => {}
                    }
                }
                unseen.remove(&record.key);
                self.write_answer(session, &it.address, number, record)
            });
            answered.map_err(|failure| failure.into_issue_error(number))?;
        }
        Ok(())
    }

    fn write_answer(
        &self,
        session: &mut Session,
        address: &RepositoryAddress,
        number: u64,
        record: &ChatRecord,
    ) -> Result<(), ForgeFailure> {
        let redactor = self.forge.redactor(session)?;
        let words = self.words(record, &redactor);
        let body = redactor.body(&answer_body(&record.key.id, &words));
        self.record(|store| store.begin_chat_answer(&record.key))?;
        reach("before a post");
        let written = session.repository(address).create_comment(number, &body);
        reach("after a post");
        match written {
            Ok(_) => Ok(self.record(|store| store.end_chat(&record.key))?),
            Err(error) => {
                let may_have_arrived = error.may_have_taken_effect();
                let is_final = !may_have_arrived && is_refusal(&error);
                self.fail(record, is_final, may_have_arrived)?;
                Err(error.into())
            }
        }
    }
}

enum FoundAnswer {
    Written,
    None,
    /// It cannot be found out, so it must not be written again.
    Unknown,
}

/// Whether the answer to a message is among the comments.
fn find_answer(
    session: &mut Session,
    address: &RepositoryAddress,
    number: u64,
    record: &ChatRecord,
) -> Result<FoundAnswer, ForgeFailure> {
    let own = session.own_account()?;
    let comments = session.repository(address).fetch_comments(number)?;
    let key = answer_key(&record.key.id);
    let mut items = comments.items.iter();
    if items.any(|it| has_key(&it.body, it.author.as_ref(), &own, &key)) {
        return Ok(FoundAnswer::Written);
    }
    // The token of an app has no account by which its comments are found.
    if !comments.is_complete || own.name().is_empty() {
        return Ok(FoundAnswer::Unknown);
    }
    Ok(FoundAnswer::None)
}

/// Whether an account may give commands. If the forge does not reveal it, the account may not.
fn is_allowed(
    session: &mut Session,
    it: &CommentedProject<'_>,
    author: &Account,
) -> Result<bool, ForgeFailure> {
    match session.repository(&it.address).fetch_permission(author) {
        Ok(Knowledge::Known(permission)) => Ok(permission >= it.needed),
        Ok(Knowledge::Unknown | Knowledge::None) => Ok(false),
        Err(error) => match error.trouble {
            Trouble::Forbidden { .. } | Trouble::AbsentOrNotAllowed { .. } => Ok(false),
            _ => Err(error.into()),
        },
    }
}

/// Whether the forge refused the answer, so that it makes no sense to send it again.
fn is_refusal(error: &ForgeError) -> bool {
    matches!(
        error.trouble,
        Trouble::Forbidden { .. }
            | Trouble::AbsentOrNotAllowed { .. }
            | Trouble::Gone { .. }
            | Trouble::Moved { .. }
            | Trouble::Unprocessable { .. }
    )
}

/// The project of a recorded comment, if it is one of these, and the number of its issue or pull
/// request.
fn place_of<'a, 'b>(
    projects: &'a [CommentedProject<'b>],
    record: &ChatRecord,
) -> Option<(&'a CommentedProject<'b>, u64)> {
    let (name, number) = record.room.rsplit_once('/')?;
    let mut projects = projects.iter();
    let found = projects.find(|it| it.project.name.as_str() == name)?;
    Some((found, number.parse().ok()?))
}

/// The address of a repository's page.
fn page_of(address: &RepositoryAddress) -> String {
    format!("https://{address}")
}

/// The unfinished tasks of an issue or pull request of this repository; if there are none, the one
/// that has ended last.
fn tasks_of(
    store: &Store,
    project: &ProjectName,
    address: &RepositoryAddress,
    number: u64,
) -> Result<Vec<TaskId>, DriverError> {
    let filter = TaskFilter {
        project: Some(project.clone()),
        ..TaskFilter::default()
    };
    let page = page_of(address);
    let (mut unfinished, mut ended) = (Vec::new(), Vec::new());
    for found in store.list(&filter)?.tasks {
        let task = found.task;
        if task.is_deleted || numbers_on(&task, &page).all(|it| it != number) {
            continue;
        }
        if store.require(&task.id)?.has_ended() {
            ended.push(task);
        } else {
            unfinished.push(task.id);
        }
    }
    if unfinished.is_empty() {
        let last = ended.into_iter().max_by_key(|it| it.entered.at);
        unfinished.extend(last.map(|it| it.id));
    }
    Ok(unfinished)
}
