//! The certificate of a server: none, its own, or the user's.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest as _, Sha256};
use tokio_rustls::TlsAcceptor;

use crate::access::hexadecimal;

/// How connections are encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TlsSetting {
    /// Not at all: only on a loopback address.
    Off,
    /// With a certificate that the server makes for itself, and keeps in this folder.
    SelfSigned { folder: PathBuf },
    /// With a certificate and a key in PEM.
    Files { certificate: PathBuf, key: PathBuf },
}

/// Where the server's own certificate and its key are kept.
pub const OWN_FILE: &str = "server-certificate.pem";

/// Why a server has no certificate.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot listen on {0} without TLS: everyone on the network could read the tokens")]
    PlainOutside(SocketAddr),
    #[error("cannot {verb} `{}`: {error}", .path.display())]
    File {
        verb: &'static str,
        path: PathBuf,
        error: io::Error,
    },
    #[error("cannot use `{}`: other users can read the key in it (mode {mode:04o})", .path.display())]
    Exposed { path: PathBuf, mode: u32 },
    #[error("cannot use `{}`: it has no {what} in PEM", .path.display())]
    Unreadable { path: PathBuf, what: &'static str },
    #[error("cannot make a certificate: {0}")]
    NotMade(String),
    #[error("cannot use the certificate with its key: {0}")]
    Unfit(rustls::Error),
}

impl TlsError {
    /// The command that helps.
    pub fn hint(&self) -> String {
        match self {
            Self::PlainOutside(address) => format!(
                "add `--tls self`, or `--tls CERT KEY` with your own certificate, or listen on \
                 127.0.0.1:{} behind a proxy",
                address.port()
            ),
            Self::Exposed { path, .. } => {
                let path = path.display();
                format!(
                    "run `chmod 600 {path}`; if another user may have read it, delete it instead"
                )
            }
            Self::File { .. } | Self::Unreadable { .. } | Self::NotMade(_) | Self::Unfit(_) => {
                "check the two files of `--tls CERT KEY`, or use `--tls self`".to_owned()
            }
        }
    }

    fn file(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::File { verb, path, error }
    }
}

/// A certificate that is ready to use.
#[derive(Clone)]
pub struct Tls {
    pub acceptor: TlsAcceptor,
    /// The SHA-256 of the certificate, by which runners recognise this server.
    pub fingerprint: String,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Tls({})", self.fingerprint)
    }
}

impl TlsSetting {
    /// The certificate for an address; `None` for plain HTTP on a loopback address.
    pub fn load(&self, address: SocketAddr) -> Result<Option<Tls>, TlsError> {
        match self {
            Self::Off if address.ip().is_loopback() => Ok(None),
            Self::Off => Err(TlsError::PlainOutside(address)),
            Self::SelfSigned { folder } => {
                let path = folder.join(OWN_FILE);
                if !path.exists() {
                    make(folder, &path, address)?;
                }
                require_private(&path)?;
                load(&path, &path).map(Some)
            }
            Self::Files { certificate, key } => load(certificate, key).map(Some),
        }
    }
}

fn load(certificate: &Path, key: &Path) -> Result<Tls, TlsError> {
    let text = fs::read(certificate).map_err(TlsError::file("read", certificate))?;
    let unreadable = |path: &Path, what| TlsError::Unreadable {
        path: path.to_owned(),
        what,
    };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let chain = chain.map_err(|_| unreadable(certificate, "certificate"))?;
    let first = chain.first();
    let first = first.ok_or_else(|| unreadable(certificate, "certificate"))?;
    let fingerprint = hexadecimal(&Sha256::digest(first));
    let text = fs::read(key).map_err(TlsError::file("read", key))?;
    let key = PrivateKeyDer::from_pem_slice(&text).map_err(|_| unreadable(key, "private key"))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Unfit)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(TlsError::Unfit)?;
    Ok(Tls {
        acceptor: TlsAcceptor::from(Arc::new(config)),
        fingerprint,
    })
}

fn require_private(path: &Path) -> Result<(), TlsError> {
    let found = fs::metadata(path).map_err(TlsError::file("read", path))?;
    let mode = found.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        let path = path.to_owned();
        return Err(TlsError::Exposed { path, mode });
    }
    Ok(())
}

/// Makes a certificate and its key, in one file, so that they always belong together.
fn make(folder: &Path, path: &Path, address: SocketAddr) -> Result<(), TlsError> {
    let names = vec!["localhost".to_owned(), address.ip().to_string()];
    let made = rcgen::generate_simple_self_signed(names);
    let made = made.map_err(|error| TlsError::NotMade(error.to_string()))?;
    let text = made.cert.pem() + &made.signing_key.serialize_pem();
    fs::create_dir_all(folder).map_err(TlsError::file("create", folder))?;
    let temporary = folder.join(format!(".{OWN_FILE}.{}", std::process::id()));
    // A process with this id may have been killed here.
    let _removed = fs::remove_file(&temporary);
    let written = write_private(&temporary, &text).and_then(|()| {
        // Unlike a rename, a link never replaces the file of a server that starts at the same time.
        match fs::hard_link(&temporary, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        }
    });
    let _removed = fs::remove_file(&temporary);
    written.map_err(TlsError::file("write", path))
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn plain_http_is_for_loopback_only() {
        for local in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1"] {
            assert!(TlsSetting::Off.load(address(local)).unwrap().is_none());
        }
        for outside in [
            "0.0.0.0:1",
            "192.168.1.2:1",
            "[::]:1",
            "[::ffff:10.0.0.1]:1",
        ] {
            let refused = TlsSetting::Off.load(address(outside)).unwrap_err();
            assert!(matches!(refused, TlsError::PlainOutside(_)), "{outside}");
            assert!(refused.hint().contains("--tls self"));
        }
    }

    #[test]
    fn an_own_certificate_is_made_once_and_kept_private() {
        let folder = tempfile::tempdir().unwrap();
        let setting = TlsSetting::SelfSigned {
            folder: folder.path().join("new"),
        };
        let load = || setting.load(address("0.0.0.0:7878"));
        let first = load().unwrap().unwrap().fingerprint;
        assert_eq!(first.len(), 64);
        assert_eq!(load().unwrap().unwrap().fingerprint, first);
        let path = folder.path().join("new").join(OWN_FILE);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        let files = fs::read_dir(folder.path().join("new")).unwrap().count();
        assert_eq!(files, 1, "nothing is left behind");

        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(load(), Err(TlsError::Exposed { mode: 0o644, .. })));
    }

    #[test]
    fn files_that_are_no_certificate_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("it.pem");
        let files = TlsSetting::Files {
            certificate: path.clone(),
            key: path.clone(),
        };
        let load = || files.load(address("127.0.0.1:1")).unwrap_err();
        assert!(matches!(load(), TlsError::File { .. }));
        for text in [
            "",
            "no",
            "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n",
        ] {
            fs::write(&path, text).unwrap();
            assert!(matches!(load(), TlsError::Unreadable { .. }), "{text}");
        }
    }
}
