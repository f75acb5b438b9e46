//! Sentences about handshakes that failed.

use std::error::Error;

use jiff::Timestamp;
use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError, Error as TlsError};

/// Returns why a handshake failed, as a sentence without its subject; `None` if the error is not about TLS.
#[must_use]
pub fn explained(error: &(dyn Error + 'static)) -> Option<String> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref::<TlsError>() {
            return Some(sentence(found));
        }
        // An I/O error is its content, and has the content's source.
        let inside = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        cause = inside.map(|inside| inside as &(dyn Error + 'static)).or_else(|| error.source());
    }
    None
}

fn sentence(error: &TlsError) -> String {
    match error {
        TlsError::InvalidCertificate(fault) => of_certificate(fault),
        TlsError::AlertReceived(alert) => of_alert(*alert),
        TlsError::PeerIncompatible(_) => {
            "the server offers neither TLS 1.2 nor TLS 1.3 with known ciphers".to_owned()
        }
        TlsError::InvalidMessage(_) => "the server does not speak TLS at this port".to_owned(),
        other => format!("the TLS handshake failed: {other}"),
    }
}

fn of_certificate(fault: &CertificateError) -> String {
    match fault {
        CertificateError::Expired => "the server's certificate has expired".to_owned(),
        CertificateError::ExpiredContext { not_after, .. } => {
            format!("the server's certificate has expired: it was valid until {}", date(*not_after))
        }
        CertificateError::NotValidYet => "the server's certificate is not valid yet".to_owned(),
        CertificateError::NotValidYetContext { not_before, .. } => {
            format!("the server's certificate is not valid yet: it will be from {}", date(*not_before))
        }
        CertificateError::NotValidForName => "the server's certificate is for another name".to_owned(),
        CertificateError::NotValidForNameContext { expected, presented } => {
            let names: Vec<&str> = presented.iter().map(|name| plain(name)).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let expected = expected.to_str();
            format!("the server's certificate is for another name: it is for {names}, not for {expected}")
        }
        CertificateError::UnknownIssuer => {
            "the issuer of the server's certificate is not trusted here".to_owned()
        }
        CertificateError::Revoked => "the server's certificate was revoked".to_owned(),
        other => format!("the server's certificate is refused: {other}"),
    }
}

/// The name in `DnsName("shop.example")`, which is how the library writes it.
fn plain(name: &str) -> &str {
    let inside = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    inside.unwrap_or(name).trim_matches('"')
}

fn of_alert(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::ProtocolVersion => "the server offers neither TLS 1.2 nor TLS 1.3".to_owned(),
        AlertDescription::CertificateRequired | AlertDescription::NoCertificate => {
            "the server asks for a certificate, and none is set".to_owned()
        }
        AlertDescription::UnknownCA
        | AlertDescription::BadCertificate
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateRevoked
        | AlertDescription::CertificateUnknown
        | AlertDescription::AccessDenied => {
            format!("the server refuses the certificate that it is shown: {alert:?}")
        }
        other => format!("the server ended the TLS handshake: {other:?}"),
    }
}

fn date(time: UnixTime) -> String {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX).to_string()
}
