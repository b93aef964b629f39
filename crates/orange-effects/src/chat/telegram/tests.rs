//! Requests to a scripted Telegram server, and how its answers are read.

use std::sync::Mutex;

use orange_engine::chat::message::{Reaction, react};
use orange_engine::chat::{channel::AllowList, message::IgnoreReason};

use super::*;
use crate::forge::redact::Redactor;
use crate::forge::tests::server::{Reply, Server, answer, answer_with};

const TOKEN: &str = "12345:canary-Secret_token";

fn bot(server: &Server) -> Telegram {
    let secret = Secret::new(TOKEN).unwrap();
    let environment = Environment::of([("PATH", "/bin")]);
    Telegram::new(
        &server.address(),
        secret,
        &environment,
        Duration::ZERO,
        allow(),
    )
}

fn fetch(server: &Server) -> Result<Batch, ChatError> {
    bot(server).fetch(None, "ada_bot")
}

fn allow() -> AllowLists {
    let list = AllowList::new([String::from("7"), String::from("-100")]);
    AllowLists {
        users: list.clone(),
        rooms: list,
    }
}

fn updates(result: &Value) -> Reply {
    answer(200, &json!({ "ok": true, "result": result }).to_string())
}

#[test]
fn requests_carry_the_offset_and_answers_go_to_the_chat() {
    let server = Server::start(|request| match request.target.rsplit('/').next() {
        Some("getMe") => updates(&json!({ "id": 1, "is_bot": true, "username": "ada_bot" })),
        Some("sendMessage") => updates(&json!({ "message_id": 5 })),
        _ => updates(&json!([])),
    });
    let bot = bot(&server);
    assert_eq!(bot.fetch_name().unwrap(), "ada_bot");
    let batch = bot.fetch(Some("12"), "ada_bot").unwrap();
    assert_eq!(batch, Batch::default());
    let message = MessageRef {
        room: "7",
        id: "12",
    };
    bot.send(message, &Redactor::default().body("hi")).unwrap();
    let received = server.received();
    assert!(received.iter().all(|it| it.method == "POST"));
    assert_eq!(received[1].target, format!("/bot{TOKEN}/getUpdates"));
    let body: Value = serde_json::from_str(&received[1].body).unwrap();
    assert_eq!(body["offset"], 12);
    assert_eq!(body["allowed_updates"], json!(["message"]));
    let body: Value = serde_json::from_str(&received[2].body).unwrap();
    assert_eq!(
        (&body["chat_id"], &body["text"]),
        (&json!("7"), &json!("hi"))
    );
}

#[test]
fn each_kind_of_message_is_judged() {
    let message = |id: u64, more: Value| {
        let mut message = json!({
            "message_id": id, "date": 1, "text": "/orange list",
            "from": { "id": 7, "is_bot": false, "first_name": "Ada" },
            "chat": { "id": 7, "type": "private" },
        });
        message
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!({ "update_id": id, "message": message })
    };
    let group = json!({ "id": -100, "type": "supergroup" });
    let other = json!({ "id": -200, "type": "group" });
    let stranger = json!({ "id": 8, "is_bot": false });
    let cases = [
        (json!({}), None),
        (json!({ "chat": group }), None),
        (json!({ "chat": other }), Some(IgnoreReason::NotAllowed)),
        (json!({ "from": stranger }), Some(IgnoreReason::NotAllowed)),
        (
            json!({ "from": stranger, "chat": group }),
            Some(IgnoreReason::NotAllowed),
        ),
        (json!({ "from": null }), Some(IgnoreReason::Bot)),
        (
            json!({ "from": { "id": 7, "is_bot": true } }),
            Some(IgnoreReason::Bot),
        ),
        (
            json!({ "sender_chat": { "id": -100 } }),
            Some(IgnoreReason::Bot),
        ),
        (json!({ "via_bot": { "id": 3 } }), Some(IgnoreReason::Bot)),
        (
            json!({ "forward_origin": { "type": "user" } }),
            Some(IgnoreReason::Forwarded),
        ),
        (json!({ "forward_date": 1 }), Some(IgnoreReason::Forwarded)),
        (json!({ "edit_date": 2 }), Some(IgnoreReason::Edit)),
    ];
    let entries: Vec<Value> = (0..)
        .zip(&cases)
        .map(|(id, (more, _))| message(id, more.clone()))
        .collect();
    let result = json!(entries);
    let server = Server::start(move |_| updates(&result));
    let batch = fetch(&server).unwrap();
    assert_eq!(batch.next.as_deref(), Some("12"));
    assert_eq!(batch.messages.len(), cases.len());
    for (message, (case, expected)) in batch.messages.iter().zip(&cases) {
        match (react(message), expected) {
            (Reaction::Act(_), None) => {}
            (Reaction::Ignore(found), Some(expected)) => assert_eq!(found, *expected, "{case}"),
            (found, _) => panic!("{case}: {found:?}"),
        }
    }
}

