//! Timestamps: UTC, with an offset, to the millisecond.

use orange_engine::time::Timestamp;
use proptest::prelude::*;

#[test]
fn known_instants_read_and_print() {
    for (text, millis) in [
        ("1970-01-01T00:00:00.000Z", 0),
        ("1969-12-31T23:59:59.999Z", -1),
        ("2000-02-29T12:00:00.000Z", 951_825_600_000),
        ("2026-11-15T01:20:30.405Z", 1_794_705_630_405),
        ("0000-01-01T00:00:00.000Z", -62_167_219_200_000),
        ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
    ] {
        assert_eq!(Timestamp::parse(text).unwrap().millis(), millis, "{text}");
        assert_eq!(Timestamp::from_millis(millis).to_string(), text);
    }
    assert_eq!(
        Timestamp::from_millis(i64::MAX).to_string(),
        "9999-12-31T23:59:59.999Z"
    );
    assert_eq!(
        Timestamp::from_millis(i64::MIN).to_string(),
        "0000-01-01T00:00:00.000Z"
    );
    assert_eq!(
        Timestamp::parse("2026-01-01T00:00:00.5Z").unwrap().millis() % 1000,
        500
    );
    assert_eq!(
        Timestamp::parse("2026-01-01 00:00:00.123456789z")
            .unwrap()
            .millis()
            % 1000,
        123
    );
}

#[test]
fn an_invalid_instant_is_refused() {
    for text in [
        "",
        "2026-01-01",
        "2026-01-01T00:00:00",
        "2026-01-01T00:00:00.Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2026-04-31T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:60:00Z",
        "2026-01-01T00:00:60Z",
        "2026-01-01T00:00:00+0200",
        "2026-01-01T00:00:00+24:00",
        "2026-01-01T00:00:00+02:60",
        "2026-01-01T00:00:00ZZ",
        "+026-01-01T00:00:00Z",
        "2026-01-01T00:00:0 Z",
        "2026/01/01T00:00:00Z",
    ] {
        assert!(Timestamp::parse(text).is_err(), "{text}");
    }
}

#[test]
fn durations_are_whole_seconds_and_never_negative() {
    let at = Timestamp::from_millis;
    assert_eq!(at(2_999).seconds_since(at(1_000)), 1);
    assert_eq!(at(1_000).seconds_since(at(1_000)), 0);
    assert_eq!(at(1_000).seconds_since(at(9_000)), 0);
}

proptest! {
    #[test]
    fn every_instant_survives_its_text(millis in -62_167_219_200_000..253_402_300_800_000i64) {
        let instant = Timestamp::from_millis(millis);
        prop_assert_eq!(Timestamp::parse(&instant.to_string()).unwrap(), instant);
        let json = serde_json::to_string(&instant).unwrap();
        prop_assert_eq!(serde_json::from_str::<Timestamp>(&json).unwrap(), instant);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "(?s).{0,40}") {
        let _ = Timestamp::parse(&text);
    }
}
