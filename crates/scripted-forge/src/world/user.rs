//! Users, bots and organizations, and their tokens.

use super::World;

/// What kind of account it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    User,
    Bot,
    Organization,
}

/// An account.
#[derive(Clone, Debug)]
pub struct User {
    pub id: u64,
    /// Without the `[bot]` that REST adds to bots.
    pub login: String,
    pub kind: Kind,
    pub token: String,
    /// Whether the token is valid; with an invalid one, requests get 401.
    pub token_works: bool,
    /// What a classic token allows; absent for other tokens.
    pub scopes: Option<String>,
    /// Whether the account is deleted; what it wrote then has no author.
    pub deleted: bool,
}

impl User {
    /// The login in REST: bots have a suffix there and none in GraphQL.
    pub fn rest_login(&self) -> String {
        match self.kind {
            Kind::Bot => format!("{}[bot]", self.login),
            Kind::User | Kind::Organization => self.login.clone(),
        }
    }

    /// The name of the type, which REST and GraphQL share.
    pub fn kind_name(&self) -> &'static str {
        match self.kind {
            Kind::User => "User",
            Kind::Bot => "Bot",
            Kind::Organization => "Organization",
        }
    }
}

impl World {
    pub fn user(&self, login: &str) -> Option<&User> {
        let login = login.trim_end_matches("[bot]");
        self.users
            .iter()
            .find(|it| it.login.eq_ignore_ascii_case(login))
    }

    /// An account that still exists.
    pub fn living_user(&self, login: &str) -> Option<&User> {
        self.user(login).filter(|it| !it.deleted)
    }

    pub fn user_by_token(&self, token: &str) -> Option<&User> {
        let mut users = self.users.iter();
        users.find(|it| it.token == token && it.token_works && !it.deleted)
    }

    /// Adds an account, or returns the one of that name.
    pub fn add_user(&mut self, login: &str, kind: Kind) -> &User {
        let position = self.users.iter().position(|it| it.login == login);
        let position = position.unwrap_or_else(|| {
            let id = self.new_id();
            let prefix = if kind == Kind::Bot { "ghs" } else { "ghp" };
            self.users.push(User {
                id,
                login: login.to_owned(),
                kind,
                token: format!("{prefix}_{login}{id}"),
                token_works: true,
                scopes: (kind == Kind::User).then(|| String::from("repo, workflow")),
                deleted: false,
            });
            self.users.len() - 1
        });
        &self.users[position]
    }
}
