//! Requests to a scripted homeserver, and how its answers are read.

use std::sync::Mutex;

use orange_engine::chat::channel::AllowList;
use orange_engine::chat::message::{IgnoreReason, Reaction, react};

use super::*;
use crate::forge::redact::Redactor;
use crate::forge::tests::server::{Received, Reply, Server, answer, answer_with};

const TOKEN: &str = "syt_canary-Secret_token";
const BOT: &str = "@bot:example.org";
const ANN: &str = "@ann:example.org";
const ROOM: &str = "!room:example.org";

fn list(ids: &[&str]) -> AllowList {
    AllowList::new(ids.iter().map(|it| (*it).to_owned()))
}

fn bot_with(address: &str, rooms: &[&str]) -> Matrix {
    let secret = Secret::new(TOKEN).unwrap();
    let environment = Environment::of([("PATH", "/bin")]);
    let allow = AllowLists {
        users: list(&[ANN]),
        rooms: list(rooms),
    };
    Matrix::new(address, secret, &environment, Duration::ZERO, allow)
}

fn bot(server: &Server) -> Matrix {
    bot_with(&server.address(), &[ROOM])
}

fn ok(body: &Value) -> Reply {
    answer(200, &body.to_string())
}

/// What is asked for, without the query.
fn subject(request: &Received) -> &str {
    let path = request.target.strip_prefix("/_matrix/client/v3/").unwrap();
    path.split('?').next().unwrap()
}

/// A server with this answer to each request for messages, in a room of so many members.
fn server(sync: Value, members: usize) -> Server {
    Server::start(move |request| {
        let subject = subject(request);
        if subject.ends_with("/joined_members") {
            let members = (0..members).map(|it| (format!("@{it}:example.org"), json!({})));
            let members: serde_json::Map<String, Value> = members.collect();
            ok(&json!({ "joined": members }))
        } else if subject.ends_with("/state/m.room.encryption") {
            answer(
                404,
                r#"{"errcode":"M_NOT_FOUND","error":"Event not found."}"#,
            )
        } else if subject.ends_with("/join") {
            ok(&json!({ "room_id": ROOM }))
        } else {
            assert_eq!(subject, "sync");
            ok(&sync)
        }
    })
}

fn message(id: &str, sender: &str, text: &str) -> Value {
    json!({
        "type": "m.room.message", "event_id": id, "sender": sender, "origin_server_ts": 1,
        "content": { "msgtype": "m.text", "body": text },
    })
}

fn member(user: &str, sender: &str, membership: &str) -> Value {
    json!({
        "type": "m.room.member", "event_id": "$member", "sender": sender, "state_key": user,
        "content": { "membership": membership },
    })
}

fn timeline(room: &str, events: &[Value]) -> Value {
    let room = (room.to_owned(), json!({ "timeline": { "events": events } }));
    let rooms: serde_json::Map<String, Value> = [room].into_iter().collect();
    json!({ "next_batch": "s2", "rooms": { "join": rooms } })
}

fn invitation(room: &str, events: &[Value]) -> (String, Value) {
    let room = room.to_owned();
    (room, json!({ "invite_state": { "events": events } }))
}

#[test]
fn requests_carry_the_position_and_an_answer_is_recognised_by_the_id_of_its_message() {
    let server = Server::start(|request| match subject(request) {
        "account/whoami" => ok(&json!({ "user_id": BOT, "device_id": "D" })),
        "sync" => ok(&json!({ "next_batch": "s1" })),
        _ => ok(&json!({ "event_id": "$answer" })),
    });
    let bot = bot(&server);
    assert_eq!(bot.fetch_name().unwrap(), BOT);
    // Nothing is new, so nothing is to be written.
    assert_eq!(bot.fetch(Some("s1"), BOT).unwrap(), Batch::default());
    let question = MessageRef {
        room: "!a/b:example.org",
        id: "$q/1",
    };
    let text = Redactor::default().body("hi");
    bot.send(question, &text).unwrap();
    bot.send(question, &text).unwrap();
    let received = server.received();
    let bearer = format!("Bearer {TOKEN}");
    assert!(
        received
            .iter()
            .all(|it| it.header("authorization") == Some(&bearer))
    );
    assert!(received.iter().all(|it| !it.target.contains("canary")));
    let sync = &received[1];
    assert_eq!(sync.method, "GET");
    assert!(sync.target.ends_with("&since=s1"), "{}", sync.target);
    assert!(sync.target.contains("timeout=0&"), "{}", sync.target);
    let path = "/_matrix/client/v3/rooms/%21a%2Fb%3Aexample.org/send/m.room.message/";
    assert_eq!(received[2].target, format!("{path}orange-%24q%2F1"));
    assert_eq!(received[2].target, received[3].target);
    let body: Value = serde_json::from_str(&received[3].body).unwrap();
    assert_eq!(
        (&body["msgtype"], &body["body"]),
        (&json!("m.notice"), &json!("hi"))
    );
}

