//! TLS: a certificate of the server's own, pinned by its hash.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

use orange_server::{Host, HostError, ServerError, Settings, TlsError, TlsSetting};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme, StreamOwned,
};
use sha2::{Digest as _, Sha256};

use crate::client::Client;
use crate::cluster::Cluster;
use crate::servers::Running;

/// Accepts the certificate with one hash, whatever names it has.
#[derive(Debug)]
struct Pin {
    sha: String,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pin {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if orange_server::access::hexadecimal(&Sha256::digest(certificate)) == self.sha {
            return Ok(ServerCertVerified::assertion());
        }
        Err(Error::General("another certificate".to_owned()))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// The answer to `GET /readyz`; `None` when the certificate is refused.
fn ready(running: &Running, sha: &str) -> Option<String> {
    let provider = Arc::new(ring::default_provider());
    let pin = Pin {
        sha: sha.to_owned(),
        provider: Arc::clone(&provider),
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(pin))
        .with_no_client_auth();
    let name = ServerName::try_from("box").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let stream = TcpStream::connect(running.address).unwrap();
    let wait = Some(std::time::Duration::from_secs(30));
    stream.set_read_timeout(wait).unwrap();
    let mut stream = StreamOwned::new(connection, stream);
    let request = "GET /readyz HTTP/1.1\r\nHost: box\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    // The server may end without a goodbye; what it said is complete or fails below.
    let _ended = stream.read_to_string(&mut answer);
    Some(answer)
}

#[test]
fn a_server_outside_loopback_needs_tls_and_is_known_by_its_certificate() {
    let cluster = Cluster::start();
    let settings = Settings {
        database: cluster.url(),
        connections: 2,
        listen: ":0".parse().unwrap(),
        tls: TlsSetting::Off,
    };
    let refused = Host::start(&settings, Arc::new(|_: &str| {})).unwrap_err();
    let is_plain = matches!(
        refused,
        HostError::Server(ServerError::Tls(TlsError::PlainOutside(_)))
    );
    assert!(is_plain, "{refused}");

    let folder = tempfile::tempdir().unwrap();
    let tls = TlsSetting::SelfSigned {
        folder: folder.path().to_owned(),
    };
    let running = Running::start(&cluster.url(), tls.clone());
    let sha = running.fingerprint.clone().unwrap();
    let answer = ready(&running, &sha).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.ends_with("{\"status\":\"ready\"}"), "{answer}");
    assert_eq!(ready(&running, &sha.replace(['a', 'b'], "c")), None);
    // One who speaks plain HTTP is not answered.
    let plain = Client::new(running.address, None);
    assert!(plain.call("GET", "/healthz", "").is_err());
    // It has the same certificate after a restart.
    drop(running);
    let again = Running::start(&cluster.url(), tls);
    assert_eq!(again.fingerprint.clone().unwrap(), sha);
}
