//! Violations, their named exceptions, and the report of both.

use std::fmt;
use std::fmt::Write as _;

/// One rule about the tree; an exception is for one rule in one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    Commands,
    Crates,
    Cycles,
    Doors,
    Drawing,
    Statuses,
    StatusList,
    Size,
    Opening,
    Names,
    Leftovers,
}

/// A place that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Violation {
    pub path: String,
    pub line: usize,
    pub rule: String,
}

impl Violation {
    pub fn new(path: &str, line: usize, rule: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            rule: rule.into(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.path, self.line, self.rule)
    }
}

/// What one file may do although a rule forbids it, and why.
#[derive(Debug)]
pub struct Exception {
    pub law: Law,
    pub path: &'static str,
    /// A part of the violation's message, so that the rest of the file stays covered.
    pub what: &'static str,
    pub reason: &'static str,
}

impl Exception {
    fn excuses(&self, law: Law, found: &Violation) -> bool {
        self.law == law && self.path == found.path && found.rule.contains(self.what)
    }
}

/// Empty when every violation is excused and every exception excuses something.
pub fn report(law: Law, violations: &[Violation], exceptions: &[Exception]) -> String {
    let mut report = String::new();
    for found in violations {
        if !exceptions
            .iter()
            .any(|exception| exception.excuses(law, found))
        {
            let _ = writeln!(report, "{found}");
        }
    }
    for exception in exceptions.iter().filter(|exception| exception.law == law) {
        if !violations.iter().any(|found| exception.excuses(law, found)) {
            let Exception {
                path, what, reason, ..
            } = exception;
            let _ = writeln!(
                report,
                "{path}:1: {what} is excused but not there ({reason})"
            );
        }
    }
    report
}

/// The lines of the violations, for the tests of a rule on planted ones.
#[cfg(test)]
pub fn lines_of(violations: &[Violation]) -> Vec<usize> {
    violations.iter().map(|found| found.line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXCUSED: &[Exception] = &[Exception {
        law: Law::Doors,
        path: "a.rs",
        what: "`x`",
        reason: "a good one",
    }];

    #[test]
    fn a_violation_is_reported_with_its_place() {
        let found = [Violation::new("b.rs", 7, "too long")];
        assert_eq!(report(Law::Size, &found, &[]), "b.rs:7: too long\n");
    }

    #[test]
    fn an_exception_excuses_one_thing_in_one_file_for_one_law() {
        let excused = Violation::new("a.rs", 1, "`x` is bad");
        let other_thing = Violation::new("a.rs", 2, "`y` is bad");
        let other_file = Violation::new("b.rs", 3, "`x` is bad");
        let found = [excused, other_thing, other_file];
        let expected = "a.rs:2: `y` is bad\nb.rs:3: `x` is bad\n";
        assert_eq!(report(Law::Doors, &found, EXCUSED), expected);
        assert!(report(Law::Size, &found, EXCUSED).starts_with("a.rs:1: `x` is bad\n"));
    }

    #[test]
    fn an_exception_that_excuses_nothing_is_reported() {
        let expected = "a.rs:1: `x` is excused but not there (a good one)\n";
        assert_eq!(report(Law::Doors, &[], EXCUSED), expected);
        assert_eq!(report(Law::Names, &[], EXCUSED), "");
    }
}
