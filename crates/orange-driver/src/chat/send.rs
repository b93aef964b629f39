//! Sends the answers to commands.

use orange_effects::chat::error::ChatError;
use orange_effects::forge::redact::{Outbound, Redactor};
use orange_engine::chat::answer::{created, fit};
use orange_engine::chat::channel::Channel;
use orange_store::{ChatRecord, ChatState, Store};

use super::Chat;
use crate::DriverError;

/// How often sending an answer is tried.
const MAX_ATTEMPTS: u32 = 5;

/// Why an answer was not sent.
pub(crate) enum SendFailure {
    Driver(DriverError),
    Chat(ChatError),
}

impl From<DriverError> for SendFailure {
    fn from(error: DriverError) -> SendFailure {
        SendFailure::Driver(error)
    }
}

impl Chat {
    /// Sends each answer that is due. An answer may arrive twice if this process is killed while it
    /// sends, unless the server recognises it. It is given up if the server refuses it, or after the last attempt.
    pub(crate) fn send_answers(
        &self,
        channel: Channel,
        secrets: &[&str],
        send: impl Fn(&ChatRecord, &Outbound) -> Result<(), ChatError>,
    ) -> Result<(), SendFailure> {
        let redactor = self.context.redactor(None, secrets);
        let store = Store::open_read_only(&self.context.home);
        let open = store.and_then(|it| it.open_chat(channel));
        for record in open.map_err(DriverError::from)? {
            if record.state == ChatState::Received {
                continue;
            }
            let text = redactor.body(&self.words(&record, &redactor));
            self.record(|store| store.begin_chat_answer(&record.key))?;
            match send(&record, &text) {
                Ok(()) => self.record(|store| store.end_chat(&record.key))?,
                Err(error) => {
                    self.fail(&record, error.is_final(), false)?;
                    return Err(SendFailure::Chat(error));
                }
            }
        }
        Ok(())
    }

    /// The words of an answer, without secrets and folders of this machine.
    pub(super) fn words(&self, record: &ChatRecord, redactor: &Redactor) -> String {
        let text = match (&record.answer, &record.task) {
            (Some(answer), _) => answer.clone(),
            (None, Some(task)) => created(task),
            (None, None) => String::new(),
        };
        // Shortened only after redaction: a secret without its end may not be recognised.
        let text = self.requests.without_local_folders(&redactor.redact(&text));
        fit(record.key.channel, &text)
    }

    /// Records that an answer failed. It is tried again, unless the failure is final or it was
    /// tried too often.
    pub(super) fn fail(
        &self,
        record: &ChatRecord,
        is_final: bool,
        may_have_arrived: bool,
    ) -> Result<(), DriverError> {
        let key = &record.key;
        if is_final || record.attempts + 1 >= MAX_ATTEMPTS {
            return self.record(|store| store.end_chat(key));
        }
        self.record(|store| store.fail_chat_answer(key, may_have_arrived))
    }

    pub(super) fn record(
        &self,
        write: impl FnOnce(&mut Store) -> Result<(), orange_store::StoreError>,
    ) -> Result<(), DriverError> {
        Ok(write(&mut self.context.store()?)?)
    }
}
