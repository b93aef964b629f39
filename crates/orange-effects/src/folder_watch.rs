//! Waits until something in a folder is written.
//!
//! A sign only saves time: callers must also look for changes without one. Only Linux gives signs;
//! on other systems every wait lasts until its limit.

use std::path::Path;
use std::time::Duration;

/// A watched folder, without the folders below it.
#[derive(Debug)]
pub struct FolderWatch {
    #[cfg(target_os = "linux")]
    events: Option<rustix::fd::OwnedFd>,
}

#[cfg(target_os = "linux")]
impl FolderWatch {
    pub fn new(folder: &Path) -> FolderWatch {
        use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
        let events = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK);
        let events = events.and_then(|events| {
            let written = WatchFlags::CREATE | WatchFlags::MODIFY | WatchFlags::MOVED_TO;
            add_watch(&events, folder, written).map(|_| events)
        });
        FolderWatch {
            events: events.ok(),
        }
    }

    /// Returns whether something was written since the last wait; waits for it at most this long.
    pub fn wait(&self, limit: Duration) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let (Some(events), Ok(limit_of_poll)) = (&self.events, Timespec::try_from(limit)) else {
            std::thread::sleep(limit);
            return false;
        };
        let mut polled = [PollFd::new(events, PollFlags::IN)];
        if !matches!(poll(&mut polled, Some(&limit_of_poll)), Ok(1..)) {
            return false;
        }
        let mut buffer = [0_u8; 4096];
        while rustix::io::read(events, &mut buffer).is_ok_and(|read| read > 0) {}
        true
    }
}

#[cfg(not(target_os = "linux"))]
impl FolderWatch {
    pub fn new(_folder: &Path) -> FolderWatch {
        FolderWatch {}
    }

    pub fn wait(&self, limit: Duration) -> bool {
        std::thread::sleep(limit);
        false
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write as _;

    use super::*;

    const LONG: Duration = Duration::from_mins(1);
    const SHORT: Duration = Duration::from_millis(10);

    #[test]
    fn each_way_to_write_ends_a_wait_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let watch = FolderWatch::new(folder.path());
        assert!(!watch.wait(SHORT));
        let append = || {
            let file = OpenOptions::new().append(true).open(path("log"));
            file.unwrap().write_all(b"more").unwrap();
        };
        let writes: [&dyn Fn(); 3] = [
            &|| fs::write(path("log"), "first").unwrap(),
            &append,
            &|| fs::rename(path("log"), path("new")).unwrap(),
        ];
        for write in writes {
            write();
            assert!(watch.wait(LONG));
            assert!(!watch.wait(SHORT), "every sign was taken");
        }
        fs::read(path("new")).unwrap();
        assert!(!watch.wait(SHORT), "reading is no sign");
    }

    #[test]
    fn a_folder_that_is_not_there_gives_no_sign() {
        let folder = tempfile::tempdir().unwrap();
        let watch = FolderWatch::new(&folder.path().join("absent"));
        assert!(!watch.wait(SHORT));
    }
}
