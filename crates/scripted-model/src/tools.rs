//! The tools that an agent offers, and how to call each.

use serde_json::{Map, Value, json};

use crate::script::Action;

/// A tool, as the agent describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// The agent's name for it.
    pub name: String,
    /// The JSON schema of its arguments.
    pub shape: Value,
}

/// The agents' names for their tools.
const SHELLS: [&str; 4] = ["Bash", "bash", "exec_command", "run_shell_command"];
const READERS: [&str; 3] = ["Read", "read", "read_file"];
const WRITERS: [&str; 3] = ["Write", "write", "write_file"];
const EDITORS: [&str; 3] = ["Edit", "edit", "replace"];

/// The agents' names for tool arguments.
const COMMAND: [&str; 2] = ["command", "cmd"];
const FILE: [&str; 3] = ["file_path", "filePath", "path"];
const CONTENT: [&str; 1] = ["content"];
const OLD: [&str; 2] = ["old_string", "oldString"];
const NEW: [&str; 2] = ["new_string", "newString"];

/// Whether an agent offers a shell: a request without a shell is not a turn of the agent.
pub fn has_shell(tools: &[Tool]) -> bool {
    find(tools, &SHELLS).is_some()
}

/// The tool for the action, and its arguments; `None` for words, or if there is no such tool.
pub fn call(tools: &[Tool], act: &Action) -> Option<(String, Value)> {
    let called = |names: &[&str], arguments: &[(&[&str], &str)]| {
        let tool = find(tools, names)?;
        Some((tool.name.clone(), tool.arguments(arguments)))
    };
    match act {
        Action::Say(_) => None,
        Action::Call { tool, arguments } => {
            let tool = find_named(tools, tool)?;
            Some((tool.name.clone(), arguments.clone()))
        }
        Action::Run(command) => called(&SHELLS, &[(&COMMAND, command)]),
        Action::Read(file) => called(&READERS, &[(&FILE, file)])
            .or_else(|| called(&SHELLS, &[(&COMMAND, &format!("cat {file}"))])),
        Action::Write { file, text } => called(&WRITERS, &[(&FILE, file), (&CONTENT, text)])
            .or_else(|| called(&SHELLS, &[(&COMMAND, &add_patch(file, text))])),
        Action::Edit { file, old, new } => {
            if let Some(tool) = find(tools, &EDITORS) {
                // One agent takes several edits at once.
                if tool.has("edits") {
                    let edits = json!([{ "oldText": old, "newText": new }]);
                    let arguments = json!({ "path": file, "edits": edits });
                    return Some((tool.name.clone(), arguments));
                }
                let arguments = tool.arguments(&[(&FILE, file), (&OLD, old), (&NEW, new)]);
                return Some((tool.name.clone(), arguments));
            }
            called(&SHELLS, &[(&COMMAND, &update_patch(file, old, new))])
        }
    }
}

fn find<'a>(tools: &'a [Tool], names: &[&str]) -> Option<&'a Tool> {
    tools
        .iter()
        .find(|tool| names.contains(&tool.name.as_str()))
}

/// The tool with this name. Agents put the name of the server before the name of its tool.
fn find_named<'a>(tools: &'a [Tool], name: &str) -> Option<&'a Tool> {
    let is_of_server = |it: &&Tool| {
        let before = it.name.strip_suffix(name);
        before.is_some_and(|before| before.contains("orange") && before.ends_with(['_', '.']))
    };
    let exact = tools.iter().find(|it| it.name == name);
    exact.or_else(|| tools.iter().find(is_of_server))
}

impl Tool {
    fn has(&self, argument: &str) -> bool {
        !self.shape["properties"][argument].is_null()
    }

    /// The arguments, each under the first of its names that the tool knows.
    fn arguments(&self, values: &[(&[&str], &str)]) -> Value {
        let mut arguments = Map::new();
        for (names, value) in values {
            let known = names.iter().find(|name| self.has(name));
            if let Some(name) = known.or_else(|| names.first()) {
                arguments.insert((*name).to_owned(), json!(value));
            }
        }
        // Some tools require a description of the purpose.
        for name in ["description", "instruction"] {
            if self.has(name) {
                arguments.insert(name.to_owned(), json!("Follow the script"));
            }
        }
        Value::Object(arguments)
    }
}

/// A patch, in the format of the agent that changes files only by patches.
fn add_patch(file: &str, text: &str) -> String {
    patch(&format!("*** Add File: {file}\n{}", prefixed("+", text)))
}

fn update_patch(file: &str, old: &str, new: &str) -> String {
    let (old, new) = (prefixed("-", old), prefixed("+", new));
    patch(&format!("*** Update File: {file}\n@@\n{old}{new}"))
}

fn patch(change: &str) -> String {
    format!("apply_patch <<'PATCH'\n*** Begin Patch\n{change}*** End Patch\nPATCH")
}

fn prefixed(prefix: &str, text: &str) -> String {
    let lines = text.lines().map(|line| format!("{prefix}{line}\n"));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, arguments: &[&str]) -> Tool {
        let properties = arguments.iter().map(|it| ((*it).to_owned(), json!({})));
        let properties: Map<String, Value> = properties.collect();
        let shape = json!({ "properties": properties });
        let name = name.to_owned();
        Tool { name, shape }
    }

    fn edit() -> Action {
        Action::Edit {
            file: String::from("a.md"),
            old: String::from("one"),
            new: String::from("one\ntwo"),
        }
    }

    #[test]
    fn each_agent_gets_its_own_tool_names() {
        let gemini = [
            tool("run_shell_command", &["command"]),
            tool(
                "replace",
                &["file_path", "instruction", "old_string", "new_string"],
            ),
        ];
        let (name, text) = call(&gemini, &edit()).unwrap();
        assert_eq!(
            (name.as_str(), &text["old_string"]),
            ("replace", &json!("one"))
        );
        assert!(text["instruction"].is_string());
        let pi = [tool("bash", &["command"]), tool("edit", &["path", "edits"])];
        let (_, text) = call(&pi, &edit()).unwrap();
        assert_eq!(text["edits"][0]["newText"], "one\ntwo");
        let opencode = [tool("write", &["filePath", "content"])];
        let write = Action::Write {
            file: String::from("a.md"),
            text: String::from("one"),
        };
        let (_, text) = call(&opencode, &write).unwrap();
        assert_eq!(text, json!({ "filePath": "a.md", "content": "one" }));
    }

    #[test]
    fn a_tool_of_a_server_is_found_by_its_own_name() {
        let found = |name: &str| {
            let tools = [tool("task_list", &[]), tool(name, &[])];
            let act = Action::Call {
                tool: String::from("tasks"),
                arguments: json!({ "a": 1 }),
            };
            call(&tools, &act)
        };
        for name in [
            "tasks",
            "mcp__orange__tasks",
            "mcp_orange_tasks",
            "mcp__orange.tasks",
            "orange_tasks",
        ] {
            assert_eq!(found(name), Some((name.to_owned(), json!({ "a": 1 }))));
        }
        for name in ["mcp__other__tasks", "orange_subtasks"] {
            assert_eq!(found(name), None, "{name}");
        }
    }

    #[test]
    fn an_agent_without_a_tool_for_files_gets_a_patch() {
        let codex = [tool("exec_command", &["cmd"])];
        let (name, told) = call(&codex, &edit()).unwrap();
        assert_eq!(name, "exec_command");
        let patch = "@@\n-one\n+one\n+two\n*** End Patch";
        assert!(told["cmd"].as_str().unwrap().contains(patch), "{told}");
        assert_eq!(call(&[], &edit()), None);
    }
}
