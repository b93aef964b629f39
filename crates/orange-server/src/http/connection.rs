//! Accepts connections, and serves each within limits.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Duration, sleep, timeout};
use tower_service::Service as _;

use crate::http::limits::{
    HANDSHAKE_TIMEOUT, HEAD_TIMEOUT, MAX_CONNECTIONS, MAX_HEAD, STOP_TIMEOUT,
};
use crate::tls::Tls;

/// A pause after a connection could not be accepted, for example because too many files are open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves until the server is to stop, then lets connections end.
pub async fn accept(
    listener: TcpListener,
    tls: Option<Tls>,
    routes: Router,
    mut stopped: watch::Receiver<bool>,
) {
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
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
        let (Ok(permit), Ok((stream, _peer))) = (permit, accepted) else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let (tls, routes, stopped) = (tls.clone(), routes.clone(), stopped.clone());
        tokio::spawn(async move {
            encrypt(stream, tls, routes, stopped).await;
            drop(permit);
        });
    }
    drop(listener);
    let all = u32::try_from(MAX_CONNECTIONS).unwrap_or(u32::MAX);
    let _left = timeout(STOP_TIMEOUT, room.acquire_many(all)).await;
}

/// Returns when the server is to stop, also when there is nothing left that could say so.
pub async fn wait_for_stop(stopped: &mut watch::Receiver<bool>) {
    let _is_stopped = stopped.wait_for(|it| *it).await;
}

async fn encrypt(
    stream: TcpStream,
    tls: Option<Tls>,
    routes: Router,
    stopped: watch::Receiver<bool>,
) {
    // Without this, short answers wait for the acknowledgement of earlier ones.
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let Some(tls) = tls else {
        return serve(stream, routes, stopped).await;
    };
    // A handshake that fails or takes too long is the client's affair.
    let shaken = timeout(HANDSHAKE_TIMEOUT, tls.acceptor.accept(stream)).await;
    if let Ok(Ok(stream)) = shaken {
        serve(stream, routes, stopped).await;
    }
}

/// Serves one connection until it ends or the server stops.
async fn serve<S>(stream: S, routes: Router, mut stopped: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let mut routes = routes.clone();
        async move {
            let answered = routes.call(request.map(Body::new)).await;
            Ok::<_, Infallible>(answered.unwrap_or_else(|never| match never {}))
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
