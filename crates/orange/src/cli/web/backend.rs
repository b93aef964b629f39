//! What the server needs from orange.

use std::path::PathBuf;
use std::sync::Arc;

use orange_config::Environment;
use orange_driver::{CommitReport, DeviceScope, Driver};
use orange_web::operations::Scope;
use orange_web::{Backend, Change, Commit, Commits, Device, Pairing, Peer};

use super::Program;
use crate::cli::Error;
use crate::cli::request::requests::driver;

/// The functions of the server. Each question gets a driver of its own, as each command does; only
/// the one that looks for changes keeps its connection to the database.
pub fn backend(program: Program, environment: &Environment) -> Result<Backend, Error> {
    let environment = Arc::new(environment.clone());
    let orange = std::env::current_exe().map_err(Error::not_started)?;
    let new_driver = {
        let environment = Arc::clone(&environment);
        move || Driver::new(&environment, PathBuf::clone(&orange))
    };
    let watcher = driver(&environment)?.web;
    let watch = watcher.watch_changes();
    let requests = watcher.watch_requests();
    let ask = Arc::new(move || new_driver().map(|driver| driver.web));
    let hints = driver(&environment)?.forge;
    let (device, devices, pair, secret, peer) = (
        Arc::clone(&ask),
        Arc::clone(&ask),
        Arc::clone(&ask),
        Arc::clone(&ask),
        Arc::clone(&ask),
    );
    Ok(Backend {
        call: Box::new(move |it| (program.run)(it, &environment)),
        device: Box::new(move |token| {
            let found = device().and_then(|web| web.find_device(token));
            let found = found.map_err(|it| it.to_string())?;
            Ok(found.map(|it| Device {
                id: it.id,
                scope: scope(it.scope),
            }))
        }),
        device_ids: Box::new(move |()| {
            let found = devices()
                .and_then(|web| web.devices())
                .map_err(|it| it.to_string())?;
            Ok(found.into_iter().map(|it| it.id).collect())
        }),
        pair: Box::new(move |code| {
            let paired = pair()
                .and_then(|web| web.pair(code))
                .map_err(|it| it.to_string())?;
            Ok(paired.map(|it| Pairing {
                name: it.name,
                scope: scope(it.scope),
                token: it.token,
            }))
        }),
        webhook_secret: Box::new(move |()| {
            let found = secret().and_then(|web| web.webhook_secret());
            found.map_err(|it| it.to_string())
        }),
        hint: Box::new(move |url| {
            let noted = hints.note_hint(url);
            noted.map(drop).map_err(|it| it.to_string())
        }),
        peer: Box::new(
            move |from, to| match peer().map(|web| web.identify_peer(from, to)) {
                Ok(orange_driver::Peer::User) => Peer::User,
                Ok(orange_driver::Peer::Unknown) => Peer::Unknown,
                Ok(orange_driver::Peer::Refused(reason)) => Peer::Refused(reason),
                Err(error) => Peer::Refused(error.to_string()),
            },
        ),
        wait_for_change: Box::new(move |limit| watch.wait(limit)),
        open_requests: Box::new(move |()| {
            let found = requests.open().map_err(|it| it.to_string())?;
            Ok(found.into_iter().map(|it| it.as_str().to_owned()).collect())
        }),
        commits_after: Box::new(move |sequence| {
            let found = watcher
                .commits_after(sequence)
                .map_err(|it| it.to_string())?;
            Ok(Commits {
                sequence: found.sequence,
                database: found.database,
                last: found.last,
                commits: found.commits.into_iter().map(commit).collect(),
            })
        }),
        description: (program.describe)()?,
    })
}

fn scope(scope: DeviceScope) -> Scope {
    match scope {
        DeviceScope::Read => Scope::Read,
        DeviceScope::Act => Scope::Act,
    }
}

fn commit(report: CommitReport) -> Commit {
    let changes = report.changes.into_iter().map(|it| Change {
        task: it.task.as_str().to_owned(),
        version: it.version,
        status: it.status.as_str().to_owned(),
    });
    Commit {
        sequence: report.sequence,
        changes: changes.collect(),
    }
}
