//! Attempts to break out of a sandbox, each made without one first.
//!
//! `results.txt` has what came of each. Write it with `ORANGE_WRITE_RESULTS=1`.

mod attempts;
mod machine;

use std::fmt::Write as _;
use std::fs;

use attempts::{Attempt, Control, attempts};
use machine::Machine;

const RESULTS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/sandbox/corpus/results.txt"
);

/// How many attempts must breach without a sandbox, so that they prove something.
const MIN_CONTROL: usize = 85;

/// Memory is not limited where orange has no cgroup.
const LIST: [&str; 1] = ["146"];

/// An open network is that of the host.
const OPEN: [&str; 12] = [
    "98", "99", "100", "101", "102", "103", "104", "107", "118", "146", "164", "166",
];

/// What the partial level lets through with a limited network: the modes of files, the repository
/// but for its configuration and hooks, the names of processes, and the size of what is in memory
/// and in the folder for temporary files.
const PARTIAL_LIST: [&str; 9] = ["165", "62", "64", "65", "149", "150", "66", "145", "146"];

/// The same with an open network.
const PARTIAL_OPEN: [&str; 11] = [
    "98", "99", "100", "101", "102", "103", "104", "107", "118", "164", "166",
];

/// What an agent cannot use at the partial level: `/tmp`, a socket file, and with a limited network
/// a port of its own.
const PARTIAL_BROKEN: [&str; 3] = ["w5", "w7", "w8"];

/// The numbers of the attempts that breached.
fn breaches<'a>(attempts: &'a [Attempt], results: &[(bool, String)]) -> Vec<&'a str> {
    let both = attempts.iter().zip(results);
    let found = both.filter(|(it, (succeeded, _))| it.control != Control::Works && *succeeded);
    found.map(|(it, _)| it.number).collect()
}

fn described(attempts: &[Attempt], results: &[(bool, String)], numbers: &[&str]) -> String {
    let both = attempts.iter().zip(results);
    let found = both.filter(|(it, _)| numbers.contains(&it.number));
    let lines = found.map(|(it, (_, said))| format!("{} {}: {said}\n", it.number, it.name));
    lines.collect()
}

/// Fails unless everything that an agent needs works.
fn require_works(attempts: &[Attempt], results: &[(bool, String)], refused: &[&str]) {
    let both = attempts.iter().zip(results);
    let broken = both.filter(|(it, (succeeded, _))| it.control == Control::Works && !succeeded);
    let broken = broken.map(|(it, _)| it.number);
    let broken: Vec<&str> = broken.filter(|it| !refused.contains(it)).collect();
    assert!(
        broken.is_empty(),
        "{}",
        described(attempts, results, &broken)
    );
}

fn table(attempts: &[Attempt], columns: &[Vec<(bool, String)>; 5]) -> String {
    let mut text = String::from("none   list   open   p-list p-open\n");
    for (index, attempt) in attempts.iter().enumerate() {
        let word = |column: usize| match (attempt.control, columns[column][index].0) {
            (Control::Works, true) => "works",
            (Control::Works, false) => "broken",
            // What the machine refuses by itself differs from machine to machine.
            (Control::Unknown, _) if column == 0 => "-",
            (_, true) => "breach",
            (_, false) => "held",
        };
        writeln!(
            text,
            "{:<6} {:<6} {:<6} {:<6} {:<6} {} {}",
            word(0),
            word(1),
            word(2),
            word(3),
            word(4),
            attempt.number,
            attempt.name
        )
        .unwrap();
    }
    text
}

#[test]
fn no_attempt_breaks_out() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("NOT TRIED: the corpus (needs root, to have a network and a setuid program)");
        return;
    }
    let attempts = attempts();
    let list = "network = \"list\"\nhosts = [\"allowed.test:443\", \"localhost:8081\"]\n";
    let open = "network = \"open\"\n";
    let columns = [
        ("off", "", true),
        ("required", list, true),
        ("required", open, true),
        ("auto", list, false),
        ("auto", open, false),
    ];
    let columns = columns.map(|(mode, network, has_bwrap)| {
        let settings = format!("mode = \"{mode}\"\n{network}");
        let machine = Machine::new(&settings, has_bwrap);
        let results = machine.make(&attempts);
        assert_eq!(machine.host() == "orange\n", mode == "required");
        let refused = if has_bwrap { &[][..] } else { &PARTIAL_BROKEN };
        require_works(&attempts, &results, refused);
        results
    });
    let partial_open = [&PARTIAL_LIST[..], &PARTIAL_OPEN].concat();
    let [none, list, open, partial, partial_with_network] = &columns;
    let missing = attempts.iter().zip(none);
    let missing =
        missing.filter(|(it, (succeeded, _))| it.control == Control::Breach && !succeeded);
    let missing: Vec<&str> = missing.map(|(it, _)| it.number).collect();
    assert!(
        missing.is_empty(),
        "these show nothing, because they fail without a sandbox too:\n{}",
        described(&attempts, none, &missing)
    );
    let control = breaches(&attempts, none).len();
    assert!(control >= MIN_CONTROL, "{control}");
    for (name, results, listed) in [
        ("list", list, &LIST[..]),
        ("open", open, &OPEN),
        ("partial, list", partial, &PARTIAL_LIST),
        ("partial, open", partial_with_network, &partial_open),
    ] {
        let found = breaches(&attempts, results);
        let new: Vec<&str> = found
            .into_iter()
            .filter(|it| !listed.contains(it))
            .collect();
        assert!(
            new.is_empty(),
            "{name}:\n{}",
            described(&attempts, results, &new)
        );
    }
    let text = table(&attempts, &columns);
    if std::env::var_os("ORANGE_WRITE_RESULTS").is_some() {
        fs::write(RESULTS, &text).unwrap();
    }
    assert_eq!(text, fs::read_to_string(RESULTS).unwrap_or_default());
}
