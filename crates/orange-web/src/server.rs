//! Listens on the loopback interface, and serves connections within limits.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OnceCell, Semaphore, watch};
use tokio::time::timeout;

use crate::backend::Backend;
use crate::events::Streams;
use crate::guard::Guard;
use crate::limits::{BACKLOG, HEAD_TIMEOUT, MAX_CONNECTIONS, MAX_HEAD, STOP_TIMEOUT};
use crate::public_url::PublicUrl;
use crate::router::{App, Connection};

/// How many threads serve connections, and how many run commands and look up devices.
const WORKERS: usize = 2;
const BLOCKING_THREADS: usize = 32;

/// A pause after a connection could not be accepted, for example because too many files are open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Why the server does not run.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("cannot listen on 127.0.0.1:{port}: another program does")]
    PortTaken { port: u16 },
    #[error("cannot listen on 127.0.0.1:{port}: {reason}")]
    NotBound { port: u16, reason: String },
    #[error("cannot start the server: {0}")]
    NotStarted(String),
}

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
    streams: Arc<Streams>,
    app: Arc<App>,
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
    /// Listens on this port of the loopback interface, and on no other.
    pub fn bind(
        port: u16,
        public_url: Option<&PublicUrl>,
        backend: Backend,
    ) -> Result<Server, ServerError> {
        let not_started = |error: io::Error| ServerError::NotStarted(orange_config::reason(&error));
        let runtime = Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .max_blocking_threads(BLOCKING_THREADS)
            .enable_all()
            .build()
            .map_err(not_started)?;
        let listener = runtime.block_on(async { listen(port) });
        let listener = listener.map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => ServerError::PortTaken { port },
            _ => ServerError::NotBound {
                port,
                reason: orange_config::reason(&error),
            },
        })?;
        let address = listener.local_addr().map_err(not_started)?;
        let backend = Arc::new(backend);
        let streams = Streams::new(Arc::clone(&backend));
        let guard = Guard::new(address.port(), public_url);
        Ok(Server {
            runtime,
            listener,
            address,
            app: App::new(guard, backend, Arc::clone(&streams)),
            streams,
            stop: watch::Sender::new(false),
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn stopper(&self) -> Stopper {
        Stopper(self.stop.clone())
    }

    /// Serves until it is stopped. Commands that still run then are left to end with the process: a
    /// command may be killed at any time.
    pub fn run(self) {
        let streams = Arc::clone(&self.streams);
        let poller = thread::spawn(move || streams.poll());
        self.runtime
            .block_on(accept(self.listener, &self.app, &self.streams, &self.stop));
        self.runtime.shutdown_timeout(STOP_TIMEOUT);
        // It ends within one interval once the streams are stopped.
        let _joined = poller.join();
    }
}

fn listen(port: u16) -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    // Only connections that have ended would be in the way; another listener still is.
    socket.set_reuseaddr(true)?;
    socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
    socket.listen(BACKLOG)
}

async fn accept(
    listener: TcpListener,
    app: &Arc<App>,
    streams: &Arc<Streams>,
    stop: &watch::Sender<bool>,
) {
    let routes = app.routes();
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut stopped = stop.subscribe();
    loop {
        // Connections beyond the limit wait in the system's queue.
        let next = async {
            let permit = Arc::clone(&room).acquire_owned().await;
            (permit, listener.accept().await)
        };
        let (permit, accepted) = tokio::select! {
            next = next => next,
            () = wait_for_stop(&mut stopped) => break,
        };
        let (Ok(permit), Ok((stream, peer))) = (permit, accepted) else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let (app, routes, stopped) = (Arc::clone(app), routes.clone(), stop.subscribe());
        tokio::spawn(async move {
            serve(stream, peer, app, routes, stopped).await;
            drop(permit);
        });
    }
    drop(listener);
    streams.stop();
    let all = u32::try_from(MAX_CONNECTIONS).unwrap_or(u32::MAX);
    let _left = timeout(STOP_TIMEOUT, room.acquire_many(all)).await;
}

/// Returns when the server is to stop.
async fn wait_for_stop(stopped: &mut watch::Receiver<bool>) {
    let _is_stopped = stopped.wait_for(|it| *it).await;
}

/// Serves one connection until it ends or the server stops.
async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    app: Arc<App>,
    routes: Router,
    mut stopped: watch::Receiver<bool>,
) {
    // Without this, short answers wait for the acknowledgement of earlier ones.
    let (Ok(()), Ok(own)) = (stream.set_nodelay(true), stream.local_addr()) else {
        return;
    };
    let connection = Arc::new(Connection {
        peer,
        own,
        identity: OnceCell::new(),
    });
    let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let (app, routes) = (Arc::clone(&app), routes.clone());
        let connection = Arc::clone(&connection);
        async move {
            let request = request.map(Body::new);
            Ok::<_, Infallible>(app.handle(routes, request, &connection).await)
        }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), service);
    let mut served = std::pin::pin!(served);
    tokio::select! {
        // A broken connection is the client's affair.
        _ended = served.as_mut() => {}
        () = wait_for_stop(&mut stopped) => {
            served.as_mut().graceful_shutdown();
            let _ended = timeout(STOP_TIMEOUT, served).await;
        }
    }
}
