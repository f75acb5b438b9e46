//! Logins by OpenLDAP: both ways to the account of a person, both ways to their groups, and names that are no names.

use pagurus_access::canonical_dn;

use super::*;

const BY_NAME: &str = "uid={name},ou=people,dc=corp,dc=example";
const BY_MEMBER: [(&str, &str); 2] = [("groups.base", GROUPS), ("groups.filter", "(member={dn})")];
const BY_BOTH: [(&str, &str); 2] =
    [("groups.base", GROUPS), ("groups.filter", "(|(member={dn})(memberUid={name}))")];

/// The groups in one form and order.
fn groups(person: &Person) -> Vec<String> {
    let mut groups: Vec<String> = person.groups.iter().map(|group| canonical_dn(group)).collect();
    groups.sort();
    groups
}

fn named(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| canonical_dn(&format!("cn={name},{GROUPS}"))).collect()
}

#[tokio::test]
async fn ui_1_a_person_logs_in_with_groups_by_filter() {
    let directory = OpenLdap::start(false).await;
    for by in
        [directory.by(&[&[("bind_template", BY_NAME)], &BY_BOTH[..]].concat()), directory.by_search(&BY_BOTH)]
    {
        let anna = by.login("anna", PASSWORD).await.unwrap();
        assert_eq!((anna.subject.as_str(), anna.name.as_str()), (&*format!("uid=anna,{PEOPLE}"), "anna"));
        assert_eq!(groups(&anna), named(&[r"admins\2C all", "operators", "posix"]));
        assert_eq!(by.login("ben", PASSWORD).await.unwrap().groups, [""; 0]);
        // Each character that means something in a filter or a name stands for itself.
        let smith = by.login("smith, john (x)+", PASSWORD).await.unwrap();
        assert_eq!(groups(&smith), named(&["strange"]));
    }
    let shown = directory.by_search(&[("people.name_attribute", "cn")]);
    assert_eq!(shown.login(" ANNA ", PASSWORD).await.unwrap().name, "Person anna");
}

#[tokio::test]
async fn ui_1_a_person_logs_in_with_groups_by_attribute_and_each_counts_once() {
    let directory = OpenLdap::start(true).await;
    let template = ("bind_template", BY_NAME);
    let both = [&[template], &BY_BOTH[..]].concat();
    for (by, expected) in [
        (directory.by(&[template]), named(&[r"admins\2C all", "operators"])),
        (directory.by_search(&[]), named(&[r"admins\2C all", "operators"])),
        (directory.by(&both), named(&[r"admins\2C all", "operators", "posix"])),
        (directory.by_search(&BY_BOTH), named(&[r"admins\2C all", "operators", "posix"])),
    ] {
        assert_eq!(groups(&by.login("anna", PASSWORD).await.unwrap()), expected);
        assert_eq!(groups(&by.login("smith, john (x)+", PASSWORD).await.unwrap()), named(&["strange"]));
    }
}

#[tokio::test]
async fn qlt_9_only_the_right_password_of_exactly_one_person_logs_in() {
    let directory = OpenLdap::start(false).await;
    // The danger is there: this directory takes a name without a password for nobody in particular, and agrees.
    assert_eq!(directory.server.who_is(&format!("uid=anna,{PEOPLE}"), "").unwrap(), "anonymous");
    let by_name = directory.by(&[&[("bind_template", BY_NAME)], &BY_MEMBER[..]].concat());
    for by in [by_name, directory.by_search(&BY_MEMBER)] {
        assert!(by.login("anna", PASSWORD).await.is_ok());
        for password in ["", " ", "\0", "wrong", "Right*(passw0rd) ", "right*(passw0rd)"] {
            assert!(is_refused(&by.login("anna", password).await), "{password:?}");
        }
        for name in [
            "",
            " ",
            "nobody",
            "*",
            "a*",
            "anna)(uid=*",
            ")(uid=*",
            "*)(uid=*))(|(uid=*",
            "anna,ou=people",
            "an\0na",
        ] {
            assert!(is_refused(&by.login(name, PASSWORD).await), "{name:?}");
        }
    }
    let twin = directory.by_search(&[]).login("twin", PASSWORD).await;
    assert_eq!(twin, Err(LoginFailure::Refused("several entries match the name".to_owned())));
    assert!(directory.by(&[("bind_template", BY_NAME)]).login("twin", PASSWORD).await.is_ok());
}

