//! Histories of calls, drawn at random, plausible and hostile.

use proptest::prelude::*;

/// How a history goes on. Numbers are choices among what there is when it gets there.
#[derive(Clone, Debug)]
pub enum Step {
    /// Time passes, or jumps back.
    Clock(i64),
    Mark,
    Reap,
    /// The database begins a new timeline, and has lost the claim of a task.
    Restore {
        task: u8,
    },
    /// A call that was made before, once more.
    Again(prop::sample::Index),
    Register {
        runner: u8,
        home: u8,
        seen: i64,
        lost_after: u64,
        able: u8,
    },
    Beat {
        runner: u8,
        home: u8,
        incarnation: i64,
        held: Vec<Holding>,
        honest: bool,
    },
    Work {
        runner: u8,
        incarnation: i64,
        free: u32,
        parked: bool,
    },
    Append(Vec<Shipment>),
    GiveBack {
        by: Holding,
        rest: u8,
    },
    Adopt {
        by: Holding,
        incarnation: i64,
        held: Option<u8>,
    },
    SaveWip {
        by: Holding,
        number: u64,
    },
    AnswerMail {
        by: Holding,
        mail: prop::sample::Index,
    },
    Create(Creation),
    Post {
        person: u8,
        task: u8,
        key: u8,
    },
    Request(prop::sample::Index),
    View {
        task: u8,
    },
    Changes {
        since: prop::sample::Index,
        most: u32,
    },
    Text {
        text: u8,
    },
}

/// A caller who says that it holds a task.
#[derive(Clone, Debug)]
pub struct Holding {
    /// Which one, and whether among those that a runner holds at the moment.
    pub task: u8,
    pub is_held: bool,
    pub runner: Caller,
    pub epoch: NamedEpoch,
}

#[derive(Clone, Debug)]
pub enum Caller {
    /// The one that held the task last.
    Holder,
    Runner(u8),
}

#[derive(Clone, Debug)]
pub enum NamedEpoch {
    Current,
    Before,
    After,
    Zero,
    /// The last one that an earlier timeline could have had.
    Forgotten,
}

/// Commits of one task on their way.
#[derive(Clone, Debug)]
pub struct Shipment {
    pub by: Holding,
    /// From what was shipped last rather than from what the log has.
    pub from_shipped: bool,
    /// How many of the last commits are sent once more.
    pub repeated: usize,
    pub fresh: Vec<Fresh>,
    pub flaw: Flaw,
    pub status: u8,
    pub ended: bool,
}

#[derive(Clone, Debug)]
pub struct Fresh {
    pub events: Vec<u8>,
    pub texts: Vec<u8>,
    pub request: Option<prop::sample::Index>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    None,
    /// The base is one version too low, or too high.
    LowBase,
    HighBase,
    /// The first commit is missing.
    Gap,
    /// The first commit has the hash of other content.
    FirstForged,
    /// The last commit has the hash of other content.
    LastForged,
    /// The last version does not count the events.
    WrongCount,
    /// Nothing is sent.
    Empty,
}

#[derive(Clone, Debug)]
pub struct Creation {
    pub task: u8,
    pub project: u8,
    pub needs: u8,
    pub priority: i64,
    pub after: Vec<u8>,
    pub parent: Option<u8>,
    pub commits: Vec<Fresh>,
    pub is_chain: bool,
    pub ended: bool,
}

pub fn histories() -> impl Strategy<Value = Vec<(bool, Step)>> {
    let beginning = beginning();
    let rest = prop::collection::vec((any::<bool>(), step()), 30..90);
    (beginning, rest).prop_map(|(mut all, rest)| {
        all.extend(rest);
        all
    })
}

