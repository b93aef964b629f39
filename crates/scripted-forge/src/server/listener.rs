//! Listeners on loopback that stop by themselves.

use std::io::{self, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use super::responder::Responder;
use crate::http::{Answer, Request};
use crate::stop::stop;
use crate::world::World;

/// How long a connection may be silent.
const IDLE: Duration = Duration::from_mins(1);

/// A forge that listens: the API on one port, stored logs on another.
#[derive(Debug)]
pub struct Server {
    pub responder: Arc<Responder>,
    api: SocketAddr,
    stopped: Arc<AtomicBool>,
    /// Dropping it stops the listeners.
    _alive: mpsc::Sender<()>,
}

impl Server {
    /// Listens on free ports until it is dropped or the time is over.
    pub fn start(world: World, limit: Duration) -> Self {
        let (api, api_address) = listen();
        let (storage, storage_address) = listen();
        let responder = Arc::new(Responder::new(world, format!("http://{storage_address}")));
        let stopped = Arc::new(AtomicBool::new(false));
        accept(api, &responder, &stopped, |responder, request| {
            responder.answer(request)
        });
        accept(storage, &responder, &stopped, |responder, request| {
            Some(responder.stored_log(request))
        });
        let (sender, receiver) = mpsc::channel();
        let flag = Arc::clone(&stopped);
        thread::spawn(move || {
            // Stop when the time is over or the sender is dropped.
            let _over = receiver.recv_timeout(limit);
            flag.store(true, Ordering::SeqCst);
            for address in [api_address, storage_address] {
                // Wakes the listener, which then sees the flag.
                let _woken = TcpStream::connect(address);
            }
        });
        Self {
            responder,
            api: api_address,
            stopped,
            _alive: sender,
        }
    }

    pub fn port(&self) -> u16 {
        self.api.port()
    }

    /// Listens on a socket of the file system too, for `gh`.
    pub fn listen_on(&self, socket: &Path) {
        let listener = UnixListener::bind(socket).unwrap_or_else(|error| {
            stop(&format!("cannot listen on {}: {error}", socket.display()))
        });
        let (responder, stopped) = (Arc::clone(&self.responder), Arc::clone(&self.stopped));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let (responder, stopped) = (Arc::clone(&responder), Arc::clone(&stopped));
                thread::spawn(move || {
                    let answer = |request: &Request| responder.answer(request);
                    let _gone = stream
                        .try_clone()
                        .and_then(|it| serve(it, &stream, &stopped, &responder, answer));
                });
            }
        });
    }
}

fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let bound = listener.and_then(|it| it.local_addr().map(|address| (it, address)));
    bound.unwrap_or_else(|error| stop(&format!("cannot listen on loopback: {error}")))
}

fn accept(
    listener: TcpListener,
    responder: &Arc<Responder>,
    stopped: &Arc<AtomicBool>,
    answer: fn(&Responder, &Request) -> Option<Answer>,
) {
    let (responder, stopped) = (Arc::clone(responder), Arc::clone(stopped));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            if stopped.load(Ordering::SeqCst) {
                return;
            }
            let (responder, stopped) = (Arc::clone(&responder), Arc::clone(&stopped));
            thread::spawn(move || {
                let answer = |request: &Request| answer(&responder, request);
                // A client that disconnected needs no answer.
                let _gone = stream
                    .set_read_timeout(Some(IDLE))
                    .and_then(|()| stream.set_nodelay(true))
                    .and_then(|()| stream.try_clone())
                    .and_then(|it| serve(it, &stream, &stopped, &responder, answer));
            });
        }
    });
}

/// Answers one request after the other until one side closes the connection.
fn serve(
    reader: impl Read,
    mut writer: impl Write,
    stopped: &AtomicBool,
    responder: &Responder,
    answer: impl Fn(&Request) -> Option<Answer>,
) -> io::Result<()> {
    let mut reader = BufReader::new(reader);
    while let Some(request) = Request::read(&mut reader)? {
        if stopped.load(Ordering::SeqCst) {
            return Ok(());
        }
        let caught = catch_unwind(AssertUnwindSafe(|| answer(&request)));
        let answer = caught.unwrap_or_else(|_| {
            let line = format!("{} {}", request.method, request.path);
            responder
                .state()
                .violations
                .push(format!("the forge panicked at `{line}`"));
            Some(Answer::error(500, "the scripted forge panicked"))
        });
        let Some(answer) = answer else {
            return Ok(());
        };
        let is_last = request.closes();
        let answer = if is_last {
            answer.with("Connection", "close")
        } else {
            answer
        };
        answer.write(&mut writer)?;
        if is_last {
            return Ok(());
        }
    }
    Ok(())
}
