//! Identities: which requests a sender may make.

use pagurus_domain::access::LoginMethod;

use super::*;

fn known(role: AccessRole) -> Sender {
    Sender::Known(Identity::unlimited("a".into(), role, LoginMethod::Token), None)
}

fn status(needs: Needs, entrance: Entrance, sender: &Sender, callbacks: CallbackProof) -> u16 {
    judge(needs, false, entrance, sender, callbacks).map_or_else(|problem| problem.status, |()| 200)
}

#[test]
fn ui_1_who_is_not_known_is_asked_and_who_may_not_is_refused() {
    let over = Sender::Refused(Problem::new(Type::Unauthenticated, "over"));
    for needed in AccessRole::ALL {
        let needs = Needs::Role(*needed);
        let asked = |sender: &Sender| status(needs, Entrance::All, sender, CallbackProof::Token);
        assert_eq!(asked(&Sender::Unknown), 401);
        assert_eq!(asked(&over), 401);
        for role in AccessRole::ALL {
            let expected = if role.admits_to(*needed, false) { 200 } else { 403 };
            assert_eq!(asked(&known(*role)), expected, "{role} for {needed}");
        }
    }
    assert_eq!(status(Needs::Nothing, Entrance::All, &over, CallbackProof::Token), 200);
}

#[test]
fn ui_1_the_address_of_a_request_is_the_right_to_answer_it_and_nothing_else() {
    let by_address = |needs| status(needs, Entrance::All, &Sender::Unknown, CallbackProof::Address);
    assert_eq!(by_address(Needs::Role(AccessRole::System)), 200);
    assert_eq!(by_address(Needs::Role(AccessRole::Client)), 401);
}

#[test]
fn ui_1_the_entrance_of_systems_leads_to_answers_alone_whatever_the_role() {
    let admin = known(AccessRole::Admin);
    for (entrance, its_own) in
        [(Entrance::Clients, AccessRole::Client), (Entrance::Systems, AccessRole::System)]
    {
        for needed in AccessRole::ALL {
            let expected = if *needed == its_own { 200 } else { 404 };
            let found = status(Needs::Role(*needed), entrance, &admin, CallbackProof::Token);
            assert_eq!(found, expected, "{needed}");
        }
        assert_eq!(status(Needs::Nothing, entrance, &admin, CallbackProof::Token), 404);
    }
}

#[test]
fn ui_1_credentials_are_read_from_their_headers() {
    let token = ProgramToken::of([3; 35]);
    let read = |text: &str| token_of(&HeaderValue::from_str(text).unwrap());
    assert_eq!(read(&format!("Bearer {}", token.reveal())), Some(token.clone()));
    assert_eq!(read(&format!("bearer  {}", token.reveal())), Some(token.clone()));
    for other in ["Bearer", "Basic YTpi", "Bearer pgr_", token.reveal(), ""] {
        assert_eq!(read(other), None, "{other}");
    }
    let secret = "0a".repeat(32);
    let session = |cookie: &str| {
        let headers = HeaderMap::from_iter([(header::COOKIE, HeaderValue::from_str(cookie).unwrap())]);
        session_of(&headers).map(|secret| secret.reveal().to_owned())
    };
    assert_eq!(session(&format!("a=b; {COOKIE}={secret}; c")), Some(secret.clone()));
    for other in ["", "a=b", &format!("pagurus={secret}"), &format!("{COOKIE}={secret}0")] {
        assert_eq!(session(other), None, "{other}");
    }
}

#[test]
fn ui_1_a_change_in_a_session_needs_the_text_that_only_our_pages_can_read() {
    let secret = SessionSecret::read(&"0b".repeat(32)).unwrap();
    let with = |value: &str| {
        has_csrf_token(
            &HeaderMap::from_iter([(CSRF.parse().unwrap(), HeaderValue::from_str(value).unwrap())]),
            &secret,
        )
    };
    assert!(with(&csrf_token(&secret)));
    assert!(!with("") && !with(secret.reveal()));
    assert!(!has_csrf_token(&HeaderMap::new(), &secret));
}
