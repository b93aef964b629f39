//! What a handler gets: the world, the caller, and the checked request.

use serde_json::Value;

use crate::http::Answer;
use crate::world::World;
use crate::world::issue::Issue;
use crate::world::repository::{Permission, Repository};

/// What a handler returns; an error is an answer too.
pub type Outcome = Result<Answer, Answer>;

pub struct Context<'a> {
    pub world: &'a mut World,
    pub viewer: String,
    /// The address of the API, without a slash at the end.
    pub base: String,
    /// The address of the stored logs: another server, which must not get the token.
    pub storage: String,
    pub path: Vec<(String, String)>,
    pub query: Vec<(String, String)>,
    pub body: Value,
}

impl Context<'_> {
    /// A parameter of the path.
    pub fn part(&self, name: &str) -> &str {
        let found = self.path.iter().find(|(found, _)| found == name);
        found.map_or("", |(_, value)| value)
    }

    pub fn number(&self, name: &str) -> u64 {
        self.part(name).parse().unwrap_or(0)
    }

    /// A parameter of the query.
    pub fn asked(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(found, _)| found == name)?;
        Some(&found.1)
    }

    /// A text of the body.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.body[name].as_str()
    }

    /// The repository, if the caller may read it. What a caller may not see does not exist.
    pub fn repository(&self) -> Result<&Repository, Answer> {
        let (owner, name) = (self.part("owner"), self.part("repo"));
        let found = self.world.repository(owner, name);
        let visible = found.filter(|it| self.permission(it) >= Permission::Read);
        visible.ok_or_else(|| Answer::error(404, "Not Found"))
    }

    pub fn permission(&self, repository: &Repository) -> Permission {
        self.world.permission(repository, &self.viewer)
    }

    /// The id of the repository, if the caller has this permission there.
    pub fn allowed(&self, needed: Permission) -> Result<u64, Answer> {
        let repository = self.repository()?;
        if self.permission(repository) < needed {
            return Err(forbidden());
        }
        if repository.archived && needed > Permission::Read {
            return Err(Answer::error(
                403,
                "Repository was archived so is read-only.",
            ));
        }
        Ok(repository.id)
    }

    /// The issue that the path names; for a transferred one, the answer is a redirect.
    pub fn issue(&self) -> Result<(&Repository, &Issue), Answer> {
        let repository = self.repository()?;
        let number = self.number("issue_number");
        if let Some((id, number)) = repository.transferred.get(&number) {
            let target = format!("{}/repositories/{id}/issues/{number}", self.base);
            return Err(Answer::error(301, "Moved Permanently").with("Location", target));
        }
        let found = repository.issue(number);
        let is_pull = found.is_some_and(|it| it.pull.is_some());
        if !repository.has_issues && !is_pull {
            return Err(Answer::error(
                410,
                "Issues has been disabled in this repository.",
            ));
        }
        let issue = found.ok_or_else(|| Answer::error(404, "Not Found"))?;
        Ok((repository, issue))
    }

    pub fn pull(&self) -> Result<(&Repository, &Issue), Answer> {
        let repository = self.repository()?;
        let found = repository.issue(self.number("pull_number"));
        let found = found.filter(|it| it.pull.is_some());
        Ok((
            repository,
            found.ok_or_else(|| Answer::error(404, "Not Found"))?,
        ))
    }

    /// One page of a list, with the links to the others. They name the repository by its id, as
    /// GitHub's do.
    pub fn page<T>(&self, items: &[T], render: impl Fn(&T) -> Value) -> (Vec<Value>, Answer) {
        let size = self
            .asked("per_page")
            .and_then(|it| it.parse().ok())
            .unwrap_or(30);
        let size: usize = if size == 0 { 30 } else { size };
        let page: usize = self
            .asked("page")
            .and_then(|it| it.parse().ok())
            .unwrap_or(1)
            .max(1);
        let last = items.len().div_ceil(size).max(1);
        let shown = items.iter().skip((page - 1) * size).take(size);
        let shown = shown.map(render).collect();
        let mut links = Vec::new();
        let mut link = |number: usize, name: &str| {
            links.push(format!("<{}>; rel=\"{name}\"", self.page_address(number)));
        };
        if page > 1 {
            link(page - 1, "prev");
        }
        if page < last {
            link(page + 1, "next");
            link(last, "last");
        }
        if page > 1 {
            link(1, "first");
        }
        let answer = Answer::empty(200);
        let answer = if links.is_empty() {
            answer
        } else {
            answer.with("Link", links.join(", "))
        };
        (shown, answer)
    }

    fn page_address(&self, page: usize) -> String {
        let id = self.repository().map_or(0, |it| it.id);
        let rest = self.part("rest");
        let kept = self.query.iter().filter(|(name, _)| name != "page");
        let mut query: Vec<String> = kept
            .map(|(name, value)| format!("{name}={}", crate::http::encode(value)))
            .collect();
        query.push(format!("page={page}"));
        format!("{}/repositories/{id}/{rest}?{}", self.base, query.join("&"))
    }
}

/// 403, as a token without the permission gets it.
pub fn forbidden() -> Answer {
    Answer::error(403, "Resource not accessible by personal access token")
}
