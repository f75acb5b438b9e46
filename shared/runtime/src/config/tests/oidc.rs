//! Tests of the settings of OpenID Connect.

use pagurus_domain::id::Role;

use super::*;
use crate::start::{self, HostFacts};

const KNOWN: &str = "issuer: 'https://id.example/realms/shop', client_id: pagurus";

fn faults_with(line: &str) -> Vec<String> {
    faults(&format!("access:\n  oidc: {{{line}}}\n"))
}

#[test]
fn qlt_15_a_provider_is_asked_over_tls_unless_it_runs_on_this_host() {
    for (issuer, word) in [
        ("http://id.example", "https://"),
        ("id.example", "https://"),
        ("ftp://id.example", "https://"),
        ("https://", "https://"),
        ("https://id.example/?realm=shop", "query"),
        ("https://id.example/#shop", "fragment"),
        ("https://user@id.example", "no name"),
    ] {
        let found = faults_with(&format!("client_id: pagurus, issuer: '{issuer}'"));
        assert!(found.len() == 1 && found[0].contains(word), "{issuer}: {found:?}");
    }
    for (issuer, is_here) in [
        ("https://id.example", false),
        ("https://127.0.0.1.example", false),
        ("http://localhost:8180/realms/shop", true),
        ("http://127.0.0.9:1", true),
        ("http://[::1]:8180", true),
    ] {
        let settings = with(&format!("access: {{oidc: {{client_id: pagurus, issuer: '{issuer}'}}}}"), &[]);
        assert_eq!(settings.unwrap().oidc.is_on_this_host(), is_here, "{issuer}");
    }
}

#[test]
fn qlt_15_settings_that_no_provider_can_be_asked_by_are_found_before_a_start() {
    for (line, expected) in [
        ("scopes: [profile]", "openid"),
        ("scopes: []", "the list is empty"),
        ("algorithms: []", "the list is empty"),
        ("algorithms: [HS256]", "`HS256` is not"),
        ("algorithms: [none]", "`none` is not"),
        ("clock_skew: 11m", "10m"),
        ("timeout: 0", "longer than 0"),
        ("client_secrt: x", "did you mean `client_secret`"),
    ] {
        let found = faults_with(line);
        assert!(found.len() == 1 && found[0].contains(expected), "{line}: {found:?}");
    }
    assert_eq!(faults_with(KNOWN), Vec::<String>::new());
}

#[test]
fn qlt_15_what_a_start_refuses_of_a_provider_is_found_by_the_check() {
    let host = HostFacts { variable: |_| None };
    let found = |line: &str| {
        let text = format!("access:\n  oidc: {{{line}}}\n");
        let faults = start::check(&text, std::iter::empty(), &[Role::Intake], Some(host));
        faults.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    for (line, expected) in [
        (
            "issuer: 'https://id.example'",
            "2:18: `access.oidc.issuer` and `access.oidc.client_id` belong together",
        ),
        ("client_id: pagurus", "2:21: `access.oidc.issuer` and `access.oidc.client_id` belong together"),
        (&format!("{KNOWN}, issuers: /nowhere.pem"), "no certificate can be read from `/nowhere.pem`"),
    ] {
        let found = found(line);
        assert!(found.iter().any(|fault| fault.contains(expected)), "{line}: {found:?}");
    }
    assert!(!found(KNOWN).iter().any(|fault| fault.contains("oidc")), "{:?}", found(KNOWN));
}

#[test]
fn qlt_15_the_secret_of_the_client_may_come_from_a_file_and_is_never_shown() {
    let file = File::new("oidc-secret", "s3cret\n");
    let variable = [("PAGURUS__ACCESS__OIDC__CLIENT_SECRET_FILE", file.0.to_str().unwrap())];
    let oidc = with(&format!("access: {{oidc: {{{KNOWN}}}}}"), &variable).unwrap().oidc;
    assert_eq!(oidc.client_secret.as_deref(), Some("s3cret"));
    assert!(!format!("{oidc:?}").contains("s3cret"));
    assert_eq!(with("", &[]).unwrap().oidc.client_secret, None);
}
