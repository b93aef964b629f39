//! Reports that ask for child tasks: what is created, merged and shown.

use std::fs;
use std::thread;

use orange_driver::{Answer, DriverError, WaitPolicy};
use orange_engine::delegation::{ChildMerge, DelegationLink};
use orange_engine::effect::{Effect, EffectId};
use orange_engine::event::Fact;
use orange_engine::names::TaskId;
use orange_store::StoreError;

use crate::support::scripts::way;
use crate::support::supervisor::RunningSupervisor;
use crate::support::{Stage, wait_for};

/// The words of every scripted run here. Which part a run has follows from its branch.
const WORDS: &str = r#"
report() { cat > "$ORANGE_REPORT"; }
done_report() { echo '{"status":"done"}' | report; }
save() { echo "$2" > "$1"; git add "$1"; git commit -qm "$1"; }
part=$(git branch --show-current | sed -n 's/^orange-tasks\/[a-z0-9]*-[0-9]*-\([0-9]*\)$/\1/p')
git rev-parse HEAD > "$SCRIPTS/start-${part:-parent}"
"#;

/// A stage on which every run follows this script; room for several agents.
pub(super) fn stage_with(script: &str) -> Stage {
    let stage = Stage::new("autopilot");
    stage.configure("pool_size", &8.into());
    for turn in 1..=20 {
        stage.script(
            &format!("worker-{turn}"),
            &format!("{WORDS}{script}\nexit 0\n"),
        );
    }
    stage
}

/// Starts a task and lets everything run until it has this status.
pub(super) fn run_until(stage: &Stage, status: &str) -> TaskId {
    let id = stage.create(&["Add two lines"]);
    let serving = RunningSupervisor::start(stage);
    stage.call(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.wait_for_status(&id, status);
    stage.wait_until_idle(&id);
    stage.current_text(&id);
    drop(serving);
    id
}

/// The children in the order of their requests.
pub(super) fn children(stage: &Stage, parent: &TaskId) -> Vec<TaskId> {
    let mut children: Vec<TaskId> = stage.task(parent).children.keys().cloned().collect();
    children.sort_by_key(|child| {
        let link = stage.task(child).queueing.delegation.unwrap();
        (link.attempt, link.index)
    });
    children
}

fn prompts(stage: &Stage, id: &TaskId) -> Vec<String> {
    let events = stage.store().events(id, 0).unwrap().into_iter();
    let prompts = events.filter_map(|it| match it.event.fact {
        Fact::EffectPlanned(planned) => match planned.effect {
            Effect::Spawn(spawn) => Some(spawn.prompt),
            _ => None,
        },
        _ => None,
    });
    prompts.collect()
}

fn read(stage: &Stage, words: &str) -> String {
    let output = stage.git(words);
    assert!(output.status.success(), "git {words}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// The parent delegates once, then checks that it has the work of its children, and is done.
const SPLIT_ONCE: &str = r#"
case "$part" in
"") if [ -e "$SCRIPTS/split" ]; then
        ls > "$SCRIPTS/found"
        done_report
    else
        touch "$SCRIPTS/split"
        save base.txt base
        echo '{"status":"in_progress","delegations":[
            {"title":"The first part","body":"Mind the gap.","suggested_agent":"nobody"},
            {"title":"The second part","suggested_agent":"codex"},
            {"title":"The third part","suggested_agent":"other","after":[0]}]}' | report
    fi ;;
*) save "part-$part.txt" "$part"; done_report ;;
esac
"#;

