//! `packaging/install.sh`, and the uninstall of what it installed.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use orange_fleet::chain::Sha;

use crate::support::Stage;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/install.sh");

/// Releases on a server, and a directory to install into.
struct Releases {
    folder: tempfile::TempDir,
    address: String,
    /// Whether the server ends each answer in the middle.
    cuts: Arc<AtomicBool>,
}

impl Releases {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let site = folder.path().join("site");
        fs::create_dir(&site).unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let cuts = Arc::new(AtomicBool::new(false));
        let cut = Arc::clone(&cuts);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                serve(&stream, &site, cut.load(Ordering::SeqCst));
            }
        });
        Self {
            folder,
            address,
            cuts,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Releases a version with these files; the program is a script that prints the version.
    fn release(&self, version: &str, files: &[&str]) -> PathBuf {
        let program = format!("#!/bin/sh\necho orange {version}\n");
        self.release_program(&program, version, files)
    }

    fn release_program(&self, program: &str, version: &str, files: &[&str]) -> PathBuf {
        let work = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str, mode| {
            let path = work.path().join("orange").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        };
        write("bin/orange", program, 0o755);
        for file in files {
            write(file, version, 0o644);
        }
        let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
        let name = format!("orange-{target}.tar.gz");
        let folder = self.path("site/latest/download");
        fs::create_dir_all(&folder).unwrap();
        let archive = folder.join(&name);
        let packed = Command::new("tar")
            .arg("-czf")
            .arg(&archive)
            .arg("-C")
            .arg(work.path())
            .arg("orange")
            .status();
        assert!(packed.unwrap().success());
        let sum = Sha::of(&fs::read(&archive).unwrap());
        fs::write(folder.join("SHA256SUMS"), format!("{sum}  {name}\n")).unwrap();
        archive
    }

    fn install(&self, options: &[&str]) -> Output {
        let script = Path::new(SCRIPT);
        self.command("sh")
            .arg(script)
            .args(options)
            .output()
            .unwrap()
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap());
        command
            .env("HOME", self.path("home"))
            .env("ORANGE_DOWNLOAD", &self.address);
        command.current_dir(self.folder.path());
        command
    }

    /// What is below a directory, with the contents of files.
    fn tree(&self, name: &str) -> Vec<(PathBuf, String)> {
        let mut found = Vec::new();
        let mut open = vec![self.path(name)];
        while let Some(path) = open.pop() {
            if path.is_dir() {
                open.extend(fs::read_dir(&path).unwrap().map(|it| it.unwrap().path()));
                found.push((path, String::new()));
            } else if let Ok(bytes) = fs::read(&path) {
                found.push((path, String::from_utf8_lossy(&bytes).into_owned()));
            }
        }
        found.sort();
        found
    }

    #[track_caller]
    fn assert_fails(&self, options: &[&str], message: &str) {
        let before = self.tree("home");
        let output = self.install(options);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.contains(message), "{error}");
        assert_eq!(self.tree("home"), before, "{error}");
    }
}

fn serve(stream: &TcpStream, site: &Path, cuts: bool) {
    let mut lines = BufReader::new(stream).lines();
    let request = lines.next().and_then(Result::ok).unwrap_or_default();
    // The head ends with an empty line.
    let _last = lines.find(|line| line.as_ref().is_ok_and(String::is_empty));
    let path = request.split_whitespace().nth(1).unwrap_or_default();
    let mut stream = stream;
    // The client may have gone.
    let _gone = match fs::read(site.join(path.trim_start_matches('/'))) {
        Ok(body) => {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n", body.len());
            let sent = if cuts {
                &body[..body.len() / 2]
            } else {
                &body[..]
            };
            let head = write!(stream, "{head}Connection: close\r\n\r\n");
            head.and_then(|()| stream.write_all(sent))
        }
        Err(_) => write!(
            stream,
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        ),
    };
}

#[test]
fn an_update_replaces_what_the_script_installed_and_nothing_else() {
    let releases = Releases::new();
    releases.release("1.0.0", &["share/man/man1/orange.1", "share/old/gone"]);
    fs::create_dir_all(releases.path("home/.local/bin")).unwrap();
    fs::write(releases.path("home/.local/bin/other"), "mine").unwrap();
    let first = releases.install(&[]);
    let text = String::from_utf8(first.stdout).unwrap();
    assert!(first.status.success(), "{text}");
    assert!(text.contains("installed orange 1.0.0"), "{text}");
    assert!(text.contains("add it to your PATH"), "{text}");
    releases.release("1.0.1", &["share/man/man1/orange.1", "share/new"]);
    assert!(releases.install(&[]).status.success());
    let page = fs::read_to_string(releases.path("home/.local/share/man/man1/orange.1"));
    assert_eq!(page.unwrap(), "1.0.1");
    assert!(!releases.path("home/.local/share/old/gone").exists());
    let shown = releases.command("home/.local/bin/orange").output().unwrap();
    assert_eq!(shown.stdout, b"orange 1.0.1\n");
    let again = releases.tree("home");
    assert!(releases.install(&[]).status.success());
    assert_eq!(
        releases.tree("home"),
        again,
        "a second time changes nothing"
    );
    assert!(!releases.path("home/.local/share/orange/new").exists());
    let receipt = fs::read_to_string(releases.path("home/.local/share/orange/receipt"));
    let receipt = receipt.unwrap();
    assert!(
        !receipt.contains("gone") && !receipt.contains("other"),
        "{receipt}"
    );
    assert!(
        !receipt.lines().any(|it| it == "bin/"),
        "it was there before"
    );
}