#[test]
fn what_was_written_before_the_first_request_or_before_joining_is_passed_over() {
    let sync = timeline(ROOM, &[message("$1", ANN, "/orange list")]);
    let first = server(sync, 2);
    let batch = bot(&first).fetch(None, BOT).unwrap();
    let expected = Batch {
        next: Some(String::from("s2")),
        ..Batch::default()
    };
    assert_eq!(batch, expected);
    let mut renamed = member(BOT, BOT, "join");
    renamed["unsigned"] = json!({ "prev_content": { "membership": "join" } });
    let mut joined = member(BOT, BOT, "join");
    joined["unsigned"] = json!({ "prev_content": { "membership": "invite" } });
    let events = [
        message("$1", ANN, "/orange list"),
        joined,
        member(ANN, ANN, "join"),
        message("$2", ANN, "/orange list"),
        renamed,
        message("$3", ANN, "/orange list"),
    ];
    let later = server(timeline(ROOM, &events), 2);
    let batch = bot(&later).fetch(Some("s1"), BOT).unwrap();
    let ids: Vec<&str> = batch.messages.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids, ["$2", "$3"]);
}

#[test]
fn only_invitations_of_listed_users_are_accepted() {
    let eve = "@eve:example.org";
    let rooms: serde_json::Map<String, Value> = [
        invitation("!ann:example.org", &[member(BOT, ANN, "invite")]),
        invitation("!eve:example.org", &[member(BOT, eve, "invite")]),
        // A stranger invites, and claims that a listed user is there or invited another.
        invitation(
            "!trick:example.org",
            &[
                member(BOT, eve, "invite"),
                member(ANN, ANN, "join"),
                member("@other:example.org", ANN, "invite"),
            ],
        ),
        invitation("not a room", &[member(BOT, ANN, "invite")]),
        (String::from("!odd:example.org"), json!("nonsense")),
    ]
    .into_iter()
    .collect();
    let sync = json!({ "next_batch": "s2", "rooms": { "invite": rooms } });
    for position in [None, Some("s1")] {
        let server = server(sync.clone(), 2);
        let batch = bot(&server).fetch(position, BOT).unwrap();
        assert_eq!(batch.notes, ["joined !ann:example.org"]);
        let received = server.received();
        let joins = received.iter().filter(|it| it.method == "POST");
        let joins: Vec<&str> = joins.map(subject).collect();
        assert_eq!(joins, ["rooms/%21ann%3Aexample.org/join"]);
    }
}