#[test]
fn lesson_109_a_split_parent_resumes_once_with_the_work_of_its_children() {
    let stage = stage_with(SPLIT_ONCE);
    let harness = fs::read_to_string(stage.path("home/harnesses/script.toml")).unwrap();
    let other = harness.replace("name = \"script\"", "name = \"other\"");
    fs::write(stage.path("home/harnesses/other.toml"), other).unwrap();
    let id = run_until(&stage, "done");
    let passed = [
        "routed",
        "in_progress",
        "delegated",
        "new",
        "routed",
        "in_progress",
        "done",
    ];
    assert_eq!(way(&stage, &id), passed, "it was split once");
    let found = fs::read_to_string(stage.path("scripts/found")).unwrap();
    for file in ["base.txt", "part-1.txt", "part-2.txt", "part-3.txt"] {
        assert!(found.contains(file), "{file}: {found}");
    }
    let children = children(&stage, &id);
    assert_eq!(children.len(), 3, "{}", stage.diagnostics(&id));

    // Each starts where its parent was, which is not the default branch.
    let parents_commit = read(&stage, "log --format=%H --diff-filter=A --all -- base.txt");
    for (number, child) in children.iter().enumerate() {
        let task = stage.task(child);
        let link = task.queueing.delegation.clone().unwrap();
        assert_eq!(link.index, u64::try_from(number).unwrap());
        assert_eq!(link.start.unwrap().as_str(), parents_commit);
        let path = stage.path(&format!("scripts/start-{}", number + 1));
        assert_eq!(fs::read_to_string(path).unwrap().trim(), parents_commit);
        assert_eq!(stage.task(&id).child_merges[child], ChildMerge::Merged);
        let tip = read(&stage, &format!("rev-parse {}", task.branch));
        read(
            &stage,
            &format!("merge-base --is-ancestor {tip} orange-tasks/{id}"),
        );
        assert_eq!(task.queueing.depth, 1);
        let diff = stage.run_ok(&["task", "diff", child.as_str(), "--stat"]);
        let own = format!("part-{}.txt", number + 1);
        assert!(diff.contains(&own) && !diff.contains("base.txt"), "{diff}");
    }
    let [one, two, three] = [0, 1, 2].map(|number| children[number].clone());
    let after = stage.task(&three).queueing.after;
    assert_eq!(after.iter().collect::<Vec<_>>(), [&one]);

    // An unknown and a missing harness are replaced by the parent's, and that is said.
    for (child, name, why) in [
        (&one, "script", "nobody"),
        (&two, "script", "/nowhere/x"),
        (&three, "other", ""),
    ] {
        assert_eq!(stage.task(child).harness.as_str(), name);
        let shown = flat(&stage.run_ok(&["task", "why", child.as_str()]));
        let note = "it runs on `script` like its parent";
        assert_eq!(shown.contains(note), name == "script", "{shown}");
        assert!(shown.contains(why), "{shown}");
        assert!(
            shown.contains(&format!("parent: {id} (Add two lines)")),
            "{shown}"
        );
    }
    let part_of = format!("This task is part of task {id} (Add two lines).");
    assert!(prompts(&stage, &one)[0].contains(&part_of));
    let resumed = prompts(&stage, &id).pop().unwrap();
    for child in &children {
        assert!(
            resumed.contains(&format!("{child} (done, merged)")),
            "{resumed}"
        );
    }
    let shown = flat(&stage.run_ok(&["task", "show", id.as_str()]));
    assert!(
        shown.contains(&format!("{one} in `done`, merged")),
        "{shown}"
    );

    // The keys follow from the histories: after a rebuild, each request still has its child.
    let attempt = stage.task(&one).queueing.delegation.unwrap().attempt;
    stage.rebuild(&id);
    let known = stage.store().delegated_children(&id, attempt).unwrap();
    assert_eq!(known.into_values().collect::<Vec<_>>(), children);
}

