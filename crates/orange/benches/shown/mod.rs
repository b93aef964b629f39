//! Runs the real dashboard in its own terminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// A screen to which nothing was written for so long is complete.
const QUIET: Duration = Duration::from_millis(60);

/// How long a step may take before the bench fails.
const LONGEST: Duration = Duration::from_mins(2);

/// A running dashboard.
pub struct Shown {
    child: Child,
    keys: File,
    written: Receiver<(Instant, Vec<u8>)>,
    begun: Instant,
    grid: Grid,
}

impl Shown {
    /// Starts it in a terminal of this size.
    pub fn start(mut orange: Command, columns: u16, lines: u16) -> Shown {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC);
        let terminal = terminal.unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let path = ptsname(&terminal, Vec::new()).unwrap();
        let path = path.to_str().unwrap();
        let inside = File::options().read(true).write(true).open(path).unwrap();
        let size = Winsize {
            ws_row: lines,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&inside, size).unwrap();
        orange.stdin(inside.try_clone().unwrap());
        orange.stdout(inside.try_clone().unwrap());
        orange.stderr(inside);
        let mut outside = File::from(terminal);
        let keys = outside.try_clone().unwrap();
        let (sender, written) = channel();
        let started = Instant::now();
        let child = orange.spawn().unwrap();
        // The command holds the other end of the terminal, which must close when the program exits.
        drop(orange);
        thread::spawn(move || {
            let mut bytes = [0; 1 << 14];
            while let Ok(count @ 1..) = outside.read(&mut bytes) {
                let _nobody = sender.send((Instant::now(), bytes[..count].to_vec()));
            }
        });
        Shown {
            child,
            keys,
            written,
            begun: started,
            grid: Grid::new(columns, lines),
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn started_at(&self) -> Instant {
        self.begun
    }

    /// Waits until the screen is as wanted; returns when that was.
    pub fn wait_for(&mut self, what: &str, is_wanted: impl Fn(&[String]) -> bool) -> Instant {
        let mut last = Instant::now();
        let deadline = last + LONGEST;
        loop {
            if is_wanted(&self.grid.lines()) {
                return last;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok((at, bytes)) = self.written.recv_timeout(left) else {
                panic!(
                    "timed out waiting for {what}:\n{}",
                    self.grid.lines().join("\n")
                );
            };
            self.grid.write(&bytes);
            last = at;
        }
    }

    /// Presses keys and waits until the screen is as wanted; returns how long that took.
    pub fn press(
        &mut self,
        keys: &str,
        what: &str,
        is_wanted: impl Fn(&[String]) -> bool,
    ) -> Duration {
        let start = Instant::now();
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.wait_for(what, is_wanted)
            .saturating_duration_since(start)
    }

    /// Presses keys; returns how long it took until the answer was written completely.
    pub fn press_until_quiet(&mut self, keys: &str) -> Duration {
        self.written.try_iter().for_each(drop);
        let start = Instant::now();
        self.keys.write_all(keys.as_bytes()).unwrap();
        let (mut last, _) = self.written.recv_timeout(LONGEST).unwrap();
        while let Ok((at, _)) = self.written.recv_timeout(QUIET) {
            last = at;
        }
        last.saturating_duration_since(start)
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// A minimal terminal emulator: just enough for a dashboard.
struct Grid {
    cells: Vec<Vec<char>>,
    at: (usize, usize),
    /// Bytes that are not a complete character or escape sequence yet.
    rest: Vec<u8>,
}

impl Grid {
    fn new(columns: u16, lines: u16) -> Grid {
        Grid {
            cells: vec![vec![' '; columns.into()]; lines.into()],
            at: (0, 0),
            rest: Vec::new(),
        }
    }

    fn lines(&self) -> Vec<String> {
        let lines = self.cells.iter();
        lines.map(|line| line.iter().collect::<String>()).collect()
    }

    fn write(&mut self, bytes: &[u8]) {
        self.rest.extend(bytes);
        let text = String::from_utf8_lossy(&self.rest).into_owned();
        // A character or an escape sequence may arrive in two halves.
        let whole = match std::str::from_utf8(&self.rest) {
            Ok(_) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let mut letters = text[..whole].char_indices().peekable();
        let mut done = 0;
        while let Some((_, letter)) = letters.next() {
            match letter {
                '\u{1b}' if letters.peek().is_some_and(|(_, it)| *it == '[') => {
                    letters.next();
                    let mut parameters = String::new();
                    let Some(order) = letters.by_ref().map(|(_, it)| it).find(|it| {
                        let is_order = it.is_ascii_alphabetic();
                        if !is_order {
                            parameters.push(*it);
                        }
                        is_order
                    }) else {
                        break;
                    };
                    self.order(order, &parameters);
                }
                '\u{1b}' if letters.peek().is_none() => break,
                letter => self.put(letter),
            }
            done = letters.peek().map_or(whole, |(at, _)| *at);
        }
        self.rest.drain(..done);
    }

    fn order(&mut self, order: char, parameters: &str) {
        let mut numbers = parameters.split(';').map(|it| it.parse().unwrap_or(1));
        match order {
            'H' => {
                let (line, column): (usize, usize) =
                    (numbers.next().unwrap_or(1), numbers.next().unwrap_or(1));
                self.at = (line - 1, column - 1);
            }
            'J' => {
                for line in &mut self.cells {
                    line.fill(' ');
                }
            }
            _ => {}
        }
    }

    fn put(&mut self, letter: char) {
        let (line, column) = self.at;
        if let Some(cell) = self.cells.get_mut(line).and_then(|it| it.get_mut(column)) {
            *cell = letter;
        }
        self.at.1 += 1;
    }
}
