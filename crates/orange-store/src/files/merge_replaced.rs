//! Copies what agents wrote to replaced files into the live file.
//!
//! An agent that had TASK.md open when it was replaced keeps writing to the old file. What it
//! appends there is appended to the live file; if the agent rewrites the old file, its text
//! replaces the live one, provided that the live body is unchanged since. Everything else is kept
//! as a separate import.

use std::fs;
use std::path::Path;

use orange_engine::document::MAX_DOCUMENT_BYTES;

use super::read_document::{FileContent, classify, read_document};
use super::replaced_file::{
    CopyProgress, Mark, NewContent, ReplacedFile, ReplacedFolder, fingerprint, new_content,
};
use super::task_file::{TaskFile, Text, body_at};
use super::whole_file;
use crate::error::StoreError;
use crate::steps::reach;

/// How many imports read a replaced file before it may be removed.
const READS: u64 = 2;

/// How many seconds a replaced file is kept at least, because some agents keep a file open for
/// long.
const MIN_AGE_SECONDS: i64 = 60;

/// How many rounds of copying are made while agents keep writing.
const ROUNDS: usize = 4;

/// Keeps a text that cannot be merged into the file.
pub(crate) type KeepText<'a> = dyn FnMut(&str) -> Result<(), StoreError> + 'a;

impl TaskFile {
    /// Copies what was written to replaced files into the live file, until nothing new is found.
    ///
    /// If agents keep writing to them, the rest is left for the next call.
    pub(crate) fn merge_replaced_files(&self, keep: &mut KeepText<'_>) -> Result<(), StoreError> {
        for _ in 0..ROUNDS {
            if !self.copy_over(self.replaced_files()?, keep)? {
                break;
            }
        }
        Ok(())
    }

    /// Copies what was written to these files into the live file; returns whether there was any.
    pub(crate) fn copy_over(
        &self,
        files: Vec<ReplacedFile>,
        keep: &mut KeepText<'_>,
    ) -> Result<bool, StoreError> {
        let mut changed = false;
        let mut appended = Vec::new();
        for file in files {
            let is_last_read = file.mark.reads + 1 >= READS;
            match new_content(&file.path, &file.mark) {
                None | Some(NewContent::Nothing) => {}
                Some(NewContent::Rewritten(content)) => {
                    changed |= self.adopt(&file, &content, is_last_read, keep)?;
                }
                Some(NewContent::Appended(mut tail)) => {
                    // An incomplete line is left for the next read, if there is one.
                    if !is_last_read {
                        tail.truncate(whole_lines(&tail));
                    }
                    if !tail.is_empty() {
                        appended.push((file, tail));
                    }
                }
            }
        }
        changed |= self.append(&appended, keep)?;
        Ok(changed)
    }

    /// Appends to the live file what was appended to the files that it replaced.
    fn append(
        &self,
        appended: &[(ReplacedFile, Vec<u8>)],
        keep: &mut KeepText<'_>,
    ) -> Result<bool, StoreError> {
        if appended.is_empty() {
            return Ok(false);
        }
        let text: String = appended
            .iter()
            .map(|(_, tail)| String::from_utf8_lossy(tail))
            .collect();
        let mut announced = Vec::new();
        let is_copied = match read_document(&self.live) {
            FileContent::Text(live) if live.text().len() + text.len() < MAX_DOCUMENT_BYTES => {
                announced = self.announce(appended)?;
                let gap = if live.text().ends_with('\n') {
                    ""
                } else {
                    "\n"
                };
                let new = Text {
                    text: &format!("{}{gap}{text}", live.text()),
                    body_at: body_at(&live),
                };
                self.replace(live.text(), &new)?.is_some()
            }
            _ => false,
        };
        // Take back the announcement: another replacement may get the announced number and would be
        // mistaken for this copy.
        if !is_copied {
            announced = announced
                .into_iter()
                .map(|(file, tail)| Ok((without_announcement(&file)?, tail)))
                .collect::<Result<_, StoreError>>()?;
        }
        let appended = if announced.is_empty() {
            appended
        } else {
            &announced
        };
        for (file, tail) in appended {
            if !is_copied {
                // Keep it as a stray text, unless the file will be read once more.
                if file.mark.reads + 1 < READS {
                    continue;
                }
                keep(&String::from_utf8_lossy(tail))?;
                reach("a stray text is kept");
            }
            let mut content = fs::read(&file.path)
                .map_err(|error| StoreError::file("read", &file.path, &error))?;
            content.truncate(file.mark.length + tail.len());
            file.rename_to_mark(
                &folder_of(file),
                file.mark.clone().with_known_content(&content),
            )?;
        }
        Ok(is_copied)
    }

