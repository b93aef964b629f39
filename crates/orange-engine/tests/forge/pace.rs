//! When to look again, and at how much.

use orange_engine::forge::knowledge::Knowledge;
use orange_engine::forge::pace::{BusyTime, ChunkSize, Heat, PaceSettings, Quota};

use crate::fixtures::at;

fn quota(remaining: u64, resets: i64) -> Knowledge<Quota> {
    Knowledge::Known(Quota {
        limit: 5000,
        remaining,
        resets: at(resets),
    })
}

#[test]
fn hot_is_every_minute_and_cold_every_quarter_of_an_hour() {
    let pace = PaceSettings::default();
    let hot = pace.next_look(Heat::Hot, at(0), 1, quota(5000, 3600));
    assert_eq!((hot.at, hot.is_stretched), (at(60), false));
    let cold = pace.next_look(Heat::Cold, at(0), 1, Knowledge::Unknown);
    assert_eq!(cold.at, at(900));
}

#[test]
fn looks_stay_within_the_share_of_what_is_left() {
    let pace = PaceSettings::default();
    for (cost, remaining, end) in [
        (100, 5000, 3600),
        (10, 500, 3600),
        (7, 93, 1800),
        (1, 1, 60),
    ] {
        let (mut now, mut left) = (at(0), remaining);
        loop {
            let next = pace.next_look(Heat::Hot, now, cost, quota(left, end));
            if next.at >= at(end) {
                break;
            }
            // At this pace until the reset, at least half of what is left stays for others.
            let looks = at(end).seconds_since(now) / next.at.seconds_since(now);
            assert!(looks * cost * 2 <= left, "{cost} {remaining}: {left} left");
            left -= cost;
            now = next.at;
        }
        assert!(left >= cost, "{cost} {remaining}: {left} left");
    }
}

#[test]
fn without_points_the_next_look_is_after_the_reset() {
    let pace = PaceSettings::default();
    let next = pace.next_look(Heat::Hot, at(0), 5, quota(3, 1000));
    assert_eq!((next.at, next.is_stretched), (at(1000), true));
    // A reset in the past says nothing any more.
    let next = pace.next_look(Heat::Hot, at(2000), 5, quota(0, 1000));
    assert_eq!((next.at, next.is_stretched), (at(2060), false));
}

#[test]
fn lesson_54_a_chunk_is_halved_after_trouble_and_doubled_after_a_day() {
    let day = 24 * 60 * 60;
    let mut chunk = ChunkSize::new(50, at(0));
    assert_eq!(chunk.current(at(0)), 50);
    for expected in [25, 12, 6, 3, 1] {
        assert!(chunk.halve(at(0)));
        assert_eq!(chunk.current(at(0)), expected);
    }
    assert!(!chunk.halve(at(0)));
    assert_eq!(chunk.current(at(day - 1)), 1);
    assert_eq!(chunk.current(at(day)), 2);
    assert_eq!(chunk.current(at(day + 1)), 2);
    for days in 2..9 {
        chunk.current(at(days * day));
    }
    assert_eq!(chunk.current(at(10 * day)), 50);
}

#[test]
fn requests_take_at_most_a_third_of_a_minute() {
    let mut busy = BusyTime::default();
    assert_eq!(busy.next(at(0)), at(0));
    busy.add(at(10), 9000);
    busy.add(at(20), 9000);
    assert_eq!(busy.next(at(20)), at(20));
    busy.add(at(30), 9000);
    assert_eq!(busy.next(at(30)), at(70));
    assert_eq!(busy.next(at(75)), at(75));
}
