//! Handshakes without a network: what is checked, and the sentence about each refusal.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pagurus_harness::certificates::{NOW, TestIssuer, server_config};
use pagurus_tls::{
    CertificateCheck, CertificateFiles, ClientTls, ReloadingTls, ServerTls, TlsFiles as _, explained,
};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, ServerConfig, ServerConnection};

use super::Folder;
use crate::installation::PATIENCE;

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
    let (ours, others) = (TestIssuer::new("ours").unwrap(), TestIssuer::new("others").unwrap());
    let issuers = Some(folder.file("ours.pem", &ours.pem));
    let now = NOW;
    for (certificate, check, says) in [
        (ours.issue("db.example", now).unwrap(), CertificateCheck::IssuerAndName, None),
        (ours.issue("other.example", now).unwrap(), CertificateCheck::Issuer, None),
        (
            ours.issue("other.example", now).unwrap(),
            CertificateCheck::IssuerAndName,
            Some("is for another name: it is for other.example, not for db.example"),
        ),
        (
            ours.issue("db.example", (2020, 2021)).unwrap(),
            CertificateCheck::Issuer,
            Some("has expired: it was valid until 2021-01-01T00:00:00Z"),
        ),
        (
            ours.issue("db.example", (2090, 2100)).unwrap(),
            CertificateCheck::Issuer,
            Some("is not valid yet: it will be from 2090-01-01T00:00:00Z"),
        ),
        (
            others.issue("db.example", now).unwrap(),
            CertificateCheck::Issuer,
            Some("issuer of the server's certificate is not trusted"),
        ),
        (others.issue("db.example", (2020, 2021)).unwrap(), CertificateCheck::Nothing, None),
    ] {
        let tls = ClientTls { check, issuers: issuers.clone(), ..ClientTls::default() };
        let found = handshake(&tls, server_config(&certificate, &[]).unwrap());
        match says {
            None => assert_eq!(found, Ok(()), "{check:?}"),
            Some(says) => assert!(found.as_ref().is_err_and(|text| text.contains(says)), "{found:?}"),
        }
    }
}

#[test]
fn qlt_15_a_server_that_asks_for_a_certificate_gets_the_one_of_the_files() {
    let folder = Folder::new("client");
    let (ours, others) = (TestIssuer::new("ours").unwrap(), TestIssuer::new("others").unwrap());
    let certificate = ours.issue("db.example", NOW).unwrap();
    let issuers = Some(folder.file("ours.pem", &ours.pem));
    let shown = |issuer: Option<&TestIssuer>| {
        let files = issuer.map(|issuer| {
            let shown = issuer.issue("worker", NOW).unwrap();
            let certificate = folder.file("client.pem", &shown.certificate);
            CertificateFiles { certificate, key: folder.file("client.key", &shown.key) }
        });
        let tls = ClientTls { issuers: issuers.clone(), certificate: files, ..ClientTls::default() };
        handshake(&tls, server_config(&certificate, &[&ours]).unwrap())
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
    let ours = TestIssuer::new("ours").unwrap();
    let [shown, other] = [(), ()].map(|()| ours.issue("worker", NOW).unwrap());
    let good = folder.file("good.pem", &shown.certificate);
    let files = |certificate: &PathBuf, key: &PathBuf| ClientTls {
        check: CertificateCheck::Nothing,
        certificate: Some(CertificateFiles { certificate: certificate.clone(), key: key.clone() }),
        ..ClientTls::default()
    };
    let of_issuers = |file: PathBuf| ClientTls { issuers: Some(file), ..ClientTls::default() };
    let (key, other_key) = (folder.file("good.key", &shown.key), folder.file("other.key", &other.key));
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

#[tokio::test]
async fn qlt_15_the_former_certificate_counts_while_one_of_two_files_is_exchanged() {
    let folder = Folder::new("pair");
    let ours = TestIssuer::new("ours").unwrap();
    let [former, next] = [(), ()].map(|()| ours.issue("db.example", NOW).unwrap());
    let certificate = folder.file("server.crt", &former.certificate);
    let key = folder.file("server.key", &former.key);
    let tls = ReloadingTls::new(ServerTls(CertificateFiles { certificate, key }));
    let first = tls.config().unwrap();
    folder.file("server.key", &next.key);
    // Longer than it takes to look at the files again, and shorter than an exchange may last.
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(1) {
        assert!(Arc::ptr_eq(&first, &tls.config().unwrap()));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    folder.file("server.crt", &next.certificate);
    while Arc::ptr_eq(&first, &tls.config().unwrap()) {
        assert!(begun.elapsed() < PATIENCE, "the new certificate does not count");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
