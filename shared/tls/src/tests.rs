#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::io::{Read as _, Write as _};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConnection, RootCertStore, ServerConfig, ServerConnection};

use super::*;

/// Issuer of certificates.
struct TestIssuer {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl TestIssuer {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    /// Issues a certificate for a name, valid in these years, and its key.
    fn issue(&self, name: &str, (from, until): (i32, i32)) -> (String, String) {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(from, 1, 1);
        params.not_after = rcgen::date_time_ymd(until, 1, 1);
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }
}

/// A folder that ends with this value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("pagurus-tls-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn server((certificate, key): &(String, String), clients: Option<&TestIssuer>) -> ServerConfig {
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(issuer) => {
            let mut roots = RootCertStore::empty();
            roots.add(CertificateDer::from_pem_slice(issuer.pem.as_bytes()).unwrap()).unwrap();
            let provider = Arc::new(ring::default_provider());
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.unwrap())
        }
    };
    let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
    builder.with_single_cert(chain, PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap()).unwrap()
}

/// Shakes hands over a pair of buffers; returns what the client says of a failure.
fn handshake(tls: &ClientTls, server: ServerConfig) -> Result<(), String> {
    let name = ServerName::try_from("db.example").unwrap();
    let mut client = ClientConnection::new(Arc::new(tls.config().unwrap()), name).unwrap();
    let mut server = ServerConnection::new(Arc::new(server)).unwrap();
    for _ in 0..20 {
        let mut wire = Vec::new();
        client.write_tls(&mut wire).unwrap();
        let _ = server.read_tls(&mut wire.as_slice());
        let _ = server.process_new_packets();
        let mut wire = Vec::new();
        server.write_tls(&mut wire).unwrap();
        let _ = client.read_tls(&mut wire.as_slice());
        if let Err(error) = client.process_new_packets() {
            return Err(explained(&std::io::Error::other(error)).unwrap());
        }
    }
    server.writer().write_all(b"x").unwrap();
    let mut wire = Vec::new();
    server.write_tls(&mut wire).unwrap();
    client.read_tls(&mut wire.as_slice()).unwrap();
    client.process_new_packets().unwrap();
    assert_eq!(client.reader().read(&mut [0; 1]).unwrap(), 1);
    Ok(())
}

#[test]
fn qlt_15_a_certificate_that_is_refused_is_refused_with_its_reason() {
    let folder = Folder::new("refused");
    let (ours, others) = (TestIssuer::new("ours"), TestIssuer::new("others"));
    let issuers = Some(folder.file("ours.pem", &ours.pem));
    let now = (2020, 2100);
    for (certificate, check, says) in [
        (ours.issue("db.example", now), CertificateCheck::IssuerAndName, None),
        (ours.issue("other.example", now), CertificateCheck::Issuer, None),
        (
            ours.issue("other.example", now),
            CertificateCheck::IssuerAndName,
            Some("is for another name: it is for DnsName(\"other.example\"), not for db.example"),
        ),
        (
            ours.issue("db.example", (2020, 2021)),
            CertificateCheck::Issuer,
            Some("has expired: it was valid until 2021-01-01T00:00:00Z"),
        ),
        (
            ours.issue("db.example", (2090, 2100)),
            CertificateCheck::Issuer,
            Some("is not valid yet: it will be from 2090-01-01T00:00:00Z"),
        ),
        (
            others.issue("db.example", now),
            CertificateCheck::Issuer,
            Some("issuer of the server's certificate is not trusted"),
        ),
        (others.issue("db.example", (2020, 2021)), CertificateCheck::Nothing, None),
    ] {
        let tls = ClientTls { check, issuers: issuers.clone(), certificate: None };
        let found = handshake(&tls, server(&certificate, None));
        match says {
            None => assert_eq!(found, Ok(()), "{check:?}"),
            Some(says) => assert!(found.as_ref().is_err_and(|text| text.contains(says)), "{found:?}"),
        }
    }
}

#[test]
fn qlt_15_a_server_that_asks_for_a_certificate_gets_the_one_of_the_files() {
    let folder = Folder::new("client");
    let (ours, others) = (TestIssuer::new("ours"), TestIssuer::new("others"));
    let certificate = ours.issue("db.example", (2020, 2100));
    let issuers = Some(folder.file("ours.pem", &ours.pem));
    let shown = |issuer: Option<&TestIssuer>| {
        let files = issuer.map(|issuer| {
            let (certificate, key) = issuer.issue("worker", (2020, 2100));
            let certificate = folder.file("client.pem", &certificate);
            CertificateFiles { certificate, key: folder.file("client.key", &key) }
        });
        let tls = ClientTls { issuers: issuers.clone(), certificate: files, ..ClientTls::default() };
        handshake(&tls, server(&certificate, Some(&ours)))
    };
    assert_eq!(shown(Some(&ours)), Ok(()));
    let refused = shown(Some(&others)).unwrap_err();
    assert!(refused.contains("refuses the certificate that it is shown"), "{refused}");
    let none = shown(None).unwrap_err();
    assert!(none.contains("asks for a certificate, and none is set"), "{none}");
}

#[test]
fn qlt_15_a_file_that_is_missing_or_none_of_its_kind_is_named() {
    let folder = Folder::new("files");
    let ours = TestIssuer::new("ours");
    let (certificate, key) = ours.issue("worker", (2020, 2100));
    let (_, other_key) = ours.issue("worker", (2020, 2100));
    let good = folder.file("good.pem", &certificate);
    let files = |certificate: &PathBuf, key: &PathBuf| ClientTls {
        check: CertificateCheck::Nothing,
        issuers: None,
        certificate: Some(CertificateFiles { certificate: certificate.clone(), key: key.clone() }),
    };
    let of_issuers = |file: PathBuf| ClientTls { issuers: Some(file), ..ClientTls::default() };
    let (key, other_key) = (folder.file("good.key", &key), folder.file("other.key", &other_key));
    assert!(files(&good, &key).config().is_ok());
    for (tls, says) in [
        (of_issuers(folder.0.join("nowhere.pem")), "no certificate can be read from"),
        (of_issuers(folder.file("empty.pem", "")), "no certificate is in"),
        (files(&good, &good), "no key can be read from"),
        (files(&good, &other_key), "good.pem` and the key in"),
    ] {
        let fault = tls.config().unwrap_err().to_string();
        assert!(fault.contains(says), "{says}: {fault}");
    }
}
