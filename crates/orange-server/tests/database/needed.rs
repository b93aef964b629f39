//! Without any one rule of the SQL, some history has another answer.

use proptest::prelude::*;
use tokio::runtime::Runtime;

use crate::fixture::{self, Fixture};
use crate::laws::compare;

const RUNNERS: &str = include_str!("../../src/database/migrations/0003_runners.sql");
const LOG: &str = include_str!("../../src/database/migrations/0004_log.sql");
const HOLDING: &str = include_str!("../../src/database/migrations/0005_holding.sql");
const CLOCK: &str = include_str!("../../src/database/migrations/0002_clock.sql");
const MAIL: &str = include_str!("../../src/database/migrations/0006_mail.sql");

/// A rule, where it is, and what is there without it.
struct Mutant {
    rule: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
}

const MUTANTS: &[Mutant] = &[
    Mutant {
        rule: "an append has the current epoch",
        file: LOG,
        from: "_epoch <> _record.epoch or ",
        to: "",
    },
    Mutant {
        rule: "an append comes from the holder",
        file: LOG,
        from: " or _record.holder is distinct from _runner",
        to: "",
    },
    Mutant {
        rule: "a repeated append is recognised",
        file: LOG,
        from: "while _known < least",
        to: "while false and _known < least",
    },
    Mutant {
        rule: "the first commit follows the head",
        file: LOG,
        from: "and _shas[1] = sha256('orange-fleet commit 1\\012'::bytea || _previous_sha || _content)",
        to: "",
    },
    Mutant {
        rule: "a usual append has the current epoch",
        file: LOG,
        from: "and epoch = _epoch and holder = _runner\n                and incarnation",
        to: "and holder = _runner\n                and incarnation",
    },
    Mutant {
        rule: "a usual append comes from the holder",
        file: LOG,
        from: "and holder = _runner\n                and incarnation",
        to: "and incarnation",
    },
    Mutant {
        rule: "a usual append comes before the release",
        file: LOG,
        from: "and incarnation is not null and not ended\n",
        to: "and not ended\n",
    },
    Mutant {
        rule: "a usual append follows the head",
        file: LOG,
        from: "and _shas[1] = sha256('orange-fleet commit 1\\012'::bytea || head_sha || _content)",
        to: "",
    },
    Mutant {
        rule: "an append after the head is behind",
        file: LOG,
        from: "if _record.version < _base then",
        to: "if false then",
    },
    Mutant {
        rule: "a request is decided once",
        file: LOG,
        from: "m.task = _task and m.state = 0 and",
        to: "m.task = _task and",
    },
    Mutant {
        rule: "only requests of the task are decided",
        file: LOG,
        from: "m.task = _task and m.state = 0 and",
        to: "m.state = 0 and",
    },
    Mutant {
        rule: "a change of status begins a new count of attempts",
        file: LOG,
        from: "case when status = _status then attempts else 0 end",
        to: "attempts",
    },
    Mutant {
        rule: "the end of a task frees those that wait for it",
        file: LOG,
        from: "if _record.ended <> _ended then",
        to: "if false then",
    },
    Mutant {
        rule: "a task waits for those that have not ended",
        file: LOG,
        from: "where not other.ended",
        to: "where false",
    },
    Mutant {
        rule: "a registration compares the incarnation",
        file: RUNNERS,
        from: "if _seen = _record.incarnation then",
        to: "if _seen <= _record.incarnation then",
    },
    Mutant {
        rule: "an older incarnation keeps its lease",
        file: RUNNERS,
        from: " and r.old_until < _now",
        to: "",
    },
    Mutant {
        rule: "an outage counts against no runner",
        file: RUNNERS,
        from: "_up >= lost_after and ",
        to: "",
    },
    Mutant {
        rule: "a long gap begins a new count",
        file: RUNNERS,
        from: " or _now - last_mark > orange.longest_gap()",
        to: "",
    },
    Mutant {
        rule: "a beat names what a failover forgot",
        file: RUNNERS,
        from: "or orange.forgot(t, _runner, held.epoch)",
        to: "",
    },
    Mutant {
        rule: "a claim is forgotten only by a failover",
        file: CLOCK,
        from: "_held < orange.timeline() << 40 and ",
        to: "",
    },
    Mutant {
        rule: "an adoption compares the epoch",
        file: HOLDING,
        from: " and epoch = _seen for no key update",
        to: " for no key update",
    },
    Mutant {
        rule: "every holding has an epoch of its own",
        file: HOLDING,
        from: "greatest(_epoch, orange.timeline() << 40) + 1",
        to: "greatest(_epoch, (orange.timeline() << 40) + 1)",
    },
    Mutant {
        rule: "nothing is claimed soon after a failover",
        file: HOLDING,
        from: "claims_from <= _now and ",
        to: "",
    },
    Mutant {
        rule: "returned tasks are claimed first",
        file: HOLDING,
        from: "order by head.returns desc, head.priority desc",
        to: "order by head.priority desc",
    },
    Mutant {
        rule: "only the holder gives back",
        file: HOLDING,
        from: "and epoch = _epoch and holder = _runner and incarnation is not null;",
        to: "and epoch = _epoch and incarnation is not null;",
    },
    Mutant {
        rule: "newer saved work stays",
        file: HOLDING,
        from: "where (w.epoch, w.number) < (excluded.epoch, excluded.number)",
        to: "",
    },
    Mutant {
        rule: "only the holder answers mail",
        file: MAIL,
        from: "and epoch = _epoch and holder = _runner and incarnation is not null",
        to: "",
    },
];

/// The statement that makes the function which has this text.
fn function(file: &str, text: &str) -> String {
    let mut pieces = file.split("create function ");
    let piece = pieces.find(|it| it.contains(text)).unwrap();
    let end = piece.rfind("$$;").unwrap();
    format!("create or replace function {}$$;", &piece[..end])
}

fn execute(runtime: &Runtime, fixture: &Fixture, sql: &str) {
    runtime.block_on(fixture.client.batch_execute(sql)).unwrap();
}

#[test]
#[ignore = "takes two minutes; `.ci/long` runs it"]
fn every_rule_is_needed() {
    let runtime = Runtime::new().unwrap();
    let fixture = runtime.block_on(fixture::start_with_clock());
    let mut unnoticed = Vec::new();
    for mutant in MUTANTS {
        let whole = function(mutant.file, mutant.from);
        execute(&runtime, &fixture, &whole.replace(mutant.from, mutant.to));
        let config = ProptestConfig {
            cases: 600,
            failure_persistence: None,
            max_shrink_iters: 0,
            ..ProptestConfig::default()
        };
        let (result, _) = compare(&runtime, &fixture, config);
        execute(&runtime, &fixture, &whole);
        if result.is_ok() {
            unnoticed.push(mutant.rule);
        }
    }
    assert_eq!(unnoticed, Vec::<&str>::new());
}
