//! A server: listens, answers, coordinates, and stops in order.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::watch;

use crate::coordinator;
use crate::database::{Database, DatabaseError};
use crate::http::limits::BACKLOG;
use crate::http::{App, accept};
use crate::tls::{Tls, TlsError, TlsSetting};
use crate::waiting::Waiting;

pub use crate::http::Report;

/// Why a server does not run.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("cannot listen on {address}: {error}")]
    NotBound {
        address: SocketAddr,
        error: io::Error,
    },
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<Tls>,
    app: Arc<App>,
    waiting: Arc<Waiting>,
    database: Database,
    stop: watch::Sender<bool>,
}

/// Stops a server.
#[derive(Clone, Debug)]
pub struct Stopper(watch::Sender<bool>);

impl Stopper {
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Server {
    /// Listens, once the database has the schema of this program.
    pub async fn bind(
        address: SocketAddr,
        tls: &TlsSetting,
        database: Database,
        report: Report,
    ) -> Result<Self, ServerError> {
        let tls = tls.load(address)?;
        database.check_schema().await?;
        let not_bound = |error| ServerError::NotBound { address, error };
        let listener = listen(address).map_err(not_bound)?;
        let waiting = Arc::new(Waiting::default());
        Ok(Self {
            address: listener.local_addr().map_err(not_bound)?,
            listener,
            tls,
            app: Arc::new(App::new(database.clone(), Arc::clone(&waiting), report)),
            waiting,
            database,
            stop: watch::Sender::new(false),
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The SHA-256 of the certificate; `None` for plain HTTP.
    pub fn fingerprint(&self) -> Option<&str> {
        self.tls.as_ref().map(|it| it.fingerprint.as_str())
    }

    pub fn stopper(&self) -> Stopper {
        Stopper(self.stop.clone())
    }

    /// Serves until it is stopped. A call that is cut off then may be repeated at another server.
    pub async fn run(self) {
        let mut stopped = self.stop.subscribe();
        let coordinating = {
            let (app, database) = (Arc::clone(&self.app), self.database.clone());
            let stopped = stopped.clone();
            tokio::spawn(async move { coordinator::coordinate(&app, &database, stopped).await })
        };
        let watching = {
            let (waiting, database) = (Arc::clone(&self.waiting), self.database.clone());
            let stopped = stopped.clone();
            tokio::spawn(async move { coordinator::watch(&waiting, &database, stopped).await })
        };
        let ending = {
            let waiting = Arc::clone(&self.waiting);
            tokio::spawn(async move {
                crate::http::wait_for_stop(&mut stopped).await;
                waiting.stop();
            })
        };
        let routes = self.app.routes();
        accept(self.listener, self.tls, routes, self.stop.subscribe()).await;
        for task in [coordinating, watching, ending] {
            // A mark that is under way is one statement: it is done, or it is not.
            task.abort();
        }
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    // Only connections that have ended would be in the way; another listener still is.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}
