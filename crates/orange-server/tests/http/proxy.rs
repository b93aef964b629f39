//! A faulty way to a server: it cuts, delays and doubles calls.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Longer than the longest wait for work.
const PATIENCE: Duration = Duration::from_secs(40);

#[derive(Debug)]
pub struct Proxy {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    server: Mutex<SocketAddr>,
    faulty: AtomicBool,
    stopped: AtomicBool,
    random: AtomicU64,
    faults: AtomicU64,
}

enum Fault {
    None,
    /// The request never arrives.
    Cut,
    /// It arrives, and its answer is lost.
    Lost,
    /// It arrives again, later.
    Doubled,
    Delayed,
}

impl Proxy {
    pub fn start(server: SocketAddr, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            server: Mutex::new(server),
            faulty: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            random: AtomicU64::new(seed | 1),
            faults: AtomicU64::new(0),
        });
        let own = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if own.stopped.load(Ordering::Relaxed) {
                    return;
                }
                let shared = Arc::clone(&own);
                if let Ok(stream) = stream {
                    thread::spawn(move || {
                        // A broken connection is what this is for.
                        let _broken = shared.pass(stream);
                    });
                }
            }
        });
        Self { address, shared }
    }

    pub fn lead_to(&self, server: SocketAddr) {
        *self.shared.server.lock().unwrap() = server;
    }

    pub fn set_faulty(&self, faulty: bool) {
        self.shared.faulty.store(faulty, Ordering::Relaxed);
    }

    pub fn faults(&self) -> u64 {
        self.shared.faults.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        let _woken = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn draw(&self, sides: u64) -> u64 {
        let step = |it: u64| {
            let it = it ^ (it << 13);
            let it = it ^ (it >> 7);
            it ^ (it << 17)
        };
        let drawn = self
            .random
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |it| Some(step(it)));
        drawn.unwrap_or_default() % sides
    }

    fn fault(&self) -> Fault {
        if !self.faulty.load(Ordering::Relaxed) {
            return Fault::None;
        }
        let fault = match self.draw(20) {
            0 => Fault::Cut,
            1 => Fault::Lost,
            2 => Fault::Doubled,
            3 => Fault::Delayed,
            _ => return Fault::None,
        };
        self.faults.fetch_add(1, Ordering::Relaxed);
        fault
    }

    fn pass(&self, mut client: TcpStream) -> io::Result<()> {
        client.set_read_timeout(Some(PATIENCE))?;
        let request = read_request(&mut client)?;
        let pause = Duration::from_millis(self.draw(2000));
        match self.fault() {
            Fault::None => {
                let answer = self.ask(&request)?;
                client.write_all(&answer)
            }
            Fault::Cut => client.shutdown(Shutdown::Both),
            Fault::Lost => {
                client.shutdown(Shutdown::Both)?;
                self.ask(&request).map(drop)
            }
            Fault::Doubled => {
                let answer = self.ask(&request)?;
                client.write_all(&answer)?;
                client.shutdown(Shutdown::Both)?;
                thread::sleep(pause);
                self.ask(&request).map(drop)
            }
            Fault::Delayed => {
                thread::sleep(pause);
                let answer = self.ask(&request)?;
                client.write_all(&answer)
            }
        }
    }

    fn ask(&self, request: &[u8]) -> io::Result<Vec<u8>> {
        let address = *self.server.lock().unwrap();
        let mut server = TcpStream::connect(address)?;
        server.set_read_timeout(Some(PATIENCE))?;
        server.write_all(request)?;
        let mut answer = Vec::new();
        server.read_to_end(&mut answer)?;
        Ok(answer)
    }
}

/// One request: the clients here send one per connection.
fn read_request(client: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut request = Vec::new();
    let mut part = [0; 4096];
    loop {
        let count = client.read(&mut part)?;
        request.extend_from_slice(&part[..count]);
        let text = String::from_utf8_lossy(&request);
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|it| it.strip_prefix("Content-Length: "));
            let length: usize = length.and_then(|it| it.parse().ok()).unwrap_or(0);
            if request.len() >= head.len() + 4 + length {
                return Ok(request);
            }
        }
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}
