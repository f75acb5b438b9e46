//! The address of the broker: a URL, with its options of TLS.

use lapin::uri::{AMQPScheme, AMQPUri};
use pagurus_domain::number::saturated;
use pagurus_tls::{CertificateCheck, CertificateFiles, ClientTls, TlsFiles as _, taken_out};

use crate::{Config, Error, connection};

/// Reads an address with its options of TLS, which are those of the broker's own clients, by the same names.
///
/// The messages of its faults never contain the address, because of the password in it.
fn address_of(url: &str) -> Result<(AMQPUri, Option<ClientTls>), String> {
    const CERTIFICATE: [&str; 2] = ["certfile", "keyfile"];
    let [certificate, key] = CERTIFICATE;
    let (rest, options) = taken_out(url, ["verify", "cacertfile", certificate, key])?;
    let is_asked_for = options.iter().any(Option::is_some);
    let [verify, issuers, certificate, key] = options;
    // The parser's own words repeat the address.
    let uri: AMQPUri = rest
        .parse()
        .map_err(|_| "is not an AMQP URL, such as `amqp://USER:PASSWORD@HOST:5672/%2f`".to_owned())?;
    if uri.scheme == AMQPScheme::AMQP {
        let plain = "has options of TLS, and begins with `amqp://`; write `amqps://`";
        return if is_asked_for { Err(plain.to_owned()) } else { Ok((uri, None)) };
    }
    let check = match verify.as_deref() {
        None | Some("verify_peer") => CertificateCheck::IssuerAndName,
        Some("verify_none") => CertificateCheck::Nothing,
        Some(other) => {
            return Err(format!("has `verify={other}`, which is none of verify_peer, verify_none"));
        }
    };
    let certificate = CertificateFiles::of_options([certificate, key], CERTIFICATE)?;
    Ok((uri, Some(ClientTls { check, issuers: issuers.map(Into::into), certificate, and_system: false })))
}

/// Reads the address of a configuration, with the bounds of its connections.
pub(crate) fn usable_address(config: &Config) -> Result<(AMQPUri, Option<ClientTls>), Error> {
    let (mut uri, tls) =
        address_of(&config.url).map_err(|why| Error::InvalidSetting(format!("the address {why}")))?;
    uri.query.heartbeat.get_or_insert(connection::HEARTBEAT_SECONDS);
    uri.query.frame_max.get_or_insert(connection::FRAME_BYTES);
    let milliseconds = saturated::<u64>(config.connect_timeout.as_millis());
    uri.query.connection_timeout.get_or_insert(milliseconds);
    Ok((uri, tls))
}

/// The reason why no connection can ever be made by an address; `None` where that depends on the server. Does not repeat the address.
#[must_use]
pub fn unusable(url: &str) -> Option<String> {
    address_of(url).err()
}

/// The virtual host of an address that can be used.
#[must_use]
pub fn vhost_of(url: &str) -> Option<String> {
    address_of(url).ok().map(|(uri, _)| uri.vhost)
}

/// The fault of a file that an address names for TLS; none where all of them can be used on this host now.
#[must_use]
pub fn tls_fault(url: &str) -> Option<String> {
    let (_, tls) = address_of(url).ok()?;
    tls?.config().err().map(|fault| fault.to_string())
}

/// Host and port of the broker's address, without user and password; none where that is no address.
#[must_use]
pub fn server_of(url: &str) -> Option<(String, u16)> {
    let (uri, _) = address_of(url).ok()?;
    Some((uri.authority.host, uri.authority.port))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

    use pagurus_domain::id::Role;

    use super::*;

    #[test]
    fn amqp_2_a_bad_address_is_a_fault_without_the_password() {
        for url in ["http://u:secret@h", "amqp://u:secret@h?cacertfile=/ca.pem", "u:secret@h"] {
            let config = Config::new(url, "pagurus", Role::Intake, "n");
            let fault = usable_address(&config).unwrap_err();
            assert!(!fault.to_string().contains("secret"), "{fault}");
        }
    }
}
