//! Whether a message has reached its agent, in answers.

use orange_driver::Message;

/// Why a message has not reached its agent; nothing when it has.
pub fn undelivered(message: &Message) -> Option<String> {
    let delivery = &message.delivery;
    if message.read_at.is_some() || delivery.confirmed_at.is_some() {
        return None;
    }
    Some(match (&delivery.problem, delivery.told_at) {
        (Some(problem), _) => problem.clone(),
        (None, Some(at)) => format!("it was told of it at {at}, and has not read it"),
        (None, None) => String::from("nobody has told it yet"),
    })
}
