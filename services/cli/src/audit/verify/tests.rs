//! Verification of pages as a server hands them over, also of one that lies.
#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use pagurus_wire::audit::chain::{AuditLinkView, AuditedEntry, ChainPointView};

use super::*;

/// Pages of a chain with entries 1 to 5, two links each.
fn pages() -> Vec<AuditChainView> {
    let mut head = ChainHead::default();
    let link = |no: i64| {
        let entry = AuditedEntry {
            transaction: 100 + no,
            at: format!("2026-01-02T10:00:0{no}.000000Z"),
            action: "stop".into(),
            kind: "flow".into(),
            subject: "tariff".into(),
            door: "http".into(),
            name: None,
            origin: None,
            reason: Some("works".into()),
            detail: "{}".into(),
        };
        let link = head.next(0, &entry.chained(no));
        head = link.into();
        AuditLinkView::of(&link, Some(entry))
    };
    let links: Vec<AuditLinkView> = (1..=5).map(link).collect();
    let anchor = ChainPointView::from(ChainHead::default());
    let pages = links.chunks(2).map(|links| AuditChainView {
        anchor: anchor.clone(),
        forgotten: 0,
        forgotten_at: None,
        links: links.to_vec(),
        put_in: Vec::new(),
        head: head.into(),
        unsealed: 1,
        unsealed_seconds: Some(0.5),
        next: Some(links[links.len() - 1].position).filter(|position| *position < 5),
    });
    pages.collect()
}

fn verify(pages: &[AuditChainView], noted: Option<NotedHead>) -> Result<ChainHead, ChainFault> {
    let mut state = Verification::begin(&pages[0], noted).unwrap();
    for page in pages {
        match state.take(page) {
            Ok(Some(_)) => {}
            Ok(None) => return Ok(state.head),
            Err(VerificationEnd::Fault(fault)) => return Err(fault),
            Err(VerificationEnd::Strange(what)) => panic!("{what}"),
            Err(VerificationEnd::Removed) => panic!("removed"),
        }
    }
    panic!("no last page")
}

fn noted(page: usize, link: usize, with_position: bool) -> NotedHead {
    let link = &pages()[page].links[link];
    NotedHead { position: with_position.then_some(link.position), hash: link.hash.parse().unwrap() }
}

#[test]
fn qlt_15_pages_of_a_whole_chain_hold() {
    assert_eq!(verify(&pages(), None).unwrap().position, 5);
    for with_position in [false, true] {
        assert!(verify(&pages(), Some(noted(1, 0, with_position))).is_ok());
        assert!(verify(&pages(), Some(noted(2, 0, with_position))).is_ok());
    }
}

#[test]
fn qlt_15_a_change_of_an_entry_is_found_whatever_the_server_says_of_its_hashes() {
    let mut changed = pages();
    changed[1].links[1].entry.as_mut().unwrap().detail = "{\"x\":1}".into();
    assert_eq!(verify(&changed, None), Err(ChainFault::Changed { no: 4, position: 4 }));
    changed[1].links[1].entry = None;
    assert_eq!(verify(&changed, None), Err(ChainFault::Removed { no: 4, position: 4 }));
    let mut put_in = pages();
    put_in[1].put_in = vec![9];
    assert_eq!(verify(&put_in, None), Err(ChainFault::PutIn { no: 9 }));
}

#[test]
fn qlt_15_an_end_that_was_cut_off_is_found_by_a_head_that_was_noted_elsewhere() {
    let mut cut = pages();
    cut.truncate(2);
    cut[1].next = None;
    assert_eq!(verify(&cut, None), Err(ChainFault::LinksMissing { from: 5, until: 5 }), "a careless hand");
    cut[1].head.position = 4;
    assert_eq!(verify(&cut, None).unwrap().position, 4, "nothing inside shows it");
    for with_position in [false, true] {
        assert_eq!(verify(&cut, Some(noted(2, 0, with_position))), Err(ChainFault::HeadMissing));
    }
    let other = NotedHead { hash: ChainHash([7; 32]), ..noted(1, 0, true) };
    assert_eq!(verify(&pages(), Some(other)), Err(ChainFault::HeadChanged { position: 3 }));
}

#[test]
fn qlt_15_what_retention_removed_is_no_fault_and_what_another_hand_removed_before_it_is() {
    let all = pages();
    let last = &all[0].links[1];
    let anchor = ChainPointView {
        position: 2,
        series: 0,
        transaction: last.transaction,
        no: last.no,
        hash: last.hash.clone(),
    };
    let forget = |forgotten| {
        let mut rest = all[1..].to_vec();
        rest.iter_mut().for_each(|page| (page.anchor, page.forgotten) = (anchor.clone(), forgotten));
        rest
    };
    assert_eq!(verify(&forget(2), None).unwrap().position, 5);
    assert_eq!(verify(&forget(1), None), Err(ChainFault::MissingBefore { missing: 1 }));
    assert!(verify(&forget(2), Some(noted(0, 1, true))).is_ok(), "the anchor itself");
    assert_eq!(verify(&forget(2), Some(noted(0, 0, true))), Err(ChainFault::HeadForgotten { position: 1 }));
}

#[test]
fn qlt_15_a_noted_head_is_read_as_the_log_has_it() {
    let hash = ChainHash([1; 32]);
    let read = |text: &str| text.parse::<NotedHead>();
    assert_eq!(read(&format!("12:{hash}")), Ok(NotedHead { position: Some(12), hash }));
    assert_eq!(read(&hash.to_string()), Ok(NotedHead { position: None, hash }));
    assert!(read("12:").is_err() && read("x:00").is_err() && read("00").is_err());
}
