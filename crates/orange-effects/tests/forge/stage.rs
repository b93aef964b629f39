//! A forge with something of everything, and a client of it.

use std::collections::BTreeMap;
use std::mem;
use std::time::Duration;

use orange_config::{Environment, clock};
use orange_effects::forge::client::{Client, Conditional};
use orange_effects::forge::github::Repository;
use orange_effects::forge::host::{ApiBase, Host, RepositoryAddress};
use orange_effects::forge::pacing::Clock;
use orange_effects::forge::redact::{Outbound, Redactor};
use orange_effects::forge::token::TokenSource;
use orange_engine::names::CommitId;
use scripted_forge::world::node::node_id;
use scripted_forge::{Forge, ReviewState};

pub const REPOSITORY: &str = "octo/demo";

/// The pull request of the branch `feature`, whose job has failed.
pub const PULL: u64 = 1;

/// The issue with a label and a comment.
pub const ISSUE: u64 = 2;

pub struct Stage {
    pub forge: Forge,
    pub client: Client,
}

/// What the forge holds: each repository without its issues, and each issue.
pub type Picture = BTreeMap<String, String>;

impl Stage {
    pub fn new() -> Stage {
        let forge = Forge::start();
        forge.unknown_reads(0);
        forge.lift_secondary_limits();
        forge.repository(REPOSITORY);
        forge.user("ada");
        forge.workflow(REPOSITORY, "ci", &["test"]);
        assert_eq!(forge.pull(REPOSITORY, "feature"), PULL);
        forge.finish_job(REPOSITORY, PULL, "test", "failure", "a line\nthe end\n");
        forge.thread(REPOSITORY, PULL, "ada", ("feature.txt", 1), "Why?");
        forge.review(REPOSITORY, PULL, "ada", ReviewState::Approved, "Good.");
        let issue = forge.issue(REPOSITORY, "octo", "A bug", "It fails.");
        assert_eq!(issue, ISSUE);
        forge.label(REPOSITORY, ISSUE, "octo", "bug");
        forge.comment(REPOSITORY, ISSUE, "ada", "Here too.");
        forge.commit(REPOSITORY, "second", &[("second.txt", "new\n")]);
        let client = client(&forge, &environment(&forge));
        Stage { forge, client }
    }

    pub fn repository(&mut self) -> Repository<'_> {
        Repository::new(&mut self.client, &address())
    }

    pub fn head(&self) -> CommitId {
        CommitId::new(self.forge.head(REPOSITORY, PULL))
    }

    pub fn pull_id(&self) -> String {
        self.forge.node_id(REPOSITORY, PULL)
    }

    /// The global id of the thread, and the number of its first comment.
    pub fn thread(&self) -> (String, u64) {
        let pull = self.forge.get(REPOSITORY, PULL).pull.unwrap();
        let thread = &pull.threads[0];
        (node_id("PRRT", thread.id), thread.comments[0].id)
    }

    pub fn comment(&self) -> u64 {
        self.forge.get(REPOSITORY, ISSUE).comments[0].id
    }

    /// The run of the workflow, and its job.
    pub fn run(&self) -> (u64, u64) {
        self.forge.look(|world| {
            let repository = &world.repositories[0];
            (repository.runs[0].id, repository.checks[0].id)
        })
    }

    pub fn picture(&self) -> Picture {
        let mut picture = Picture::new();
        for mut repository in self.forge.look(|world| world.repositories.clone()) {
            let name = repository.full_name();
            for issue in mem::take(&mut repository.issues) {
                picture.insert(format!("{name}#{}", issue.number), format!("{issue:?}"));
            }
            picture.insert(name, format!("{repository:?}"));
        }
        picture
    }

    /// The names of what differs from an earlier picture.
    pub fn changes(&self, before: &Picture) -> Vec<String> {
        let after = self.picture();
        let names = before.keys().chain(after.keys());
        let mut changed: Vec<String> = names
            .filter(|name| before.get(*name) != after.get(*name))
            .cloned()
            .collect();
        changed.sort();
        changed.dedup();
        changed
    }
}

/// A client that does not wait between its requests.
pub fn client(forge: &Forge, environment: &Environment) -> Client {
    let source = TokenSource {
        host: Host::github(),
        named_hosts: Vec::new(),
        command: None,
        environment: environment.clone(),
    };
    let base = ApiBase::loopback(&forge.address()).unwrap();
    let clock = Clock::new(clock::now, |_| {});
    Client::with_timeout(source, base, clock, Duration::from_mins(1))
}

pub fn environment(forge: &Forge) -> Environment {
    Environment::of([("GH_TOKEN", forge.user("octo"))])
}

pub fn address() -> RepositoryAddress {
    RepositoryAddress {
        host: Host::github(),
        owner: String::from("octo"),
        name: String::from("demo"),
    }
}

pub fn text(text: &str) -> Outbound {
    Redactor::default().body(text)
}

/// What a list holds that has changed.
pub fn changed<T>(answer: Conditional<T>) -> T {
    match answer {
        Conditional::Changed(found) => found,
        Conditional::Unchanged => panic!("it cannot be unchanged"),
    }
}
