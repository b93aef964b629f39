//! A service on a loopback address that keeps the requests it gets.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use orange_effects::sandbox::InjectedLogin;

pub struct LoginService {
    address: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl LoginService {
    pub fn start() -> LoginService {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = Arc::clone(&kept);
                thread::spawn(move || answer(stream, &kept));
            }
        });
        LoginService { address, requests }
    }

    pub fn login(&self) -> InjectedLogin {
        InjectedLogin {
            variable: String::from("REAL_KEY"),
            inside: String::from("INSIDE_KEY"),
            placeholder: String::from("placeholder-of-this-run"),
            header: String::from("x-api-key"),
            prefix: String::new(),
            address: String::from("BASE"),
            service: self.address.clone(),
            paths: vec![String::from("/v1/")],
        }
    }

    /// The requests since the last call.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.requests.lock().unwrap())
    }
}

fn answer(stream: TcpStream, kept: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream);
    let mut text = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let lower = line.to_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        text.push_str(&line);
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    text.push_str(&String::from_utf8(body).unwrap());
    let is_slow = text.contains("/v1/slow");
    kept.lock().unwrap().push(text);
    let mut stream = reader.into_inner();
    let head = "HTTP/1.1 200 OK\r\nx-from: service\r\ntransfer-encoding: chunked\r\n\r\n";
    let _gone = stream.write_all(format!("{head}6\r\nfirst \r\n").as_bytes());
    if is_slow {
        thread::sleep(Duration::from_millis(300));
    }
    let _gone = stream.write_all(b"6\r\nsecond\r\n0\r\n\r\n");
}