/// Runners and tasks, so that few steps find nothing to do.
fn beginning() -> impl Strategy<Value = Vec<(bool, Step)>> {
    let registers = (0..3_u8).flat_map(|runner| {
        let able = u8::from(runner == 2);
        [false, true].map(|org| {
            let step = Step::Register {
                runner,
                home: runner,
                seen: 0,
                lost_after: 90,
                able,
            };
            (org, step)
        })
    });
    let registers: Vec<_> = registers.collect();
    let creations = prop::collection::vec((any::<bool>(), creation().prop_map(Step::Create)), 4..9);
    creations.prop_map(move |creations| {
        let mut all = registers.clone();
        all.extend(creations);
        for org in [false, true] {
            let work = Step::Work {
                runner: 0,
                incarnation: 0,
                free: 2,
                parked: false,
            };
            all.push((org, work));
        }
        all
    })
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<prop::sample::Index>;
    let delta = || prop_oneof![8 => Just(0_i64), 1 => Just(-1), 1 => Just(1)];
    let runner = || 0..4_u8;
    prop_oneof![
        6 => prop_oneof![4 => 0..40_i64, 2 => 40..200_i64, 1 => 900..1000_i64, 1 => -20..0_i64]
            .prop_map(Step::Clock),
        2 => Just(Step::Mark),
        4 => Just(Step::Reap),
        1 => (task(), prop::bool::weighted(0.3)).prop_map(|(task, is_restored)| {
            if is_restored { Step::Restore { task } } else { Step::View { task } }
        }),
        6 => index().prop_map(Step::Again),
        4 => (runner(), 0..3_u8, delta(), prop_oneof![3 => Just(90_u64), 1 => 0..2000_u64], able())
            .prop_map(|(runner, home, seen, lost_after, able)| Step::Register {
                runner, home, seen, lost_after, able,
            }),
        6 => (runner(), 0..3_u8, delta(), prop::collection::vec(holding(), 0..4), any::<bool>())
            .prop_map(|(runner, home, incarnation, held, honest)| Step::Beat {
                runner, home, incarnation, held, honest,
            }),
        14 => (runner(), delta(), 0..4_u32, prop::bool::weighted(0.1))
            .prop_map(|(runner, incarnation, free, parked)| Step::Work {
                runner, incarnation, free, parked,
            }),
        24 => prop::collection::vec(shipment(), 1..3).prop_map(Step::Append),
        5 => (holding(), 0..3_u8).prop_map(|(by, rest)| Step::GiveBack { by, rest }),
        5 => (holding(), delta(), prop::option::of(0..4_u8))
            .prop_map(|(by, incarnation, held)| Step::Adopt { by, incarnation, held }),
        4 => (holding(), 0..4_u64).prop_map(|(by, number)| Step::SaveWip { by, number }),
        5 => (holding(), index()).prop_map(|(by, mail)| Step::AnswerMail { by, mail }),
        6 => creation().prop_map(Step::Create),
        8 => (0..2_u8, task(), 0..3_u8)
            .prop_map(|(person, task, key)| Step::Post { person, task, key }),
        2 => index().prop_map(Step::Request),
        3 => task().prop_map(|task| Step::View { task }),
        3 => (index(), 0..6_u32).prop_map(|(since, most)| Step::Changes { since, most }),
        1 => (0..5_u8).prop_map(|text| Step::Text { text }),
    ]
}

fn task() -> impl Strategy<Value = u8> {
    0..6_u8
}

/// Mostly everything.
fn able() -> impl Strategy<Value = u8> {
    prop_oneof![3 => Just(0), 2 => 1..5_u8]
}

fn holding() -> impl Strategy<Value = Holding> {
    let caller = prop_oneof![5 => Just(Caller::Holder), 1 => (0..4_u8).prop_map(Caller::Runner)];
    let epoch = prop_oneof![
        12 => Just(NamedEpoch::Current),
        1 => Just(NamedEpoch::Before),
        1 => Just(NamedEpoch::After),
        1 => Just(NamedEpoch::Zero),
        2 => Just(NamedEpoch::Forgotten),
    ];
    (task(), prop::bool::weighted(0.8), caller, epoch).prop_map(|(task, is_held, runner, epoch)| {
        Holding {
            task,
            is_held,
            runner,
            epoch,
        }
    })
}

fn fresh() -> impl Strategy<Value = Fresh> {
    let events = prop::collection::vec(0..4_u8, 1..3);
    let texts = prop::collection::vec(0..4_u8, 0..3);
    let request = prop::option::weighted(0.4, any::<prop::sample::Index>());
    (events, texts, request).prop_map(|(events, texts, request)| Fresh {
        events,
        texts,
        request,
    })
}

fn shipment() -> impl Strategy<Value = Shipment> {
    let flaw = prop_oneof![
        20 => Just(Flaw::None),
        1 => Just(Flaw::LowBase),
        1 => Just(Flaw::HighBase),
        1 => Just(Flaw::Gap),
        1 => Just(Flaw::FirstForged),
        1 => Just(Flaw::LastForged),
        1 => Just(Flaw::WrongCount),
        1 => Just(Flaw::Empty),
    ];
    let commits = prop::collection::vec(fresh(), 0..4);
    let from = prop::bool::weighted(0.3);
    let ended = prop::bool::weighted(0.15);
    (holding(), from, 0..4_usize, commits, flaw, 0..3_u8, ended).prop_map(
        |(by, from_shipped, repeated, fresh, flaw, status, ended)| Shipment {
            by,
            from_shipped,
            repeated,
            fresh,
            flaw,
            status,
            ended,
        },
    )
}

fn creation() -> impl Strategy<Value = Creation> {
    let after = prop::collection::vec(task(), 0..3);
    let after = prop_oneof![2 => Just(Vec::new()), 1 => after];
    let parent = prop::option::weighted(0.4, task());
    let commits = prop_oneof![9 => prop::collection::vec(fresh(), 1..3), 1 => Just(Vec::new())];
    let flags = (prop::bool::weighted(0.95), prop::bool::weighted(0.05));
    (
        task(),
        0..2_u8,
        0..4_u8,
        0..3_i64,
        after,
        parent,
        commits,
        flags,
    )
        .prop_map(
            |(task, project, needs, priority, after, parent, commits, (is_chain, ended))| {
                Creation {
                    task,
                    project,
                    needs,
                    priority,
                    after,
                    parent,
                    commits,
                    is_chain,
                    ended,
                }
            },
        )
}
