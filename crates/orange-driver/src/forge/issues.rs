//! Reads issues of a project from the forge.

use orange_effects::forge::client::Conditional;
use orange_effects::forge::github::List;
use orange_effects::forge::github::issues::fetch_last_edit;
use orange_effects::forge::host::RepositoryAddress;
use orange_engine::forge::account::{Account, Permissions};
use orange_engine::forge::consent::IssueReading;
use orange_engine::forge::feedback::Comment;
use orange_engine::forge::issue::{Issue, IssueEvent, IssueEventKind};
use orange_engine::forge::issue_claim::claimants;
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::time::Timestamp;

use crate::forge::{Forge, ForgeFailure};

/// For how many authors of comments the permission is fetched; comments of other authors are left
/// out.
const MAX_AUTHORS: usize = 30;

/// An issue, with everything that judging it needs.
#[derive(Clone, Debug)]
pub(crate) struct IssueFacts {
    pub(crate) issue: Issue,
    events: Vec<IssueEvent>,
    are_events_complete: bool,
    edited: Knowledge<Timestamp>,
    pub(crate) comments: Vec<Comment>,
    pub(crate) are_comments_complete: bool,
    pub(crate) permissions: Permissions,
}

impl IssueFacts {
    pub(crate) fn reading(&self) -> IssueReading<'_> {
        IssueReading {
            issue: &self.issue,
            events: &self.events,
            is_complete: self.are_events_complete,
            edited: self.edited,
            permissions: &self.permissions,
        }
    }
}

impl Forge {
    /// Reads the issues that changed since a time, at most this many pages.
    pub(crate) fn read_issue_pages(
        &self,
        address: &RepositoryAddress,
        since: Option<Timestamp>,
        etag: Option<&str>,
        pages: usize,
    ) -> Result<Conditional<List<Issue>>, ForgeFailure> {
        self.with_session(&address.host, |session| {
            let mut repository = session.repository(address);
            Ok(repository.fetch_issues(since, etag, pages)?)
        })
    }

    /// Reads an issue. The text is read first: the events and edits that are read after it then
    /// show whether consent was given for exactly this text.
    pub(crate) fn read_issue(
        &self,
        address: &RepositoryAddress,
        number: u64,
    ) -> Result<IssueFacts, ForgeFailure> {
        self.with_session(&address.host, |session| {
            let issue = session.repository(address).fetch_issue(number)?;
            if issue.number != number {
                let reason = format!("it was moved to another repository, as #{}", issue.number);
                return Err(ForgeFailure::Unclear(reason));
            }
            if issue.is_pull_request {
                let reason = String::from("it is a pull request");
                return Err(ForgeFailure::Unclear(reason));
            }
            let comments = session.repository(address).fetch_comments(number)?;
            let events = session.repository(address).fetch_issue_events(number)?;
            let edited = fetch_last_edit(&mut session.client, &issue.id)?;
            let mut accounts: Vec<Account> = Vec::new();
            let labelers = events.items.iter().filter_map(labeler);
            let marked = claimants(&comments.items);
            for account in labelers.chain(marked) {
                if !accounts.contains(account) {
                    accounts.push(account.clone());
                }
            }
            let authors = comments.items.iter().filter_map(|it| it.author.as_ref());
            let limit = accounts.len() + MAX_AUTHORS;
            for author in authors {
                if accounts.len() < limit && !accounts.contains(author) {
                    accounts.push(author.clone());
                }
            }
            let permissions = session.permissions(address, &accounts)?;
            Ok(IssueFacts {
                issue,
                events: events.items,
                are_events_complete: events.is_complete,
                edited,
                comments: comments.items,
                are_comments_complete: comments.is_complete,
                permissions,
            })
        })
    }
}

fn labeler(event: &IssueEvent) -> Option<&Account> {
    match event.kind {
        IssueEventKind::Labeled(_) => event.actor.as_ref(),
        _ => None,
    }
}

/// The address of an issue's page.
pub(crate) fn issue_url(address: &RepositoryAddress, number: u64) -> String {
    format!("https://{address}/issues/{number}")
}