    /// Records in the names of the files what is about to be copied over: the live file may already
    /// contain the same text, so its content does not show whether the copy was made.
    fn announce(
        &self,
        appended: &[(ReplacedFile, Vec<u8>)],
    ) -> Result<Vec<(ReplacedFile, Vec<u8>)>, StoreError> {
        let number = self.next_number()?;
        let mut announced = Vec::new();
        for (file, tail) in appended {
            let length = file.mark.length + tail.len();
            let mark = Mark {
                copy: Some(CopyProgress { number, length }),
                ..file.mark.clone()
            };
            announced.push((file.rename_to_mark(&folder_of(file), mark)?, tail.clone()));
            reach("a copy is announced");
        }
        Ok(announced)
    }

    /// Determines, for every copy that a process announced before it died, whether it was made.
    ///
    /// This must run before anything else that replaces a file and could take the announced number.
    pub(crate) fn resolve_announced(&self) -> Result<(), StoreError> {
        let all = self.replaced_files()?;
        for file in all.iter().filter(|file| file.mark.copy.is_some()) {
            resolve(file, &all)?;
        }
        Ok(())
    }

    /// Replaces the live text with the rewritten one, if the live body is unchanged since the file
    /// was replaced. Otherwise keeps the rewritten text as a stray text.
    fn adopt(
        &self,
        file: &ReplacedFile,
        content: &[u8],
        is_last_read: bool,
        keep: &mut KeepText<'_>,
    ) -> Result<bool, StoreError> {
        let adopted = match (classify(content), read_document(&self.live)) {
            (FileContent::Text(new), FileContent::Text(live)) => {
                let unchanged = file.mark.body == Some(fingerprint(live.body().as_bytes()));
                let known = live.text() == new.text();
                let text = Text::from(&new);
                known || unchanged && self.replace(live.text(), &text)?.is_some()
            }
            // An incomplete text is left for the next read, if there is one.
            _ if !is_last_read => return Ok(false),
            _ => false,
        };
        if !adopted {
            keep(&String::from_utf8_lossy(content))?;
            reach("a stray text is kept");
        }
        file.rename_to_mark(
            &folder_of(file),
            file.mark.clone().with_known_content(content),
        )?;
        Ok(true)
    }

    /// Counts an import, and removes the replaced files that were read often enough.
    ///
    /// Files from number `before` on were replaced during this import and are not counted.
    pub(crate) fn count_import(&self, before: u64) -> Result<(), StoreError> {
        for file in self.replaced_files()? {
            if file.mark.number >= before {
                continue;
            }
            let mut mark = file.mark.clone();
            mark.reads += 1;
            let is_old_enough = self.now.millis() / 1000 - mark.at >= MIN_AGE_SECONDS;
            if mark.reads < READS {
                file.rename_to_mark(&folder_of(&file), mark)?;
            } else if is_old_enough
                && new_content(&file.path, &file.mark) == Some(NewContent::Nothing)
            {
                whole_file::remove(&file.path)?;
                reach("a replaced file is forgotten");
            }
        }
        Ok(())
    }
}

/// Determines whether the copy that is announced in the name of a file was made, and removes the
/// announcement.
fn resolve(file: &ReplacedFile, all: &[ReplacedFile]) -> Result<(), StoreError> {
    let Some(copy) = file.mark.copy else {
        return Ok(());
    };
    let mut copies = all.iter().filter(|it| it.mark.number == copy.number);
    // Before the swap the file with the announced number holds the new text, afterwards the old
    // one.
    let is_new = |it: &ReplacedFile| {
        let content = fs::read(&it.path).unwrap_or_default();
        it.mark.ours == Some(fingerprint(&content))
    };
    let was_copied = copies.clone().next().is_some() && !copies.any(is_new);
    if !was_copied {
        without_announcement(file)?;
        return Ok(());
    }
    let mut content =
        fs::read(&file.path).map_err(|error| StoreError::file("read", &file.path, &error))?;
    content.truncate(copy.length);
    file.rename_to_mark(
        &folder_of(file),
        file.mark.clone().with_known_content(&content),
    )?;
    Ok(())
}

/// Removes the announcement from the file's name.
fn without_announcement(file: &ReplacedFile) -> Result<ReplacedFile, StoreError> {
    let mark = Mark {
        copy: None,
        ..file.mark.clone()
    };
    file.rename_to_mark(&folder_of(file), mark)
}

/// The folder and name prefix of a replaced file.
fn folder_of(file: &ReplacedFile) -> ReplacedFolder {
    let name = file.path.file_name().unwrap_or_default().to_string_lossy();
    let prefix = name.rfind(".orange-").map_or(0, |at| at + ".orange-".len());
    ReplacedFolder {
        directory: file.path.parent().unwrap_or(Path::new("/")).to_owned(),
        prefix: name.get(..prefix).unwrap_or_default().to_owned(),
    }
}

/// How many bytes of a text are complete lines.
fn whole_lines(text: &[u8]) -> usize {
    let last = text.iter().rposition(|byte| *byte == b'\n');
    last.map_or(0, |at| at + 1)
}