/// A name of the bind and a filter that do not go together: the password of one person must not open the account of another.
#[tokio::test]
async fn qlt_9_the_password_is_that_of_the_entry_that_is_found() {
    let directory = OpenLdap::start(false).await;
    let other = format!(
        "dn: uid=na,{PEOPLE}\nobjectClass: inetOrgPerson\nuid: na\ncn: na\nsn: X\nuserPassword: of-na\n\n"
    );
    directory.server.add(&other).unwrap();
    let mixed = directory.by(&[
        ("bind_template", BY_NAME),
        ("people.base", PEOPLE),
        ("people.filter", "(uid=an{name})"),
    ]);
    assert!(is_refused(&mixed.login("na", "of-na").await));
    let shared = directory.by(&[
        ("bind_template", "cn={name},ou=people,dc=corp,dc=example"),
        ("people.base", PEOPLE),
        ("people.filter", "(uid={name})"),
    ]);
    assert!(is_refused(&shared.login("anna", PASSWORD).await), "no entry has this name");
}

#[tokio::test]
async fn ui_1_a_person_is_looked_up_step_by_step() {
    let directory = OpenLdap::start(true).await;
    let found = directory.by_search(&BY_BOTH).look_up("anna").await;
    assert_eq!(groups(&found.outcome.unwrap()), named(&[r"admins\2C all", "operators", "posix"]));
    let steps: Vec<&str> = found.steps.iter().map(|(step, _)| step.as_str()).collect();
    assert_eq!(
        steps,
        [
            "connect",
            "account",
            "entry",
            "groups by the attribute `memberOf`",
            "groups by the filter `(|(member={dn})(memberUid={name}))`",
        ]
    );
    assert_eq!(found.steps[2].1, format!("uid=anna,{PEOPLE}"));
    assert!(found.steps[4].1.contains("cn=posix"), "{:?}", found.steps);

    let last = async |by: LdapDirectory, name: &str| {
        let explained = by.look_up(name).await;
        assert!(explained.outcome.is_err());
        explained.steps.last().cloned().unwrap()
    };
    let step = |step: &str, result: &str| (step.to_owned(), result.to_owned());
    assert_eq!(last(directory.by_search(&[]), "nobody").await, step("entry", "no entry matches the name"));
    assert_eq!(last(directory.by_search(&[]), "twin").await, step("entry", "several entries match the name"));
    assert_eq!(last(directory.by_search(&[]), " ").await, step("name", "the name is empty"));
    let wrong = last(directory.by_search(&[("bind_password", "wrong")]), "anna").await;
    assert!(wrong.0 == "account" && wrong.1.contains("wrong name or password"), "{wrong:?}");
    let template = last(directory.by(&[("bind_template", BY_NAME)]), "anna").await;
    assert!(template.0 == "account" && template.1.contains("only while they log in"), "{template:?}");
}

#[tokio::test]
async fn qlt_9_references_are_skipped_and_a_referral_is_a_failure() {
    let directory = OpenLdap::start(false).await;
    let abroad = format!(
        "dn: ou=elsewhere,{PEOPLE}\nobjectClass: referral\nobjectClass: extensibleObject\nou: elsewhere\n\
         ref: ldap://127.0.0.1:1/ou=elsewhere,{PEOPLE}\n\n"
    );
    directory.server.add(&abroad).unwrap();
    assert!(directory.by_search(&[]).login("anna", PASSWORD).await.is_ok());
    let elsewhere = format!("ou=elsewhere,{PEOPLE}");
    for by in [
        directory.by_search(&[("people.base", "dc=other")]),
        directory.by_search(&[("people.base", &elsewhere)]),
        directory.by_search(&[("groups.base", "dc=other"), ("groups.filter", "(member={dn})")]),
    ] {
        let failure = by.login("anna", PASSWORD).await.unwrap_err();
        let LoginFailure::Unavailable(text) = failure else { panic!("{failure}") };
        assert!(text.contains("it refers to another directory"), "{text}");
    }
}
