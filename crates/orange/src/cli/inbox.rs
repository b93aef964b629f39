//! `orange inbox`.

use orange_config::Environment;
use orange_config::clock;
use orange_driver::Message;
use orange_engine::role::Role;
use orange_engine::wording::actor;
use serde::Serialize;

use super::request::requests::driver;
use crate::cli::answer::words::ago;
use crate::cli::{Error, Exit, Shape};
use crate::output::{Output, Style, Text, local_time};

pub const SHAPE: Shape = Shape::of::<Body<Message>>("orange.inbox/1");

/// Read your messages.
///
/// Run by an agent, prints the unread messages for its role and marks them as read. Run by you,
/// prints every message of the task and marks none.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task [default: in an agent's session, its own].
    #[arg(value_name = "TASK")]
    pub task: Option<String>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Body<Entry> {
    messages: Vec<Entry>,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    let driver = driver(environment)?;
    let task = driver.callers.resolve_task(args.task.as_deref())?;
    let identity = driver.callers.identify_for(&task)?;
    let role = &identity.role;
    if !role.is_agent() {
        print(driver.views.inbox(&task)?, false, output)?;
        return Ok(Exit::Ok);
    }
    let mut messages = driver.views.unread(&task, role)?;
    loop {
        let last = messages.last().map(|message| message.id);
        print(messages, true, output)?;
        let Some(last) = last else { break };
        // Marked only after printing: a message that was not printed stays unread.
        driver.views.mark_read(&task, role, last)?;
        // The agent may not be notified of a message that arrived meanwhile, so print it too.
        messages = driver.views.unread(&task, role)?;
        if messages.is_empty() || output.is_json() {
            break;
        }
    }
    Ok(Exit::Ok)
}

fn print(messages: Vec<Message>, to_agent: bool, output: &mut Output) -> Result<(), Error> {
    if output.is_json() {
        SHAPE.print(&Body { messages }, output)?;
        return Ok(());
    }
    if to_agent && !messages.is_empty() {
        // An agent gets every byte as written. For a user, control characters are replaced, because
        // the terminal would interpret them.
        output.answer_exactly(exact_text(&messages).as_bytes())?;
        return Ok(());
    }
    let now = clock::now();
    let mut text = Text::new();
    if messages.is_empty() {
        text.push(Style::Plain, "no messages");
        text.end_line();
    }
    for message in &messages {
        let from = match &message.from {
            Role::Human if !to_agent => String::from("you"),
            from => actor(from),
        };
        let to = actor(&message.to);
        let when = ago(now, message.written_at);
        text.push(Style::Bold, &format!("from {from} to {to}, {when}:"));
        text.end_line();
        for line in message.text.lines() {
            text.push(Style::Plain, line);
            text.end_line();
        }
    }
    output.answer(&text)?;
    Ok(())
}

fn heading(message: &Message) -> String {
    let at = local_time(message.written_at);
    format!(
        "{at} from {} to {}:",
        actor(&message.from),
        actor(&message.to)
    )
}

fn exact_text(messages: &[Message]) -> String {
    let bodies = messages
        .iter()
        .map(|message| format!("{}\n{}\n", heading(message), message.text));
    bodies.collect()
}
