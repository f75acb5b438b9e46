//! Logins by a domain controller: names of Active Directory, nested groups, and references that it gives at its root.

use pagurus_access::is_same_dn;
use pagurus_harness::samba::{self, Samba};

use super::*;

#[tokio::test]
async fn ui_1_a_person_of_a_domain_logs_in_with_nested_groups() {
    let folder = Folder::new();
    let mut domain = OfTest(Samba::provision(&folder.0.join("samba")).unwrap());
    domain.tool(&["user", "add", "anna", PASSWORD]).unwrap();
    domain.tool(&["user", "add", "search", PASSWORD]).unwrap();
    for group in ["inner", "outer", "other"] {
        domain.tool(&["group", "add", group]).unwrap();
    }
    domain.tool(&["group", "addmembers", "inner", "anna"]).unwrap();
    domain.tool(&["group", "addmembers", "outer", "inner"]).unwrap();
    let issuer = TestIssuer::new("the domain's").unwrap();
    let address = domain.address().to_string();
    domain.0.start(&issuer.issue(&address, NOW).unwrap()).await.unwrap();

    let issuers = folder.write("issuers.pem", &issuer.pem);
    let searcher = format!("search@{}", samba::REALM);
    let template = format!("{{name}}@{}", samba::REALM);
    let nested = ("groups.filter", "(member:1.2.840.113556.1.4.1941:={dn})");
    let place = [("people.base", samba::SUFFIX), ("people.filter", "(sAMAccountName={name})")];
    let by_name = [&place[..], &[("bind_template", template.as_str())]].concat();
    let by_search = [&place[..], &[("bind_name", searcher.as_str()), ("bind_password", PASSWORD)]].concat();
    let in_group = |person: &Person, group: &str| {
        let dn = format!("cn={group},cn=users,{}", samba::SUFFIX);
        person.groups.iter().any(|one| is_same_dn(one, &dn))
    };
    for scheme in ["ldap", "ldaps"] {
        let url = format!("{scheme}://{address}");
        let usual = [("url", url.as_str()), ("issuers", issuers.as_str()), ("timeout", "60s")];
        for way in [&by_name, &by_search] {
            let direct = LdapDirectory::new(&settings(&[&usual[..], way].concat()));
            let anna = direct.login("anna", PASSWORD).await.unwrap();
            assert!(is_same_dn(&anna.subject, &format!("cn=anna,cn=users,{}", samba::SUFFIX)));
            assert!(in_group(&anna, "inner") && !in_group(&anna, "outer"), "{:?}", anna.groups);

            // The search at the root gives references to other parts of the domain.
            let all = [&usual[..], way, &[("groups.base", samba::SUFFIX), nested]].concat();
            let all = LdapDirectory::new(&settings(&all));
            let anna = all.login("Anna", PASSWORD).await.unwrap();
            assert!(in_group(&anna, "inner") && in_group(&anna, "outer"), "{:?}", anna.groups);
            assert!(!in_group(&anna, "other"));
            assert!(is_refused(&all.login("anna", "wrong").await));
            assert!(is_refused(&all.login("nobody", PASSWORD).await));
            assert!(is_refused(&all.login("ann*", PASSWORD).await));
        }
    }
    let url = format!("ldap://{address}");
    let plain = [("url", url.as_str()), ("start_tls", "false"), ("timeout", "60s")];
    let plain = LdapDirectory::new(&settings(&[&plain[..], &by_name].concat())).login("anna", PASSWORD).await;
    assert!(plain.unwrap_err().to_string().contains("it requires TLS"));
}
