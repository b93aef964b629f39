//! A loopback server that records requests and gives scripted answers.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Received {
    /// Which connection it came over.
    pub connection: usize,
    pub method: String,
    pub target: String,
    headers: Vec<(String, String)>,
    pub body: String,
}

impl Received {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(key, _)| key == name);
        found.next().map(|(_, value)| value.as_str())
    }
}

/// What the server does with a request.
pub enum Reply {
    Answer {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: Vec<u8>,
    },
    /// Closes the connection without an answer.
    Cut,
    /// Closes it in the middle of the answer.
    CutInside,
    /// Never answers, but keeps the connection open.
    Stall,
}

pub fn answer(status: u16, body: &str) -> Reply {
    answer_with(status, &[], body)
}

pub fn answer_with(status: u16, headers: &[(&'static str, &str)], body: &str) -> Reply {
    let headers = headers.iter();
    Reply::Answer {
        status,
        headers: headers
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect(),
        body: body.as_bytes().to_vec(),
    }
}

pub struct Server {
    address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Server {
    /// Answers until the test's process ends.
    pub fn start(reply: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let received = Arc::new(Mutex::new(Vec::new()));
        let (record, reply) = (Arc::clone(&received), Arc::new(reply));
        thread::spawn(move || {
            for (connection, stream) in listener.incoming().enumerate() {
                let (record, reply) = (Arc::clone(&record), Arc::clone(&reply));
                thread::spawn(move || {
                    let Ok(stream) = stream else { return };
                    let mut reader = BufReader::new(stream);
                    while let Some(request) = read_request(&mut reader, connection) {
                        record.lock().unwrap().push(request.clone());
                        let mut stream = reader.get_ref();
                        match reply(&request) {
                            Reply::Answer {
                                status,
                                headers,
                                body,
                            } => {
                                let mut head = format!(
                                    "HTTP/1.1 {status} X\r\ncontent-length: {}\r\n",
                                    body.len()
                                );
                                for (name, value) in headers {
                                    head.extend([name, ": ", &value, "\r\n"]);
                                }
                                head.push_str("\r\n");
                                let sent = stream.write_all(head.as_bytes());
                                if sent.and_then(|()| stream.write_all(&body)).is_err() {
                                    return;
                                }
                            }
                            Reply::Cut => return,
                            Reply::CutInside => {
                                let head = "HTTP/1.1 200 X\r\ncontent-length: 100\r\n\r\n{";
                                let _sent = stream.write_all(head.as_bytes());
                                return;
                            }
                            Reply::Stall => {
                                let _ended = reader.read(&mut [0; 1]);
                                return;
                            }
                        }
                    }
                });
            }
        });
        Server { address, received }
    }

    pub fn address(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
}

fn read_request(reader: &mut impl BufRead, connection: usize) -> Option<Received> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Received {
        connection,
        method,
        target,
        headers,
        body: String::from_utf8(body).unwrap(),
    })
}
