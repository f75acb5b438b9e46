//! Settings of a directory: what is read, and the faults of what could not work or would be seen by others.

use super::*;

/// The faults of these keys of `access.ldap` beside a URL, a template and an attribute of groups.
fn faults_of(keys: &str) -> Vec<String> {
    let usual = [
        ("url", "ldaps://ldap.example"),
        ("bind_template", "'uid={name},dc=x'"),
        ("groups", "{attribute: memberOf}"),
    ];
    let absent = |key: &str| !keys.contains(&format!("{key}:"));
    let usual = usual.iter().filter(|(key, _)| absent(key)).map(|(key, value)| format!("{key}: {value}, "));
    let text = format!("access: {{ldap: {{{}{keys}}}}}", usual.collect::<String>());
    check(&text, std::iter::empty())
        .iter()
        .map(|fault| format!("{} {}", fault.pointer, fault.message))
        .collect()
}

#[test]
fn ui_1_settings_of_a_directory_that_work_have_no_fault() {
    let search = "bind_template: ~, bind_name: 'cn=s', bind_password: p, people: {base: 'dc=x', filter: '(uid={name})'}";
    for keys in [
        "",
        search,
        "url: 'ldap://ldap.example:1389/'",
        "url: 'ldap://ldap.example', start_tls: true",
        "url: 'ldap://127.0.0.1', start_tls: false",
        "url: 'ldap://[::1]:389', start_tls: false",
        "url: 'ldap://localhost', start_tls: false",
        "url: 'ldap://ldap.example', start_tls: false, plain_confirmed: true",
        "url: ldaps://ldap.example, start_tls: false",
        "bind_template: '{name}@corp.example', people: {base: 'dc=x', filter: '(&(uid={name})(!(a=b)))'}",
        "groups: {base: 'dc=x', filter: '(member:1.2.840.113556.1.4.1941:={dn})'}",
        "groups: {base: 'dc=x', filter: '(|(member={dn})(memberUid={name}))'}",
    ] {
        assert_eq!(faults_of(keys), [""; 0], "{keys}");
    }
    assert_eq!(faults_of("url: ~, bind_template: ~"), [""; 0], "no directory");
}

#[test]
fn ui_1_a_directory_is_where_its_url_says() {
    let server = |url: &str| LdapServer::parse(url).map(|server| server.to_string());
    for (url, expected) in [
        ("ldaps://ldap.example", "ldaps://ldap.example:636"),
        ("ldap://ldap.example", "ldap://ldap.example:389"),
        ("ldap://10.0.0.1:3268/", "ldap://10.0.0.1:3268"),
        ("ldaps://[2001:db8::1]:1", "ldaps://[2001:db8::1]:1"),
    ] {
        assert_eq!(server(url).as_deref(), Ok(expected));
    }
    for url in ["", "ldap.example", "http://ldap.example", "ldapi://%2f", "LDAP://x"] {
        assert_eq!(server(url), Err("must begin with `ldaps://` or `ldap://`"), "{url}");
    }
    for url in [
        "ldap://",
        "ldap://u:p@x",
        "ldap://x:0",
        "ldap://x:70000",
        "ldap://x:",
        "ldap://x/dc=y",
        "ldap://x?y",
        "ldap://[::1",
        "ldap://::1",
        "ldap://x,y",
    ] {
        assert!(server(url).is_err_and(|fault| fault.contains("with nothing behind it")), "{url}");
    }
}

#[test]
fn ui_1_settings_of_a_directory_that_cannot_work_are_refused() {
    let cases = [
        ("url: 'http://ldap.example'", "url must begin with"),
        ("url: 'ldap://user:canary@ldap.example'", "url must be `ldaps://HOST[:PORT]`"),
        ("start_tls: true", "start_tls applies only to `ldap://`"),
        (
            "url: 'ldap://ldap.example', start_tls: false",
            "start_tls passwords would be sent without encryption",
        ),
        ("bind_template: ~", "url needs `access.ldap.bind_template`, or"),
        (
            "bind_name: 'cn=s', bind_password: p, people: {base: 'dc=x', filter: '(uid={name})'}",
            "bind_name cannot be combined with `access.ldap.bind_template`",
        ),
        (
            "bind_template: ~, bind_name: 'cn=s', people: {base: 'dc=x', filter: '(uid={name})'}",
            "bind_name needs `access.ldap.bind_password`",
        ),
        ("bind_template: ~, bind_password: p", "bind_password needs `access.ldap.bind_name`"),
        (
            "bind_template: ~, bind_name: 'cn=s', bind_password: p",
            "bind_name needs `access.ldap.people.base`",
        ),
        ("bind_template: '{name}@corp.example'", "bind_template gives no distinguished name"),
        (
            "bind_template: 'uid=name,dc=x'",
            "bind_template has no `{name}`: it would be the same for everybody",
        ),
        ("bind_template: 'uid={user},dc=x'", "bind_template has braces around something other than `{name}`"),
        ("bind_template: 'uid={name,dc=x'", "bind_template has braces around something other than `{name}`"),
        ("people: {base: 'dc=x'}", "people/base needs `access.ldap.people.filter`"),
        ("people: {filter: '(uid={name})'}", "people/filter needs `access.ldap.people.base`"),
        ("people: {base: 'dc=x', filter: '(uid=*)'}", "people/filter has no `{name}`"),
        ("people: {base: 'dc=x', filter: '(uid={dn})'}", "people/filter has braces around something other"),
        ("people: {base: 'dc=x', filter: 'uid={name}'}", "people/filter is not a filter"),
        ("people: {base: 'dc=x', filter: '(uid={name}))'}", "people/filter is not a filter"),
        ("people: {base: 'dc=x', filter: '(&(uid={name})'}", "people/filter is not a filter"),
        ("people: {base: 'dc=x', filter: '(uid={name})(a=b)'}", "people/filter is not a filter"),
        ("groups: {base: 'dc=x'}", "groups/base needs `access.ldap.groups.filter`"),
        ("groups: {filter: '(member={dn})'}", "groups/filter needs `access.ldap.groups.base`"),
        ("groups: {base: 'dc=x', filter: '(cn=all)'}", "groups/filter has no `{dn}` or `{name}`"),
        ("groups: ~", "url needs `access.ldap.groups.attribute`, or"),
        ("timeout: 0", "timeout the duration must be longer than 0"),
        ("bind_pasword: p", "unknown key `bind_pasword`"),
    ];
    for (keys, expected) in cases {
        let found = faults_of(keys);
        assert_eq!(found.len(), 1, "{keys}: {found:?}");
        assert!(found[0].contains(expected), "{keys}: {found:?}");
        assert!(!found[0].contains("canary"));
    }
}

#[test]
fn scn_15_the_password_of_a_directory_comes_from_a_file_and_is_not_shown() {
    let file = File::new("ldap-password", "s-canary\n");
    let settings = with(
        "access: {ldap: {url: 'ldaps://x', bind_name: 'cn=s', people: {base: 'dc=x', filter: '(uid={name})'}, \
         groups: {attribute: memberOf}}}",
        &[("PAGURUS__ACCESS__LDAP__BIND_PASSWORD_FILE", file.0.to_str().unwrap())],
    );
    let ldap = settings.unwrap().ldap;
    assert_eq!(ldap.bind_password.as_deref(), Some("s-canary"));
    assert!(!format!("{ldap:?}").contains("s-canary"));
    assert_eq!(faults_of("bind_password: ''"), ["/access/ldap/bind_password the text is empty"]);
}