#[test]
fn a_damaged_download_installs_nothing() {
    let releases = Releases::new();
    let archive = releases.release("1.0.0", &["share/man/man1/orange.1"]);
    releases.cuts.store(true, Ordering::SeqCst);
    releases.assert_fails(&[], "cannot download");
    releases.cuts.store(false, Ordering::SeqCst);
    // Cut off on the server already, so that the length is right.
    let bytes = fs::read(&archive).unwrap();
    fs::write(&archive, &bytes[..bytes.len() / 2]).unwrap();
    releases.assert_fails(&[], "the download is damaged");
    let mut changed = bytes.clone();
    changed[40] ^= 1;
    fs::write(&archive, changed).unwrap();
    releases.assert_fails(&[], "the download is damaged");
    fs::write(&archive, &bytes).unwrap();
    fs::write(archive.with_file_name("SHA256SUMS"), "").unwrap();
    releases.assert_fails(&[], "SHA256SUMS does not name");
    fs::remove_file(archive.with_file_name("SHA256SUMS")).unwrap();
    releases.assert_fails(&[], "cannot download");
    releases.assert_fails(&["--version", "9.9.9"], "cannot download");
    assert_eq!(releases.tree("home").len(), 1);
}

#[test]
fn without_a_network_or_permission_nothing_is_left() {
    let releases = Releases::new();
    releases.release("1.0.0", &[]);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    let mut command = releases.command("sh");
    let output = command
        .env("ORANGE_DOWNLOAD", address)
        .arg(SCRIPT)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(releases.tree("home").len(), 1);
    // Root may write to every directory, but nobody below a file.
    fs::write(releases.path("file"), "mine").unwrap();
    releases.assert_fails(&["--prefix", "file/below"], "cannot write to");
    let program = "#!/bin/sh\necho 'no such library' >&2\nexit 127\n";
    releases.release_program(program, "1.0.1", &[]);
    releases.assert_fails(&[], "does not run here: no such library");
    assert_eq!(fs::read(releases.path("file")).unwrap(), b"mine");
    let output = releases
        .command("sh")
        .env_remove("ORANGE_DOWNLOAD")
        .arg(SCRIPT)
        .output();
    let error = String::from_utf8(output.unwrap().stderr).unwrap();
    assert!(
        error.contains("does not know where orange is released"),
        "{error}"
    );
}

#[test]
fn files_of_others_are_not_replaced_unless_forced() {
    let releases = Releases::new();
    releases.release("1.0.0", &["share/man/man1/orange.1"]);
    let program = releases.path("home/.local/bin/orange");
    let page = releases.path("home/.local/share/man/man1/orange.1");
    for file in [&program, &page] {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "of another program").unwrap();
        releases.assert_fails(&[], "exists, and this script did not install it");
        if file == &program {
            fs::remove_file(file).unwrap();
        }
    }
    assert!(releases.install(&["--force"]).status.success());
    assert_eq!(fs::read_to_string(page).unwrap(), "1.0.0");
}

#[test]
fn a_script_that_was_cut_off_does_nothing() {
    let releases = Releases::new();
    releases.release("1.0.0", &[]);
    let script = fs::read_to_string(SCRIPT).unwrap();
    let end = script.find("main \"$@\"").unwrap();
    for part in [end, end / 2, end / 3] {
        let cut = releases.path("cut.sh");
        fs::write(&cut, &script[..part]).unwrap();
        let _may_be_no_program = releases.command("sh").arg(&cut).output().unwrap();
        assert_eq!(releases.tree("home").len(), 1, "{part}");
    }
}

#[test]
fn an_uninstall_removes_what_the_script_installed() {
    let releases = Releases::new();
    releases.release(
        "1.0.0",
        &["share/man/man1/orange.1", "share/doc/orange/README.md"],
    );
    fs::create_dir_all(releases.path("home/.local/share/man")).unwrap();
    let before = releases.tree("home");
    assert!(releases.install(&[]).status.success());
    // The program that was installed is a script; the real one takes its place.
    let program = releases.path("home/.local/bin/orange");
    fs::copy(env!("CARGO_BIN_EXE_orange"), &program).unwrap();
    // Another file in a directory that the script made, and a receipt that someone has changed.
    let mine = releases.path("home/.local/share/doc/mine");
    fs::write(&mine, "mine").unwrap();
    let outside = releases.path("outside");
    fs::write(&outside, "mine").unwrap();
    let receipt = releases.path("home/.local/share/orange/receipt");
    let changed = fs::read_to_string(&receipt).unwrap() + "../../outside\n/etc/hostname\n";
    fs::write(&receipt, changed).unwrap();
    let stage = Stage::new("minimal");
    let uninstall = |program: &Path| {
        let mut command = Command::new(program);
        command.env_clear().envs(stage.environment.variables());
        command
            .args(["uninstall", "--yes"])
            .current_dir(stage.path("repo"));
        command.output().unwrap()
    };
    let output = uninstall(&program);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("the program is removed too"), "{text}");
    assert_eq!(fs::read(&outside).unwrap(), b"mine");
    assert_eq!(fs::read(&mine).unwrap(), b"mine");
    fs::remove_dir_all(mine.parent().unwrap()).unwrap();
    assert_eq!(releases.tree("home"), before);
}

#[test]
fn a_program_from_elsewhere_is_not_removed() {
    let stage = Stage::new("minimal");
    let text = stage.run_ok(&["uninstall", "--yes"]);
    assert!(
        text.contains("to remove the program itself: `rm "),
        "{text}"
    );
    assert!(Path::new(env!("CARGO_BIN_EXE_orange")).exists());
}
