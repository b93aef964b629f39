//! Opens an agent's transcript without leaving the agent's folder.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::safe_directory::SafeDirectory;

/// Opens a regular file below `folder`. The folder itself may be a link that the user made. Below
/// it no link is followed, because the path comes from an agent.
pub fn open_transcript(folder: &Path, path: &Path) -> io::Result<File> {
    let real = folder.canonicalize()?;
    let below = path
        .strip_prefix(folder)
        .or_else(|_| path.strip_prefix(&real))
        .map_err(|_| io::Error::other("it is not in the agent's folder"))?;
    SafeDirectory::open(&real)?.open_file(below)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_a_file_below_the_folder_is_opened() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let folder = root.join("sessions");
        fs::create_dir_all(folder.join("day")).unwrap();
        fs::write(folder.join("day/own.jsonl"), "own").unwrap();
        fs::write(root.join("secret"), "secret").unwrap();
        symlink(root.join("secret"), folder.join("link.jsonl")).unwrap();
        symlink(root, folder.join("out")).unwrap();
        symlink(&folder, root.join("moved")).unwrap();
        let read = |folder: &Path, path: &Path| {
            let mut text = String::new();
            open_transcript(folder, path)?.read_to_string(&mut text)?;
            io::Result::Ok(text)
        };
        let own = folder.join("day/own.jsonl");
        assert_eq!(read(&folder, &own).unwrap(), "own");
        let moved = root.join("moved");
        assert_eq!(read(&moved, &own).unwrap(), "own");
        assert_eq!(read(&moved, &moved.join("day/own.jsonl")).unwrap(), "own");
        for wrong in [
            root.join("secret"),
            folder.join("link.jsonl"),
            folder.join("out/secret"),
            folder.join("../secret"),
            folder.join("day"),
            folder.clone(),
            "day/own.jsonl".into(),
        ] {
            assert!(read(&folder, &wrong).is_err(), "{}", wrong.display());
        }
    }
}