#[test]
fn the_family_is_listed_as_a_tree() {
    let stage = stage_with(
        r#"
case "$part" in
"") echo '{"status":"in_progress","delegations":["One part","Another part"]}' | report ;;
*) echo '{"status":"blocked","reason":"no key"}' | report ;;
esac
"#,
    );
    let id = stage.create(&["Add two lines"]);
    let serving = RunningSupervisor::start(&stage);
    stage.call(&["task", "spawn", id.as_str(), "--wait", "60"]);
    stage.wait_for_status(&id, "delegated");
    wait_for("two children", || stage.task(&id).children.len() == 2);
    let children = children(&stage, &id);
    for child in &children {
        stage.wait_for_status(child, "blocked");
        stage.wait_until_idle(child);
    }
    drop(serving);
    let other = stage.create(&["Something else"]);
    let listed = stage.run_ok(&["task", "list", "--tree"]);
    let place = |needle: &str| listed.find(needle).unwrap_or_else(|| panic!("{listed}"));
    for child in &children {
        let line = format!("└ {child}");
        assert!(place(&line) > place(&format!(" {id} ")), "{listed}");
    }
    assert!(!listed.contains(&format!("└ {other}")), "{listed}");
    let (_, json) = stage.json(&["task", "list", "--tree", "--json"]);
    let tasks = json["tasks"].as_array().unwrap();
    let depth = |id: &TaskId| {
        let found = tasks.iter().position(|it| it["id"] == id.as_str()).unwrap();
        (found, tasks[found]["depth"].clone())
    };
    for child in &children {
        assert_eq!(depth(child).1, 1);
        assert!(depth(child).0 > depth(&id).0);
        let found = &tasks[depth(child).0];
        assert_eq!(found["parent"], id.as_str());
    }
    assert_eq!((depth(&id).1, depth(&other).1), (0.into(), 0.into()));
    let plain = stage.run_ok(&["task", "list"]);
    assert!(!plain.contains('└'), "{plain}");
}

#[test]
fn conflicting_children_are_named_and_nothing_is_lost() {
    let stage = stage_with(
        r#"
case "$part" in
"") if [ -e "$SCRIPTS/split" ]; then
        cp "$prompt_file" "$SCRIPTS/told"
        done_report
    else
        touch "$SCRIPTS/split"
        save same.txt base
        echo '{"status":"in_progress","delegations":["One","Two"]}' | report
    fi ;;
*) save same.txt "$part"; done_report ;;
esac
"#,
    );
    let id = run_until(&stage, "done");
    let [one, two] = [0, 1].map(|number| children(&stage, &id)[number].clone());
    let branch = stage.task(&two).branch;
    let merges = stage.task(&id).child_merges;
    assert_eq!(merges[&one], ChildMerge::Merged);
    let conflict = ChildMerge::Conflicts {
        branch: branch.clone(),
        files: vec![String::from("same.txt")],
    };
    assert_eq!(merges[&two], conflict);
    let own = stage.task(&id).branch;
    assert_eq!(read(&stage, &format!("show {own}:same.txt")), "1");
    assert_eq!(read(&stage, &format!("show {branch}:same.txt")), "2");
    let told = flat(&fs::read_to_string(stage.path("scripts/told")).unwrap());
    let expected = format!(
        "The branch {branch} of child task {two} is not merged into {own}: both branches changed \
         same.txt. Its work is complete on {branch}. Merge it with: git merge {branch}."
    );
    assert!(told.contains(&expected), "{told}");
    let shown = flat(&stage.run_ok(&["task", "show", id.as_str()]));
    assert!(shown.contains("not merged because of conflicts"), "{shown}");
    let history = flat(&stage.run_ok(&["task", "history", id.as_str()]));
    let line = format!("child `{two}` was not merged: conflicts in same.txt");
    assert!(history.contains(&line), "{history}");
    stage.wait_until_idle(&id);
    let needs = flat(&stage.run_ok(&["attention"]));
    let lacks = format!("`{own}` lacks the work of child task `{two}`, which is on `{branch}`");
    assert!(needs.contains(&lacks), "{needs}");
    assert!(!needs.contains(one.as_str()), "{needs}");
    // The workflow merges nothing, and both commands say who does.
    let (code, refused) = stage.call(&["task", "merge", id.as_str()]);
    assert_eq!(code, 3, "{refused}");
    let why = stage.run_ok(&["task", "why", id.as_str()]);
    for said in [flat(&refused), flat(&why)] {
        assert!(said.contains(&format!("`git merge {own}`")), "{said}");
    }
    // Both commands ask git whether it was merged later.
    let merge = format!("commit-tree {own}^{{tree}} -p {own} -p {branch} -m joined");
    let merged = read(&stage, &merge);
    assert!(
        stage
            .git(&format!("branch -f {own} {merged}"))
            .status
            .success()
    );
    for command in ["show", "why"] {
        let shown = flat(&stage.run_ok(&["task", command, id.as_str()]));
        assert!(
            !shown.contains("conflicts)") && !shown.contains("because of conflicts"),
            "{shown}"
        );
    }
    let shown = flat(&stage.run_ok(&["task", "show", id.as_str()]));
    assert!(
        shown.contains(&format!("{two} in `done`, merged")),
        "{shown}"
    );
}

