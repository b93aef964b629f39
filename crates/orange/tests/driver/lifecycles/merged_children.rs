//! The merges of children have the trees that git makes.

use std::path::Path;

use crate::lifecycles::delegation::{children, run_until, stage_with};
use crate::support::Stage;

/// Two children change different ends of one file; one renames a file that the other changes, and
/// both have files of their own, one of them a program in a folder.
const SPLIT: &str = r#"
case "$part" in
"") if [ -e "$SCRIPTS/split" ]; then
        done_report
    else
        touch "$SCRIPTS/split"
        seq 1 40 > both.txt
        seq 100 140 > old.txt
        git add . && git commit -qm base
        echo '{"status":"in_progress","delegations":["The first part","The second part"]}' | report
    fi ;;
1)  sed -i '1s/.*/from the first/' both.txt
    git mv old.txt new.txt
    mkdir tools && echo 'exit 0' > tools/run && chmod +x tools/run
    git add . && git commit -qm first
    done_report ;;
2)  sed -i '40s/.*/from the second/' both.txt
    sed -i '20s/.*/changed/' old.txt
    printf 'no line end' > second.txt
    git add . && git commit -qm second
    done_report ;;
esac
"#;

fn read(stage: &Stage, repository: &Path, words: &str) -> String {
    let output = stage.git_in(repository, words);
    assert!(output.status.success(), "git {words}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn the_merges_of_children_have_the_trees_that_git_makes() {
    let stage = stage_with(SPLIT);
    let id = run_until(&stage, "done");
    assert_eq!(children(&stage, &id).len(), 2, "{}", stage.diagnostics(&id));
    let copy = stage.path("copy");
    let (repository, branch) = (stage.path("repo"), format!("orange-tasks/{id}"));
    let clone = format!("clone -q --branch {branch} repo {}", copy.display());
    read(&stage, repository.parent().unwrap(), &clone);
    for setting in ["user.name Git", "user.email git@example.org"] {
        read(&stage, &copy, &format!("config {setting}"));
    }
    let merges = read(&stage, &copy, "rev-list --merges --reverse --parents HEAD");
    let mut with_both = 0;
    for merge in merges.lines() {
        let [merge, first, second] = merge.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{merges}");
        };
        let ours = read(&stage, &copy, &format!("rev-parse {merge}^{{tree}}"));
        let plumbing = format!("merge-tree --write-tree {first} {second}");
        assert_eq!(ours, read(&stage, &copy, &plumbing));
        read(&stage, &copy, &format!("checkout -q --detach {first}"));
        read(
            &stage,
            &copy,
            &format!("merge -q --no-ff --no-edit {second}"),
        );
        assert_eq!(ours, read(&stage, &copy, "rev-parse HEAD^{tree}"));
        let new = read(&stage, &copy, "ls-tree -r --name-only HEAD");
        with_both += usize::from(new.contains("tools/run") && new.contains("second.txt"));
    }
    // The work of both children met in one of them.
    assert_eq!(with_both, 1, "{merges}");
    read(&stage, &copy, &format!("checkout -q {branch}"));
    let text = read(&stage, &copy, "show HEAD:both.txt");
    assert!(text.starts_with("from the first") && text.ends_with("from the second"));
    let renamed = read(&stage, &copy, "show HEAD:new.txt");
    assert!(renamed.contains("changed"), "{renamed}");
    let program = read(&stage, &copy, "ls-tree HEAD tools/run");
    assert!(program.starts_with("100755"), "{program}");
}