#[test]
fn an_update_that_cannot_be_read_is_passed_over() {
    let result = json!([
        { "update_id": 3, "message": "nonsense" },
        { "update_id": 4, "edited_message": { "text": "list" } },
        { "update_id": 5, "message": { "chat": { "id": 7, "type": "private" }, "photo": [] } },
        { "message": {} },
    ]);
    let server = Server::start(move |_| updates(&result));
    let batch = fetch(&server).unwrap();
    assert_eq!(
        batch,
        Batch {
            next: Some(String::from("6")),
            ..Batch::default()
        }
    );
}

#[test]
fn a_message_of_4_mb_is_read_and_refused() {
    let text = format!("new {}", "x".repeat(4 * 1024 * 1024));
    let result = json!([{ "update_id": 3, "message": {
        "text": text, "from": { "id": 7 }, "chat": { "id": 7, "type": "private" } } }]);
    let server = Server::start(move |_| updates(&result));
    let batch = fetch(&server).unwrap();
    let Reaction::Answer(words) = react(&batch.messages[0]) else {
        panic!("not refused");
    };
    assert!(words.contains("more than"), "{words}");
}

#[test]
fn errors_are_classified_and_never_show_the_token() {
    let script = Mutex::new(
        vec![
            answer(401, r#"{"ok":false,"description":"Unauthorized"}"#),
            answer(404, "not found"),
            answer(409, r#"{"ok":false,"description":"Conflict"}"#),
            answer(429, r#"{"ok":false,"parameters":{"retry_after":17}}"#),
            answer_with(429, &[("retry-after", "5")], "{}"),
            answer(
                403,
                &format!(r#"{{"ok":false,"description":"blocked bot{TOKEN}\u0007"}}"#),
            ),
            answer(502, "<html>"),
            answer(200, "{}"),
            Reply::Cut,
        ]
        .into_iter(),
    );
    let server = Server::start(move |_| script.lock().unwrap().next().unwrap());
    let mut errors = Vec::new();
    for _ in 0..9 {
        errors.push(fetch(&server).unwrap_err());
    }
    let gone = Telegram::new(
        "http://127.0.0.1:1",
        Secret::new(TOKEN).unwrap(),
        &Environment::of([("PATH", "/bin")]),
        Duration::ZERO,
        allow(),
    );
    errors.push(gone.fetch_name().unwrap_err());
    assert_eq!(errors[0], ChatError::TokenRejected);
    assert_eq!(errors[1], ChatError::TokenRejected);
    assert_eq!(errors[2], ChatError::ReadElsewhere);
    assert_eq!(errors[3], ChatError::Busy { seconds: 17 });
    assert_eq!(errors[4], ChatError::Busy { seconds: 5 });
    assert_eq!(
        errors[5],
        ChatError::Refused(String::from("403 blocked bot[redacted]"))
    );
    assert_eq!(errors[6], ChatError::ServerFailed(502));
    assert_eq!(errors[7], ChatError::Refused(String::from("200 ")));
    assert!(matches!(errors[8], ChatError::Unreachable(_)));
    for error in &errors {
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("canary"), "{shown}");
    }
    assert!(!format!("{:?}", Secret::new(TOKEN)).contains("canary"));
}

#[test]
fn an_address_without_encryption_is_refused() {
    let secret = Secret::new(TOKEN).unwrap();
    let environment = Environment::of([("PATH", "/bin")]);
    let (server, wait) = ("http://example.org", Duration::ZERO);
    let bot = Telegram::new(server, secret, &environment, wait, allow());
    let error = bot.fetch_name().unwrap_err().to_string();
    assert!(error.contains("not encrypted"), "{error}");
    assert!(!error.contains("canary"), "{error}");
}
