//! Commands from Matrix, with the real homeserver Synapse.

use std::fs;

use orange_engine::chat::channel::Channel;
use orange_store::ChatState;
use serde_json::json;

use super::{messages, tasks, write_token};
use crate::support::synapse::{MatrixUser, Synapse};
use crate::support::{RunningSupervisor, Stage, wait_for, way};

/// The people of the story, and the rooms that the settings list.
struct People {
    bot: MatrixUser,
    ann: MatrixUser,
    eve: MatrixUser,
    /// Of Ann and the bot.
    private: String,
    /// Of all three.
    shared: String,
    /// Of Ann and the bot, encrypted.
    encrypted: String,
}

impl People {
    fn meet(stage: &Stage, synapse: &Synapse) -> People {
        let [bot, ann, eve] = ["bot", "ann", "eve"].map(|it| synapse.register(it));
        let people = People {
            private: ann.create_room(&[]),
            shared: ann.create_room(&[&eve]),
            encrypted: ann.create_room(&[]),
            bot,
            ann,
            eve,
        };
        people.eve.join(&people.shared);
        people.ann.call(
            "PUT",
            &format!("rooms/{}/state/m.room.encryption", people.encrypted),
            Some(&json!({ "algorithm": "m.megolm.v1.aes-sha2" })),
        );
        let config = format!(
            "[chat.matrix]\nserver = \"{}\"\ntoken_file = \"{}\"\nallow = [\"{}\"]\n\
             rooms = [\"{}\", \"{}\", \"{}\"]\n",
            synapse.address(),
            write_token(stage, &people.bot.token).display(),
            people.ann.id,
            people.private,
            people.shared,
            people.encrypted,
        );
        fs::write(stage.path("home/config.toml"), config).unwrap();
        people
    }

    fn invite(&self, inviter: &MatrixUser, room: &str) {
        let path = format!("rooms/{room}/invite");
        let body = json!({ "user_id": self.bot.id });
        inviter.call("POST", &path, Some(&body));
    }

    fn wait_until_joined(&self, room: &str) {
        wait_for("the bot to join", || {
            self.ann.members(room).contains(&self.bot.id)
        });
    }

    fn answers(&self, room: &str) -> Vec<String> {
        self.ann.texts_of(room, &self.bot)
    }

    /// Writes a command in a room and returns its answer.
    fn ask(&self, room: &str, text: &str) -> String {
        let before = self.answers(room).len();
        self.ann.write(room, text);
        wait_for("an answer", || self.answers(room).len() > before);
        self.answers(room).pop().unwrap()
    }
}

#[test]
fn commands_on_a_real_homeserver_are_obeyed_once_and_only_from_listed_users() {
    let stage = Stage::new("minimal");
    let Some(synapse) = Synapse::start(&stage.path("synapse")) else {
        println!("SKIPPED chat::synapse: Synapse is missing; run `.ci/matrix`");
        return;
    };
    let people = People::meet(&stage, &synapse);
    stage.script("worker-1", "sleep 60");

    // Ann's invitations are accepted, also older ones. What she wrote before is not obeyed.
    people.ann.write(&people.private, "new Written before");
    people.invite(&people.ann, &people.private);
    let lair = people.eve.create_room(&[&people.bot]);
    let supervisor = RunningSupervisor::start(&stage);
    people.wait_until_joined(&people.private);
    people.invite(&people.ann, &people.shared);
    people.invite(&people.ann, &people.encrypted);
    people.wait_until_joined(&people.shared);
    people.wait_until_joined(&people.encrypted);
    assert_eq!(people.eve.members(&lair), [people.eve.id.as_str()]);

    let id = obey_commands(&stage, &people);
    ignore_the_rest(&stage, &people);

    // Commands that arrive while no one listens, and supervisors that are killed.
    supervisor.kill();
    people.ann.write(&people.private, &format!("why {id}"));
    people
        .ann
        .write(&people.private, &format!("tell {id} use oil"));
    for round in 0..3 {
        let supervisor = RunningSupervisor::start(&stage);
        let wanted = people.answers(&people.private).len() + 1;
        if round > 0 {
            wait_for("an answer or the end", || {
                let answers = people.answers(&people.private).len();
                answers >= wanted || answers >= 5
            });
        }
        supervisor.kill();
    }
    let _supervisor = RunningSupervisor::start(&stage);
    wait_for("both answers", || {
        people.answers(&people.private).len() >= 5
    });
    let last = people.ask(&people.private, "list");
    assert!(last.contains("Fix the door"), "{last}");
    let answers = people.answers(&people.private);
    assert_eq!(answers.len(), 6, "{answers:?}");
    assert!(answers[3].contains("in `working` since"), "{answers:?}");
    assert_eq!(answers[4], format!("sent to the agent of {id}"));
    assert_eq!(messages(&stage, &id, Channel::Matrix).len(), 1);
    assert_eq!(tasks(&stage), [id]);
    assert_eq!(people.answers(&people.shared).len(), 1);
    assert_eq!(people.answers(&people.encrypted), Vec::<String>::new());
}

/// Ann creates a task and asks for what only the user may do. Returns the task.
fn obey_commands(stage: &Stage, people: &People) -> orange_engine::names::TaskId {
    let room = &people.private;
    assert_eq!(people.ask(room, "list"), "there are no unfinished tasks");
    let answer = people.ask(room, "new Fix the door");
    let [id] = tasks(stage).try_into().unwrap();
    assert_eq!(answer, format!("created task {id}"));
    stage.wait_for_status(&id, "working");
    let before = way(stage, &id);
    let answer = people.ask(room, &format!("merge {id}"));
    assert!(answer.contains("not possible from a chat"), "{answer}");
    assert!(answer.contains("run:\norange "), "{answer}");
    assert_eq!(way(stage, &id), before);
    id
}

/// Strangers, edits, messages without the prefix among others, and an encrypted room.
fn ignore_the_rest(stage: &Stage, people: &People) {
    let evil = "!orange new Evil";
    people.eve.write(&people.shared, evil);
    let edited = people.ann.write(&people.shared, "hello, list");
    let content = json!({ "msgtype": "m.text", "body": evil });
    let edit = json!({
        "msgtype": "m.text", "body": evil, "m.new_content": content,
        "m.relates_to": { "rel_type": "m.replace", "event_id": edited },
    });
    people.ann.send(&people.shared, "m.room.message", &edit);
    people.ann.write(&people.shared, "new Evil");
    people.ann.write(&people.encrypted, evil);
    let secret = json!({ "algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "AA" });
    people
        .ann
        .send(&people.encrypted, "m.room.encrypted", &secret);
    let answer = people.ask(&people.shared, "!orange list");
    assert!(answer.contains("Fix the door"), "{answer}");
    assert_eq!(people.answers(&people.shared).len(), 1);
    let ignored = || {
        let all = stage.store().all_chat(Channel::Matrix).unwrap().into_iter();
        let ignored = all.filter(|it| it.state == ChatState::Ignored);
        ignored.filter_map(|it| it.answer).collect::<Vec<_>>()
    };
    wait_for("three ignored commands", || ignored().len() == 3);
    let ignored = ignored().join("; ");
    for reason in ["not allowed", "edited", "encrypted"] {
        assert!(ignored.contains(reason), "{ignored}");
    }
    let (_, doctor) = stage.call(&["doctor"]);
    let encrypted = format!("{} is encrypted", people.encrypted);
    assert!(doctor.contains(&encrypted), "{doctor}");
}
