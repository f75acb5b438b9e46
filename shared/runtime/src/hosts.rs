//! Hosts by which the API is called, so that no page of a stranger acts through a browser whose name for us it chose.

use std::net::IpAddr;

use crate::config::Settings;
use crate::host_name;

/// True where the API is called by this host, as a request names it, with or without a port. Addresses are taken as they
/// are: nobody can let the name of his page lead to one and have the browser send the address.
#[must_use]
pub fn is_called_by(settings: &Settings, host: &str) -> bool {
    // Anything else is no host with a port, however much of it looks like one.
    let is_plain = |sign: char| sign.is_alphanumeric() || "-._:[]".contains(sign);
    if !host.chars().all(is_plain) {
        return false;
    }
    let host = host_of(host);
    if host == "localhost" || host.parse::<IpAddr>().is_ok() {
        return true;
    }
    let is_it = |mask: &String| match mask.strip_prefix('*') {
        Some("") => true,
        Some(below) => host.ends_with(below),
        None => *mask == host,
    };
    let intake = &settings.intake;
    intake.hosts.iter().any(is_it)
        || intake.public_url.as_deref().is_some_and(|url| host_of(url) == host)
        || settings.access.url.as_deref().is_some_and(|url| host_of(url) == host)
        || settings.node.advertise.as_deref().map_or_else(|| host_name().to_ascii_lowercase(), host_of)
            == host
}

/// The host of `HOST`, `HOST:PORT` or a URL: in lower case, without brackets and a dot at its end.
fn host_of(text: &str) -> String {
    let authority = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = authority.split('/').next().unwrap_or_default();
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => authority.rsplit_once(':').map_or(authority, |(host, _)| host),
    };
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::config::load;

    #[test]
    fn qlt_8_the_api_is_called_by_addresses_its_own_names_and_those_of_the_configuration() {
        let called = |variables: &[(&str, &str)], host: &str| {
            let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            is_called_by(&load(None, variables).unwrap(), host)
        };
        for host in ["127.0.0.1:8080", "10.1.2.3", "[::1]:80", "localhost:1", "LocalHost.", &host_name()] {
            assert!(called(&[], host), "{host}");
        }
        for host in [
            "evil@localhost",
            "localhost/x",
            "http://localhost",
            "localhost?",
            "local host",
            "localhost,evil",
        ] {
            assert!(!called(&[], host), "{host}");
        }
        for host in ["evil.example:8080", "", "127.0.0.1.evil.example", "localhost.evil.example", "[evil]"] {
            assert!(!called(&[], host), "{host}");
        }
        let names = [
            ("PAGURUS__NODE__ADVERTISE", "https://Node.example:8443/"),
            ("PAGURUS__INTAKE__PUBLIC_URL", "http://gate.example/orders"),
            ("PAGURUS__INTAKE__HOSTS", "['*.svc', API]"),
        ];
        for host in ["node.example", "GATE.example:80", "api", "intake.shop.svc:80", "api."] {
            assert!(called(&names, host), "{host}");
        }
        for host in ["svc", "evilsvc", "a.svc.evil.example", "node.example.evil.example", &host_name()] {
            assert!(!called(&names, host), "{host}");
        }
        assert!(called(&[("PAGURUS__INTAKE__HOSTS", "['*']")], "evil.example"));
        for wrong in ["['http://a']", "['a:80']", "['a*']", "['']", "['a..b']"] {
            let variables = [("PAGURUS__INTAKE__HOSTS".to_owned(), wrong.to_owned())];
            assert!(load(None, variables.into_iter()).is_err(), "{wrong}");
        }
    }
}
