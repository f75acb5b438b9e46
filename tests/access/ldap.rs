//! Logins by real directories: OpenLDAP with and without the attribute of groups, a domain controller, and one that says nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod domain;
mod exchanged;
mod failing;
mod openldap;

use std::path::PathBuf;

use pagurus_access::{LdapDirectory, LoginFailure, Person};
use pagurus_harness::certificates::{NOW, TestIssuer};
use pagurus_harness::of_test::OfTest;
use pagurus_harness::ports::{Owner, Ports};
use pagurus_harness::slapd::{self, Slapd};
use pagurus_runtime::config::{self, LdapSettings};

/// Password of everybody in the test directories.
const PASSWORD: &str = "Right*(passw0rd)";

/// A folder of its own, removed when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("pagurus-ldap-{:016x}", rand::random::<u64>()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Writes a file, and returns its path.
    fn write(&self, name: &str, text: &str) -> String {
        let file = self.0.join(name);
        std::fs::write(&file, text).unwrap();
        file.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nothing depends on it: the system cleans its temporary files as well.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Settings of `access.ldap`, by the ends of their keys; groups are those of `memberOf`, if the person has it.
fn settings(keys: &[(&str, &str)]) -> LdapSettings {
    let keys = [&[("groups.attribute", "memberOf")], keys].concat();
    let variable = |(key, value): &(&str, &str)| {
        let name = format!("PAGURUS__ACCESS__LDAP__{}", key.to_uppercase().replace('.', "__"));
        (name, (*value).to_owned())
    };
    config::load(None, keys.iter().map(variable)).unwrap().ldap
}

fn is_refused(outcome: &Result<Person, LoginFailure>) -> bool {
    matches!(outcome, Err(LoginFailure::Refused(_)))
}

fn is_unavailable(outcome: &Result<Person, LoginFailure>) -> bool {
    matches!(outcome, Err(LoginFailure::Unavailable(_)))
}

/// An OpenLDAP server with people, and the file of the issuer of its certificate.
struct OpenLdap {
    server: OfTest<Slapd>,
    issuers: String,
    folder: Folder,
    _ports: Ports,
}

const PEOPLE: &str = "ou=people,dc=corp,dc=example";
const GROUPS: &str = "ou=groups,dc=corp,dc=example";
const SEARCHER: &str = "cn=search,dc=corp,dc=example";

impl OpenLdap {
    async fn start(memberof: bool) -> Self {
        let folder = Folder::new();
        let issuer = TestIssuer::new("the directory's").unwrap();
        let ports = Ports::reserve(slapd::PORTS, &Owner::this_process().unwrap()).unwrap();
        let shown = issuer.issue("localhost", NOW).unwrap();
        let server = Slapd::start(&folder.0.join("slapd"), ports.first(), &shown, memberof).await.unwrap();
        server.add(&entries()).unwrap();
        let issuers = folder.write("issuers.pem", &issuer.pem);
        Self { server: OfTest(server), issuers, folder, _ports: ports }
    }

    fn ldaps(&self) -> String {
        format!("ldaps://localhost:{}", self.server.tls_port())
    }

    fn ldap(&self) -> String {
        format!("ldap://localhost:{}", self.server.port())
    }

    /// A directory of these settings, beside those that all tests have.
    fn by(&self, keys: &[(&str, &str)]) -> LdapDirectory {
        let url = self.ldaps();
        let usual = [("url", url.as_str()), ("issuers", self.issuers.as_str()), ("timeout", "60s")];
        LdapDirectory::new(&settings(&[&usual, keys].concat()))
    }

    /// The same, with people found by the account that searches.
    fn by_search(&self, keys: &[(&str, &str)]) -> LdapDirectory {
        let search = [
            ("bind_name", SEARCHER),
            ("bind_password", PASSWORD),
            ("people.base", PEOPLE),
            ("people.filter", "(uid={name})"),
        ];
        self.by(&[&search, keys].concat())
    }
}

/// A unit, people and groups: `anna` in two groups of names and one of POSIX, `ben` in none, and names that have to be escaped.
fn entries() -> String {
    let unit = |name: &str| {
        format!("dn: ou={name},dc=corp,dc=example\nobjectClass: organizationalUnit\nou: {name}\n\n")
    };
    let person = |dn: &str, uid: &str| {
        format!(
            "dn: {dn}\nobjectClass: inetOrgPerson\nuid: {uid}\ncn: Person {uid}\nsn: X\nuserPassword: {PASSWORD}\n\n"
        )
    };
    let group = |name: &str, member: &str| {
        format!("dn: cn={name},{GROUPS}\nobjectClass: groupOfNames\ncn: {name}\nmember: {member}\n\n")
    };
    let (anna, comma) = (format!("uid=anna,{PEOPLE}"), format!(r"uid=smith\2C john (x)\2B,{PEOPLE}"));
    [
        "dn: dc=corp,dc=example\nobjectClass: dcObject\nobjectClass: organization\no: corp\ndc: corp\n\n"
            .to_owned(),
        ["people", "groups"].map(unit).concat(),
        format!("dn: ou=abroad,{PEOPLE}\nobjectClass: organizationalUnit\nou: abroad\n\n"),
        format!(
            "dn: {SEARCHER}\nobjectClass: organizationalRole\nobjectClass: simpleSecurityObject\ncn: search\n\
             userPassword: {PASSWORD}\n\n"
        ),
        person(&anna, "anna"),
        person(&format!("uid=ben,{PEOPLE}"), "ben"),
        person(&comma, "smith, john (x)+"),
        person(&format!("uid=twin,{PEOPLE}"), "twin"),
        person(&format!("uid=twin,ou=abroad,{PEOPLE}"), "twin"),
        group("operators", &anna),
        group("admins, all", &anna).replace("cn=admins, all", r"cn=admins\2C all"),
        group("strange", &comma),
        format!(
            "dn: cn=posix,{GROUPS}\nobjectClass: posixGroup\ncn: posix\ngidNumber: 7\nmemberUid: anna\n\n"
        ),
    ]
    .concat()
}