#[test]
fn an_invitation_that_fails_stops_nothing() {
    let rooms: serde_json::Map<String, Value> = [invitation(ROOM, &[member(BOT, ANN, "invite")])]
        .into_iter()
        .collect();
    let sync = json!({ "next_batch": "s2", "rooms": { "invite": rooms } });
    for (status, is_fatal) in [(502, false), (403, false), (429, true)] {
        let sync = sync.clone();
        let server = Server::start(move |request| match subject(request) {
            "sync" => ok(&sync),
            _ => answer(status, r#"{"errcode":"M_X","retry_after_ms":1}"#),
        });
        match bot(&server).fetch(Some("s1"), BOT) {
            Ok(batch) => {
                assert!(!is_fatal);
                assert_eq!(batch.next.as_deref(), Some("s2"));
                let note = &batch.notes[0];
                assert!(
                    note.contains("invite @bot:example.org there again"),
                    "{note}"
                );
            }
            Err(error) => assert!(is_fatal, "{error}"),
        }
    }
}

#[test]
fn each_kind_of_event_is_judged() {
    let command = |more: Value| {
        let mut event = message("$1", ANN, "/orange list");
        let content = event["content"].as_object_mut().unwrap();
        content.extend(more.as_object().unwrap().clone());
        event
    };
    let encrypted = json!({
        "type": "m.room.encrypted", "event_id": "$1", "sender": ANN,
        "content": { "algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "x", "body": "/orange list" },
    });
    let redacted = json!({
        "type": "m.room.message", "event_id": "$1", "sender": ANN, "content": {},
        "unsigned": { "redacted_because": {} },
    });
    let mut state = command(json!({}));
    state["state_key"] = json!("");
    let edit = json!({ "m.relates_to": { "rel_type": "m.replace", "event_id": "$0" } });
    let thread = json!({ "m.relates_to": { "rel_type": "m.thread", "event_id": "$0" } });
    let cases = [
        (command(json!({})), Some(None)),
        (command(thread), Some(None)),
        (command(edit), Some(Some(IgnoreReason::Edit))),
        (
            command(json!({ "m.new_content": {} })),
            Some(Some(IgnoreReason::Edit)),
        ),
        (
            command(json!({ "msgtype": "m.notice" })),
            Some(Some(IgnoreReason::Bot)),
        ),
        (command(json!({ "msgtype": "m.image" })), None),
        (command(json!({ "msgtype": 7 })), None),
        (command(json!({ "body": ["/orange list"] })), None),
        (message("$1", BOT, "/orange list"), None),
        (
            message("$1", "@eve:example.org", "/orange list"),
            Some(Some(IgnoreReason::NotAllowed)),
        ),
        (
            message("$1", "@Ann:example.org", "/orange list"),
            Some(Some(IgnoreReason::NotAllowed)),
        ),
        (encrypted, None),
        (redacted, None),
        (state, None),
        (message("$1", ANN, "list"), None),
    ];
    for (event, expected) in cases {
        let server = server(timeline(ROOM, std::slice::from_ref(&event)), 3);
        let batch = bot(&server).fetch(Some("s1"), BOT).unwrap();
        let found = batch.messages.first().map(react);
        match (found, expected) {
            (None | Some(Reaction::None), None) | (Some(Reaction::Act(_)), Some(None)) => {}
            (Some(Reaction::Ignore(found)), Some(Some(expected))) => {
                assert_eq!(found, expected, "{event}");
            }
            (found, _) => panic!("{event}: {found:?}"),
        }
    }
    // The same in a room that is not listed.
    let events = [message("$1", ANN, "/orange list")];
    let server = server(timeline("!other:example.org", &events), 2);
    let batch = bot(&server).fetch(Some("s1"), BOT).unwrap();
    let expected = Reaction::Ignore(IgnoreReason::NotAllowed);
    assert_eq!(react(&batch.messages[0]), expected);
    assert_eq!(server.received().len(), 1, "nothing is asked about it");
}

#[test]
fn in_a_room_of_two_every_message_is_a_command() {
    let events = [message("$1", ANN, "list"), message("$2", ANN, "hello")];
    for members in [1, 2, 3] {
        let server = server(timeline(ROOM, &events), members);
        let batch = bot(&server).fetch(Some("s1"), BOT).unwrap();
        let found: Vec<Reaction> = batch.messages.iter().map(react).collect();
        let is_obeyed = matches!(found[..], [Reaction::Act(_), Reaction::Answer(_)]);
        let is_passed_over = found == [Reaction::None, Reaction::None];
        assert!(if members == 2 {
            is_obeyed
        } else {
            is_passed_over
        });
        // The room is asked about once, not for each message.
        let asked = if members == 2 { 3 } else { 2 };
        assert_eq!(server.received().len(), asked);
    }
}

#[test]
fn nothing_in_an_encrypted_room_is_answered() {
    let sync = timeline(ROOM, &[message("$1", ANN, "/orange list")]);
    let forbidden = r#"{"errcode":"M_FORBIDDEN"}"#;
    let unrecognised = r#"{"errcode":"M_UNRECOGNIZED"}"#;
    for (status, body, expected) in [
        (
            200,
            r#"{"algorithm":"m.megolm.v1.aes-sha2"}"#,
            IgnoreReason::EncryptedRoom,
        ),
        (403, forbidden, IgnoreReason::NotAllowed),
        (404, unrecognised, IgnoreReason::NotAllowed),
    ] {
        let sync = sync.clone();
        let server = Server::start(move |request| match subject(request) {
            "sync" => ok(&sync),
            _ => answer(status, body),
        });
        let batch = bot(&server).fetch(Some("s1"), BOT).unwrap();
        assert_eq!(react(&batch.messages[0]), Reaction::Ignore(expected));
    }
    // Without an answer, the messages are read again later.
    let server = Server::start(move |request| match subject(request) {
        "sync" => ok(&sync),
        _ => answer(500, ""),
    });
    let error = bot(&server).fetch(Some("s1"), BOT).unwrap_err();
    assert_eq!(error, ChatError::ServerFailed(500));
}

#[test]
fn a_position_that_the_server_does_not_know_is_given_up() {
    let sync = timeline(ROOM, &[message("$1", ANN, "/orange list")]);
    let server = Server::start(move |request| {
        if request.target.contains("since=") {
            return answer(
                400,
                r#"{"errcode":"M_UNKNOWN","error":"Invalid stream token"}"#,
            );
        }
        ok(&sync)
    });
    let batch = bot(&server).fetch(Some("s1"), BOT).unwrap();
    assert_eq!(batch.next.as_deref(), Some("s2"));
    assert_eq!(batch.messages, []);
    assert!(batch.notes[0].contains("begins anew"), "{:?}", batch.notes);
    let server = Server::start(|_| answer(400, "{}"));
    let error = bot(&server).fetch(Some("s1"), BOT).unwrap_err();
    assert_eq!(error, ChatError::Refused(String::from("400 ")));
}

#[test]
fn an_answer_that_is_not_what_it_should_be_is_no_message() {
    let long = "x".repeat(300);
    let events = [
        json!(null),
        json!([[]]),
        json!({ "type": "m.room.message" }),
        json!({ "type": 1, "event_id": 2, "sender": 3, "content": 4 }),
        message("", ANN, "/orange list"),
        message("$", ANN, "/orange list"),
        message("no-mark", ANN, "/orange list"),
        message("$a b", ANN, "/orange list"),
        message("$a\n", ANN, "/orange list"),
        message(&format!("${long}"), ANN, "/orange list"),
        message("$1", "", "/orange list"),
        message("$1", "ann", "/orange list"),
        message("$1", "@ann", "/orange list"),
        message("$1", &format!("@{long}:example.org"), "/orange list"),
    ];
    let odd = server(timeline(ROOM, &events), 2);
    let batch = bot(&odd).fetch(Some("s1"), BOT).unwrap();
    assert_eq!(batch.messages, []);
    for room in ["", "!", "#alias:example.org", "! :x", &format!("!{long}")] {
        let odd = server(timeline(room, &[message("$1", ANN, "/orange list")]), 2);
        assert_eq!(bot(&odd).fetch(Some("s1"), BOT).unwrap().messages, []);
    }
    for rooms in [
        json!(null),
        json!([1]),
        json!({ "join": [], "invite": "x", "leave": 7 }),
        json!({ "join": { ROOM: [] }, "invite": { ROOM: null } }),
        json!({ "join": { ROOM: { "timeline": { "events": {} } } } }),
    ] {
        let odd = server(json!({ "next_batch": "s2", "rooms": rooms }), 2);
        let batch = bot(&odd).fetch(Some("s1"), BOT).unwrap();
        assert_eq!((batch.messages, batch.notes), (Vec::new(), Vec::new()));
    }
    for body in [
        String::from("[]"),
        String::from("{"),
        String::from("<html>"),
        String::from(r#"{"next_batch":7}"#),
        String::from(r#"{"next_batch":""}"#),
        String::from(r#"{"next_batch":"a\nb"}"#),
        format!(r#"{{"next_batch":"{}"}}"#, "x".repeat(5000)),
        format!(r#"{{"next_batch":"s2","rooms":{}"#, "[".repeat(100_000)),
    ] {
        let odd = Server::start(move |_| answer(200, &body));
        for position in [None, Some("s1")] {
            let error = bot(&odd).fetch(position, BOT).unwrap_err();
            assert!(matches!(error, ChatError::Malformed(_)), "{error}");
        }
    }
    for body in ["{}", r#"{"user_id":7}"#, r#"{"user_id":"bot"}"#] {
        let odd = Server::start(move |_| answer(200, body));
        let error = bot(&odd).fetch_name().unwrap_err();
        assert!(matches!(error, ChatError::Malformed(_)), "{error}");
    }
}

#[test]
fn huge_answers_are_bounded() {
    let text = format!("new {}", "x".repeat(4 * 1024 * 1024));
    let large = server(timeline(ROOM, &[message("$1", ANN, &text)]), 2);
    let batch = bot(&large).fetch(Some("s1"), BOT).unwrap();
    let Reaction::Answer(words) = react(&batch.messages[0]) else {
        panic!("not refused");
    };
    assert!(words.contains("more than"), "{words}");
    // The latest events count, as many as were asked for.
    let many: Vec<Value> = (0..5000)
        .map(|it| message(&format!("${it}"), ANN, "/orange list"))
        .collect();
    let many = server(timeline(ROOM, &many), 2);
    let batch = bot(&many).fetch(Some("s1"), BOT).unwrap();
    assert_eq!(batch.messages.len(), 100);
    assert_eq!(batch.messages[99].id, "$4999");
}

#[test]
fn errors_are_classified_and_never_show_the_token() {
    let refused = format!(r#"{{"errcode":"M_FORBIDDEN","error":"no {TOKEN}\u0007"}}"#);
    let script = Mutex::new(
        vec![
            answer(
                401,
                r#"{"errcode":"M_UNKNOWN_TOKEN","error":"Invalid token"}"#,
            ),
            answer(
                429,
                r#"{"errcode":"M_LIMIT_EXCEEDED","retry_after_ms":2500}"#,
            ),
            answer_with(429, &[("retry-after", "5")], "{}"),
            answer(429, r#"{"retry_after_ms":"soon"}"#),
            answer(403, &refused),
            answer(404, "not found"),
            answer_with(302, &[("location", "https://elsewhere.example/")], ""),
            answer(502, "<html>"),
            answer(200, "<html>"),
            Reply::Cut,
            Reply::CutInside,
        ]
        .into_iter(),
    );
    let server = Server::start(move |_| script.lock().unwrap().next().unwrap());
    let mut errors = Vec::new();
    for _ in 0..11 {
        errors.push(bot(&server).fetch(Some("s1"), BOT).unwrap_err());
    }
    errors.push(
        bot_with("http://127.0.0.1:1", &[])
            .fetch_name()
            .unwrap_err(),
    );
    assert_eq!(errors[0], ChatError::TokenRejected);
    assert_eq!(errors[1], ChatError::Busy { seconds: 3 });
    assert_eq!(errors[2], ChatError::Busy { seconds: 5 });
    assert_eq!(errors[3], ChatError::Busy { seconds: 30 });
    let refused = String::from("403 M_FORBIDDEN no [redacted]");
    assert_eq!(errors[4], ChatError::Refused(refused));
    assert_eq!(errors[5], ChatError::Refused(String::from("404 ")));
    assert_eq!(errors[6], ChatError::Refused(String::from("302 ")));
    assert_eq!(errors[7], ChatError::ServerFailed(502));
    assert!(matches!(errors[8], ChatError::Malformed(_)));
    for error in &errors[9..] {
        assert!(matches!(error, ChatError::Unreachable(_)), "{error}");
    }
    for error in &errors {
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("canary"), "{shown}");
    }
    let open = bot_with("http://example.org", &[]);
    let error = open.fetch_name().unwrap_err().to_string();
    assert!(error.contains("not encrypted"), "{error}");
}

#[test]
fn problems_of_the_settings_are_named() {
    let server = Server::start(|request| match subject(request) {
        "joined_rooms" => {
            ok(&json!({ "joined_rooms": ["!plain:example.org", "!secret:example.org"] }))
        }
        path if path.contains("plain") => answer(404, r#"{"errcode":"M_NOT_FOUND"}"#),
        _ => ok(&json!({ "algorithm": "m.megolm.v1.aes-sha2" })),
    });
    let address = server.address();
    let problems = |rooms: &[&str]| bot_with(&address, rooms).find_problems(BOT).unwrap();
    assert_eq!(problems(&["!plain:example.org"]), Vec::<String>::new());
    assert_eq!(problems(&[]), ["`chat.matrix.rooms` lists no room"]);
    let rooms = [
        "#alias:example.org",
        "!away:example.org",
        "!secret:example.org",
    ];
    let found = problems(&rooms);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].contains("begins with !"), "{found:?}");
    assert!(found[1].contains("is not in !away:example.org; invite it"));
    assert!(found[2].contains("is encrypted, which orange does not support"));
    let mut bot = bot_with(&address, &["!plain:example.org"]);
    bot.allow.users = list(&["ann", ANN]);
    let found = bot.find_problems(BOT).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("`ann` is not the full id"), "{found:?}");
}
