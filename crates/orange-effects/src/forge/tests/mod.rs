//! The client against a loopback server with scripted answers.

mod answers;
mod client;
mod faults;
mod graph;
mod partial;
pub mod server;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use orange_config::Environment;
use orange_engine::time::Timestamp;

use super::client::Client;
use super::host::{ApiBase, Host, RepositoryAddress};
use super::pacing::Clock;
use super::token::TokenSource;
use server::Server;

/// A clock that moves only when something waits: the time in milliseconds, and all waits.
#[derive(Clone, Default)]
struct StillClock(Arc<Mutex<(i64, Vec<Duration>)>>);

impl StillClock {
    fn clock(&self) -> Clock {
        let (for_now, for_sleep) = (self.0.clone(), self.0.clone());
        Clock::new(
            move || Timestamp::from_millis(for_now.lock().unwrap().0),
            move |wait| {
                let mut time = for_sleep.lock().unwrap();
                time.0 += i64::try_from(wait.as_millis()).unwrap();
                time.1.push(wait);
            },
        )
    }

    fn waits(&self) -> Vec<Duration> {
        self.0.lock().unwrap().1.clone()
    }
}

fn token_source() -> TokenSource {
    TokenSource {
        host: Host::new("forge.test"),
        named_hosts: vec![Host::new("forge.test")],
        command: None,
        environment: Environment::of([("GH_ENTERPRISE_TOKEN", "the-token")]),
    }
}

fn client(server: &Server) -> Client {
    let base = ApiBase::loopback(&server.address()).unwrap();
    Client::new(token_source(), base, StillClock::default().clock())
}

fn repository() -> RepositoryAddress {
    RepositoryAddress {
        host: Host::new("forge.test"),
        owner: String::from("ada"),
        name: String::from("engine"),
    }
}
