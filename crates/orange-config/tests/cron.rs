//! Schedules compared with cronsim, which follows Debian's cron.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use orange_config::Schedule;
use orange_engine::time::Timestamp;

/// Where we differ: the zone, the schedule, and how many instants only one of the two has.
///
/// When the clock goes back, a range of hours fires again in the repeated hour, as `*` does; with
/// cronsim, only `*` does. Where the clock changes by half an hour (Lord Howe) or at midnight
/// (Cairo), the two differ once a year in the schedules below.
const DIFFERENCES: &[&str] = &[
    "Europe/Berlin: 0 2-3 * * *: 10 more, 0 fewer",
    "Australia/Lord_Howe: 0 2-3 * * *: 0 more, 10 fewer",
    "Africa/Cairo: 0 9 * * *: 7 more, 0 fewer",
    "Africa/Cairo: 30 2 * * *: 7 more, 0 fewer",
    "Africa/Cairo: 0 12 * * 1-5: 7 more, 0 fewer",
];

#[test]
#[ignore = "compares with the list that `.ci/cron` makes; `.ci/long` runs both"]
fn schedules_agree_with_cronsim() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let list =
        fs::read_to_string(root.join("target/cron/instants.txt")).expect("run `.ci/cron` first");
    let start = Timestamp::parse("2020-01-01T00:00:00Z").unwrap();
    let end = Timestamp::parse("2029-12-31T23:59:59Z").unwrap();
    let mut differences = Vec::new();
    let mut compared = 0;
    for line in list.lines() {
        let mut parts = line.split('\t');
        let (zone, text) = (parts.next().unwrap(), parts.next().unwrap());
        let theirs = parts
            .next()
            .unwrap()
            .split(' ')
            .map(|it| it.parse().unwrap());
        let theirs: BTreeSet<i64> = theirs.collect();
        let schedule = Schedule::parse(text, Some(zone), start).unwrap();
        let ours = schedule.between(start, end).into_iter();
        let ours: BTreeSet<i64> = ours.map(|it| it.millis() / 60_000).collect();
        compared += theirs.len();
        let (more, fewer) = (ours.difference(&theirs), theirs.difference(&ours));
        let (more, fewer) = (more.count(), fewer.count());
        if more + fewer > 0 {
            differences.push(format!("{zone}: {text}: {more} more, {fewer} fewer"));
        }
    }
    assert!(compared > 500_000, "{compared} instants");
    assert_eq!(differences, DIFFERENCES);
}
