//! A session of tmux in a browser's terminal by ttyd, for comparison.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a terminal says nothing before it is drawn.
const QUIET: Duration = Duration::from_millis(500);

/// A terminal over a websocket.
pub struct Ttyd {
    process: Child,
    stream: TcpStream,
}

impl Drop for Ttyd {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _reaped = self.process.wait();
    }
}

impl Ttyd {
    /// Starts ttyd with a command that draws on its terminal.
    pub fn start(program: &str, command: &Command) -> Ttyd {
        let mut ttyd = Command::new(program);
        ttyd.args(["-i", "127.0.0.1", "-p", "0", "-W"]);
        ttyd.arg(command.get_program()).args(command.get_args());
        ttyd.env_remove("TMUX").env("TERM", "xterm-256color");
        let mut process = ttyd.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let port = lines.find_map(|line| {
            let line = line.unwrap();
            let (_, port) = line.split_once("Listening on port: ")?;
            port.trim().parse::<u16>().ok()
        });
        // It must not be stopped by a pipe that nobody reads.
        std::thread::spawn(move || lines.for_each(drop));
        let mut stream = TcpStream::connect(("127.0.0.1", port.unwrap())).unwrap();
        stream.set_nodelay(true).unwrap();
        write!(
            stream,
            "GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Protocol: tty\r\n\r\n"
        )
        .unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        assert!(head.starts_with(b"HTTP/1.1 101"));
        let mut ttyd = Ttyd { process, stream };
        ttyd.send(br#"{"AuthToken":"","columns":80,"rows":24}"#);
        ttyd.stream.set_read_timeout(Some(QUIET)).unwrap();
        while ttyd.receive().is_some() {}
        ttyd.stream.set_read_timeout(None).unwrap();
        ttyd
    }

    /// How long each typed letter takes until it is on the terminal.
    pub fn echoes(&mut self, count: usize) -> Vec<Duration> {
        let letters = (b'a'..=b'z').cycle().take(count);
        let times = letters.map(|letter| {
            let start = Instant::now();
            self.send(&[b'0', letter]);
            loop {
                let message = self.receive().unwrap();
                if message[0] == b'0' && message[1..].contains(&letter) {
                    return start.elapsed();
                }
            }
        });
        times.collect()
    }

    /// Sends a message of less than 126 bytes.
    fn send(&mut self, message: &[u8]) {
        let length = u8::try_from(message.len()).unwrap();
        // Binary, with a mask that changes nothing.
        let mut frame = vec![0x82, 0x80 | length, 0, 0, 0, 0];
        frame.extend_from_slice(message);
        self.stream.write_all(&frame).unwrap();
    }

    /// The next message; `None` if there is none in time.
    fn receive(&mut self) -> Option<Vec<u8>> {
        let mut head = [0; 2];
        self.stream.read_exact(&mut head).ok()?;
        let length = match head[1] {
            126 => {
                let mut bytes = [0; 2];
                self.stream.read_exact(&mut bytes).unwrap();
                usize::from(u16::from_be_bytes(bytes))
            }
            length => usize::from(length),
        };
        let mut message = vec![0; length];
        self.stream.read_exact(&mut message).unwrap();
        Some(message)
    }
}