#[test]
fn requests_beyond_the_limits_are_refused_with_words() {
    let nine = r#"["1","2","3","4","5","6","7","8","9"]"#;
    for (delegations, why) in [
        (nine, "the report requests 9, and at most 8 are allowed"),
        (
            r#"[{"title":"A","after":[1]},{"title":"B","after":[0]}]"#,
            "delegations 0, 1 start after each other in a circle",
        ),
        (
            r#"[{"title":"A","after":[7]}]"#,
            "delegation 0 starts after `7`, which is not the index of a delegation",
        ),
    ] {
        let json = format!(r#"{{"status":"in_progress","delegations":{delegations}}}"#);
        let stage = stage_with(&format!("echo '{json}' | report"));
        let id = run_until(&stage, "needs_review");
        let why = format!("the requested child tasks are refused: {why}");
        for words in [["task", "show"], ["task", "why"], ["task", "history"]] {
            let shown = flat(&stage.run_ok(&[&words[..], &[id.as_str()]].concat()));
            assert!(shown.contains(&why), "{why}: {shown}");
        }
        assert!(stage.task(&id).attention[0].contains(&why));
        let all = fs::read_dir(stage.home().tasks().join("app")).unwrap();
        assert_eq!(all.count(), 1, "no child was created");
    }
}

#[test]
fn a_child_of_a_child_may_not_delegate() {
    let stage = stage_with(
        r#"
if [ -e "$SCRIPTS/delegated-3" ]; then
    save "$part.txt" x; done_report
else
    for depth in 1 2 3; do
        [ -e "$SCRIPTS/delegated-$depth" ] && continue
        touch "$SCRIPTS/delegated-$depth"
        break
    done
    echo '{"status":"in_progress","delegations":["Deeper"]}' | report
fi
"#,
    );
    let id = stage.create(&["Add two lines"]);
    let serving = RunningSupervisor::start(&stage);
    stage.call(&["task", "spawn", id.as_str(), "--wait", "60"]);
    let only_child = |of: &TaskId| {
        wait_for("a child", || stage.task(of).children.len() == 1);
        stage.task(of).children.keys().next().unwrap().clone()
    };
    let child = only_child(&id);
    let grandchild = only_child(&child);
    stage.wait_for_status(&grandchild, "needs_review");
    drop(serving);
    assert_eq!(stage.task(&grandchild).queueing.depth, 2);
    assert!(stage.task(&grandchild).children.is_empty());
    let attention = stage.task(&grandchild).attention.join("; ");
    assert!(
        attention.contains("the task is a child of a child, and no further generation is allowed"),
        "{attention}"
    );
}

#[test]
fn many_processes_create_one_child_for_a_request() {
    let stage = Stage::new("autopilot");
    let parent = stage.create(&["Add two lines"]);
    let mut new = crate::library::work("The first part");
    new.queueing.parent = Some(parent.clone());
    new.queueing.delegation = Some(DelegationLink {
        attempt: EffectId(7),
        index: 0,
        start: None,
        harness_note: None,
    });
    let results: Vec<Result<Answer, DriverError>> = thread::scope(|scope| {
        let creating = (0..8).map(|_| {
            let (stage, new) = (&stage, new.clone());
            scope.spawn(move || stage.driver().requests.create(&new, WaitPolicy::Skip))
        });
        let creating: Vec<_> = creating.collect();
        let ended = creating.into_iter().map(|it| it.join().unwrap());
        ended.collect()
    });
    let created = results.iter().filter(|it| it.is_ok()).count();
    assert_eq!(created, 1, "{results:?}");
    for refused in results.iter().filter_map(|it| it.as_ref().err()) {
        let is_taken = matches!(refused, DriverError::Store(StoreError::DelegationTaken));
        assert!(is_taken, "{refused:?}");
    }
    let known = stage.store().delegated_children(&parent, EffectId(7));
    assert_eq!(known.unwrap().len(), 1);
}
