//! What becomes of the lists and sections that people write.

use super::*;

fn item(line: usize, summary: &str, context: Option<&str>) -> Item {
    Item {
        line,
        summary: summary.to_owned(),
        context: context.map(str::to_owned),
    }
}

/// The items of a file without problems.
fn items(text: &str) -> Vec<Item> {
    let file = ItemFile::read(text);
    assert_eq!(file.problems, [], "{text:?}");
    file.items
}

fn problems(text: &str) -> Vec<(usize, String)> {
    let problems = ItemFile::read(text).problems.into_iter();
    problems.map(|it| (it.line, it.message)).collect()
}

#[test]
fn each_entry_of_a_list_is_an_item() {
    let text = "\u{feff}# Next week\r\n\r\nWhat we want:\r\n\r\n- Fix the login\r\n* Fix `it`\r\n\
                + Add *tests*\r\n\r\n1. First\r\n2. Second\r\n- [ ] Open\r\n";
    let expected = [
        item(5, "Fix the login", None),
        item(6, "Fix `it`", None),
        item(7, "Add *tests*", None),
        item(9, "First", None),
        item(10, "Second", None),
        item(11, "Open", None),
    ];
    assert_eq!(items(text), expected);
}

#[test]
fn what_is_indented_below_an_entry_is_its_context() {
    let text = "- Fix the login\n  on old phones\n\n  It fails since May.\n\n  - in Safari\n    - 12\n\
                - [ ] Next\n\n      let code = 1;\n\n10. Tenth\n\tmore\n    - detail\n";
    let expected = [
        item(
            1,
            "Fix the login on old phones",
            Some("It fails since May.\n\n- in Safari\n  - 12"),
        ),
        item(8, "Next", Some("    let code = 1;")),
        item(12, "Tenth more", Some("- detail")),
    ];
    assert_eq!(items(text), expected);
}

#[test]
fn each_section_is_an_item() {
    let text = "# Plan\n\n- not this\n\n## Fix `it` ##\n\nIt fails.\n\n### Where\n\n```\n## no\n```\n\
                ## Fix C#\n# Later\nprose\n\n## Last\n- one\n- two\n";
    let expected = [
        item(
            5,
            "Fix `it`",
            Some("It fails.\n\n### Where\n\n```\n## no\n```"),
        ),
        item(14, "Fix C#", None),
        item(18, "Last", Some("- one\n- two")),
    ];
    assert_eq!(items(text), expected);
}

#[test]
fn checked_entries_are_left_out() {
    let file = ItemFile::read("- [x] Done\n- [X] Done too\n- [x](link) open\n- [ ] Open\n");
    assert_eq!(
        file.checked,
        [item(1, "Done", None), item(2, "Done too", None)]
    );
    let open = [item(3, "[x](link) open", None), item(4, "Open", None)];
    assert_eq!(file.items, open);
}

#[test]
fn a_list_inside_something_else_is_no_list_of_items() {
    for text in [
        "",
        "Fix the login\n",
        "> - quoted\n",
        "```\n- code\n```\n",
        "<!--\n- hidden\n-->\n",
    ] {
        assert_eq!(ItemFile::read(text), ItemFile::default(), "{text:?}");
    }
}

#[test]
fn every_problem_has_its_line() {
    let long = "x".repeat(501);
    let text = format!(
        "- Fix it\nFix that\n-\n- a\u{1b}[31m\n\n- {long}\n- [ ]\n-     code\n- Fix it\n- # Title\n\
         - ok\n\n  \0\n"
    );
    let blank = || String::from("it has no summary");
    let expected = [
        (
            2,
            String::from("it is neither an item nor indented below one"),
        ),
        (3, blank()),
        (4, String::from("it contains the control character U+001B")),
        (
            6,
            String::from("its summary has 501 characters, more than 500; put details below it"),
        ),
        (7, blank()),
        (10, blank()),
        (13, String::from("it contains the control character U+0000")),
    ];
    assert_eq!(problems(&text), expected);
    let expected = [(3, String::from("it has the same summary as line 1"))];
    assert_eq!(problems("- Fix it\n- Fix that\n- [ ] Fix it\n"), expected);
    assert_eq!(problems("##\ntext\n## ##\n"), [(1, blank()), (3, blank())]);
}
