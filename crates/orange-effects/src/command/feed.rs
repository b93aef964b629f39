//! Runs two programs at once, one reading the other's output.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};
use std::time::Duration;

use orange_config::clock::Deadline;

use super::capture::Pipes;
use super::{CommandError, CommandExit, CommandOutput, GRACE, Invocation};

/// How long one of the two is watched before the other's error output is read again.
const TURN: Duration = Duration::from_millis(5);

/// How both programs ended, and their output; that of the source has no standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FedOutput {
    pub source: CommandOutput,
    pub reader: CommandOutput,
}

impl Invocation {
    /// Runs this program with the output of `source` as its input, without holding that output in
    /// memory. Both have this program's timeout. When this program exits first, the source has
    /// little time to exit too.
    pub fn run_fed_by(&self, source: &Invocation) -> Result<FedOutput, CommandError> {
        let mut command = source.command();
        command.process_group(0);
        command.stdin(if source.input.is_empty() {
            Stdio::null()
        } else {
            Stdio::piped()
        });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut feeding = command.spawn().map_err(|error| source.start_error(error))?;
        let between = feeding.stdout.take().map_or_else(Stdio::null, Stdio::from);
        let mut command = self.command();
        command.process_group(0).stdin(between);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = command.spawn();
        // The command holds the reading end; while it is open, the source would not notice that
        // the reader is gone.
        drop(command);
        let mut reading = match started {
            Ok(started) => started,
            Err(error) => {
                let _ended = feeding.kill().and_then(|()| feeding.wait());
                return Err(self.start_error(error));
            }
        };
        self.watch(source, &mut feeding, &mut reading)
    }

    fn watch(
        &self,
        source: &Invocation,
        feeding: &mut Child,
        reading: &mut Child,
    ) -> Result<FedOutput, CommandError> {
        let failed = |error| self.start_error(error);
        let pipes = Pipes::new(feeding, source.input.clone(), source.limit);
        let mut source_pipes = pipes.map_err(failed)?;
        let mut reader_pipes = Pipes::new(reading, Vec::new(), self.limit).map_err(failed)?;
        let deadline = Deadline::after(self.timeout);
        let (mut fed, mut read) = (None, None);
        while read.is_none() && !deadline.has_passed() {
            let until = match fed {
                Some(_) => deadline,
                None => Deadline::after(TURN.min(deadline.remaining())),
            };
            if fed.is_none() {
                fed = source_pipes.wait(feeding, until).map_err(failed)?;
            }
            read = reader_pipes.wait(reading, until).map_err(failed)?;
        }
        let reader_ending = match read {
            Some(status) => CommandExit::from(status),
            None => self.end_now(reading, &mut reader_pipes)?,
        };
        let source_ending = match fed {
            Some(status) => CommandExit::from(status),
            None if read.is_some() => source
                .clone()
                .timeout(GRACE)
                .wait(feeding, &mut source_pipes)
                .map_err(failed)?,
            None => source.end_now(feeding, &mut source_pipes)?,
        };
        let output = |ending, pipes: Pipes| {
            let [stdout, stderr] = pipes.take();
            CommandOutput {
                ending,
                stdout,
                stderr,
            }
        };
        Ok(FedOutput {
            source: output(source_ending, source_pipes),
            reader: output(reader_ending, reader_pipes),
        })
    }

    /// Ends a program whose time is over.
    fn end_now(&self, child: &mut Child, pipes: &mut Pipes) -> Result<CommandExit, CommandError> {
        let expired = self.clone().timeout(Duration::ZERO);
        let ending = expired.wait(child, pipes);
        Ok(match ending.map_err(|error| self.start_error(error))? {
            CommandExit::TimedOut(_) => CommandExit::TimedOut(self.timeout),
            ending => ending,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn shell(script: &str) -> Invocation {
        let path = "/usr/local/bin:/usr/bin:/bin";
        let environment = BTreeMap::from([("PATH".into(), path.into())]);
        Invocation::new("sh", environment).arguments(["-c", script])
    }

    #[test]
    fn the_reader_gets_what_the_source_prints() {
        let source = shell("cat; echo end").input("begin\n");
        let output = shell("cat").run_fed_by(&source).unwrap();
        assert_eq!(output.reader.stdout.bytes, b"begin\nend\n");
        assert_eq!(output.source.ending, CommandExit::Code(0));
        assert_eq!(output.reader.ending, CommandExit::Code(0));
    }

    #[test]
    fn a_source_that_goes_on_after_its_reader_is_ended() {
        let endless = shell("trap '' PIPE TERM; while :; do echo x; done 2>/dev/null");
        let output = shell("head -c 5").run_fed_by(&endless).unwrap();
        assert_eq!(output.reader.stdout.bytes, b"x\nx\nx");
        assert!(matches!(output.source.ending, CommandExit::TimedOut(_)));
    }

    #[test]
    fn both_are_ended_at_the_timeout() {
        let silent = shell("exec sleep 600");
        let reader = shell("cat").timeout(Duration::from_millis(50));
        let output = reader.run_fed_by(&silent).unwrap();
        assert!(matches!(output.reader.ending, CommandExit::TimedOut(_)));
        assert_ne!(output.source.ending, CommandExit::Code(0));
    }

    #[test]
    fn errors_of_both_are_captured() {
        let source = shell("echo one >&2; exit 3");
        let output = shell("cat; echo two >&2; exit 4")
            .run_fed_by(&source)
            .unwrap();
        assert_eq!(output.source.ending, CommandExit::Code(3));
        assert_eq!(output.source.stderr.bytes, b"one\n");
        assert_eq!(output.reader.ending, CommandExit::Code(4));
        assert_eq!(output.reader.stderr.bytes, b"two\n");
    }
}
