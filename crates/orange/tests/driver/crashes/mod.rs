//! Every transition, with deaths at every commit and every effect.
//!
//! A transition first runs without deaths, which counts the marks it reaches. Then it runs once for
//! each mark, and the process that reaches that mark is killed there by SIGKILL. A caller that got
//! no answer asks again, one further command is given, and everything visible about the task must
//! match the run without deaths.

mod chat;
mod children;
mod comments;
mod context_file;
mod crash_marks;
mod github;
mod planning;
mod posts;
mod pull_requests;
mod restart;
mod routing;
mod scene_run;
mod snapshot;
mod table;

use scene_run::SceneRun;
use snapshot::TaskSnapshot;
use table::{EXCUSED, Scene, scenes, shipped};

/// The marks at which a death is tried, one by one.
const COMMITS_AND_EFFECTS: [&str; 4] = [
    "before a commit",
    "after a commit",
    "before an effect",
    "after an effect",
];

/// How many pairs of deaths are tried in each scene; set `CRASH_PAIRS` for more.
const PAIRS: u64 = 1;

/// Runs a scene with deaths at these marks; returns the picture and the marks that were reached.
fn run_scene(scene: &Scene, deaths: &[usize]) -> (TaskSnapshot, Vec<String>) {
    let run = SceneRun::begin(scene);
    crash_marks::set_crash_marks(&run.stage, &COMMITS_AND_EFFECTS, deaths);
    run.ask_until_answered(deaths.len());
    // The caller may be gone long before everything is done, or before the first death.
    let first = deaths.iter().min().copied();
    crate::support::stage::wait_for("a death, or rest", || {
        let rests = run.stage.task(&run.id).pending.is_empty();
        let reached = crash_marks::reached_marks(&run.stage);
        let is_dead = first.is_some_and(|first| reached.len() > first);
        // Stored data can be visible a moment before the mark that says so.
        let is_midway = reached.last().is_some_and(|mark| mark.contains("before"));
        is_dead || rests && !is_midway
    });
    let reached = crash_marks::reached_marks(&run.stage);
    run.run_recovery_command(deaths.len());
    (TaskSnapshot::of(&run), reached)
}

/// Tries every single death in a scene.
fn die_at_every_mark(scene: &Scene) {
    let (expected, reached) = run_scene(scene, &[]);
    let last = expected.way.last().map(String::as_str);
    assert_eq!(last, Some(scene.to), "{scene:?}: {expected:#?}");
    assert!(
        reached.len() >= scene.least_marks(),
        "{scene:?}: {reached:?}"
    );
    for (death, mark) in reached.iter().enumerate() {
        let (found, _) = run_scene(scene, &[death]);
        assert_eq!(found, expected, "{scene:?}: killed at mark {death}, {mark}");
    }
}

/// Some pairs of deaths, the second soon after the first, during its recovery.
fn die_twice(scene: &Scene, state: &mut u64, pairs: u64) {
    let (expected, reached) = run_scene(scene, &[]);
    let marks = u64::try_from(reached.len()).unwrap();
    for _ in 0..pairs {
        let first = crate::failures::deaths::next(state) % marks;
        let second = first + 1 + crate::failures::deaths::next(state) % 6;
        let deaths = [first, second].map(|death| usize::try_from(death).unwrap());
        let (found, _) = run_scene(scene, &deaths);
        assert_eq!(found, expected, "{scene:?}: killed at marks {deaths:?}");
    }
}

/// The scenes of one part, so that parts run in parallel.
fn part(number: usize) -> Vec<Scene> {
    let all = scenes().into_iter().enumerate();
    let own = all.filter(|(place, _)| place % PARTS == number);
    own.map(|(_, scene)| scene).collect()
}

const PARTS: usize = 12;

fn run_part(number: usize) {
    for scene in part(number) {
        die_at_every_mark(&scene);
    }
}

fn run_part_pairs(number: usize) {
    let configured = std::env::var("CRASH_PAIRS").ok();
    let pairs = configured
        .and_then(|configured| configured.parse().ok())
        .unwrap_or(PAIRS);
    let scenes = part(number);
    let mut state = u64::try_from(number).unwrap();
    for scene in scenes {
        die_twice(&scene, &mut state, pairs);
    }
}

macro_rules! parts {
    ($($number:literal $single:ident $pairs:ident,)*) => {
        $(
            #[test]
            fn $single() {
                run_part($number);
            }

            #[test]
            fn $pairs() {
                run_part_pairs($number);
            }
        )*
    };
}

parts! {
    0 every_death_0 pairs_of_deaths_0,
    1 every_death_1 pairs_of_deaths_1,
    2 every_death_2 pairs_of_deaths_2,
    3 every_death_3 pairs_of_deaths_3,
    4 every_death_4 pairs_of_deaths_4,
    5 every_death_5 pairs_of_deaths_5,
    6 every_death_6 pairs_of_deaths_6,
    7 every_death_7 pairs_of_deaths_7,
    8 every_death_8 pairs_of_deaths_8,
    9 every_death_9 pairs_of_deaths_9,
    10 every_death_10 pairs_of_deaths_10,
    11 every_death_11 pairs_of_deaths_11,
}

#[test]
fn every_edge_of_the_shipped_workflows_has_a_scene_or_an_excuse() {
    let scenes = scenes();
    for name in ["default", "respawn"] {
        for edge in &shipped(name).edges {
            let own = scenes.iter().filter(|scene| scene.workflow == name);
            let is_played = own.clone().any(|scene| scene.plays(edge));
            let is_excused = EXCUSED.iter().any(|excuse| excuse.covers(edge));
            let (from, to, trigger) = (&edge.from, &edge.to, edge.trigger.as_str());
            assert!(
                is_played != is_excused,
                "{name}: {from} to {to} by {trigger}: played {is_played}, excused {is_excused}"
            );
        }
    }
    let marks: usize = scenes.iter().map(Scene::least_marks).sum();
    assert!(marks >= 150, "only {marks} marks");
}

#[test]
fn a_command_that_fails_is_not_repeated_wherever_its_performer_dies() {
    for death in 0.. {
        let (stage, id) =
            crate::support::gates::start_with_gate("echo once >> $OUT/ran\nexit 1", "exit 0");
        crash_marks::set_crash_marks(&stage, &COMMITS_AND_EFFECTS, &[death]);
        // A killed caller asks again; any other result is an answer.
        for _ in 0..2 {
            let (code, _) = stage.call(&["task", "spawn", id.as_str()]);
            if code != scene_run::KILLED {
                break;
            }
        }
        let reached = crash_marks::reached_marks(&stage).len();
        stage.call(&["task", "update", id.as_str(), "--summary", "Add two lines"]);
        let given_up = || !stage.task(&id).attention.is_empty();
        crate::support::stage::wait_for("the command to be given up", given_up);
        let ran = std::fs::read_to_string(stage.path("scripts/ran")).unwrap_or_default();
        assert!(ran.lines().count() <= 1, "killed at mark {death}: {ran}");
        if reached <= death {
            assert!(death > 8, "only {death} marks");
            assert_eq!(ran, "once\n");
            return;
        }
    }
}
