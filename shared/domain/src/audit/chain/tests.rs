//! The chain as properties: whatever is done to one entry or link is found, and named.
#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use proptest::prelude::*;

use super::*;

/// An entry that owns its texts.
#[derive(Clone, Debug, PartialEq)]
struct Owned {
    numbers: [i64; 3],
    texts: [String; 5],
    optional: [Option<String>; 3],
}

impl Owned {
    fn entry(&self) -> ChainEntry<'_> {
        let [no, transaction, at] = self.numbers;
        let [action, kind, subject, door, detail] = self.texts.each_ref().map(String::as_str);
        let [name, origin, reason] = self.optional.each_ref().map(Option::as_deref);
        ChainEntry { no, transaction, at, action, kind, subject, door, name, origin, reason, detail }
    }
}

/// A chain as the database holds it: links, and the entries with their numbers.
#[derive(Clone, Debug)]
struct Stored {
    links: Vec<ChainLink>,
    entries: Vec<Owned>,
}

impl Stored {
    fn of(entries: Vec<Owned>) -> Self {
        let mut head = ChainHead::default();
        let seal = |entry: &Owned| {
            let link = head.next(0, &entry.entry());
            head = link.into();
            link
        };
        let links = entries.iter().map(seal).collect();
        Self { links, entries }
    }

    /// Follows the whole chain.
    fn verify(&self) -> Result<ChainHead, ChainFault> {
        let mut head = ChainHead::default();
        for link in &self.links {
            let entry = self.entries.iter().find(|entry| entry.numbers[0] == link.order.no);
            head.follow(link, entry.map(Owned::entry).as_ref())?;
        }
        Ok(head)
    }
}

prop_compose! {
    fn texts()(texts in prop::array::uniform5("[a-c]{0,3}"), optional in prop::array::uniform3(prop::option::of("[a-c]{0,2}")))
        -> ([String; 5], [Option<String>; 3]) { (texts, optional) }
}

prop_compose! {
    /// Entries in the order of their transactions, whose numbers are in another order.
    fn entries(least: usize)(rows in prop::collection::vec((texts(), 0_i64..3, -5_i64..5), least..12)) -> Vec<Owned> {
        let mut transaction = 0;
        let count = rows.len() as i64;
        let own = |(place, ((texts, optional), step, at)): (usize, (_, i64, i64))| {
            let place = place as i64;
            transaction += step;
            // Within a transaction numbers ascend; between transactions they need not.
            Owned { numbers: [place + 1 + if transaction % 2 == 0 { count } else { 0 }, transaction, at], texts, optional }
        };
        rows.into_iter().enumerate().map(own).collect()
    }
}

/// Changes one column.
fn change(entry: &mut Owned, column: usize) {
    match column {
        0 => entry.numbers[2] += 1,
        1..=5 => entry.texts[column - 1].push('x'),
        column => {
            let text = &mut entry.optional[column - 6];
            *text = if text.is_some() { None } else { Some(String::new()) };
        }
    }
}

proptest! {
    #[test]
    fn qlt_15_a_chain_that_nobody_touched_holds(entries in entries(0)) {
        let stored = Stored::of(entries);
        let head = stored.verify();
        prop_assert_eq!(head.map(|head| head.position), Ok(stored.links.len() as i64));
    }

    #[test]
    fn qlt_15_a_change_of_any_column_of_any_entry_is_found_and_named(
        entries in entries(1), place in any::<prop::sample::Index>(), column in 0_usize..9,
    ) {
        let mut stored = Stored::of(entries);
        let place = place.index(stored.entries.len());
        change(&mut stored.entries[place], column);
        let (no, position) = (stored.entries[place].numbers[0], place as i64 + 1);
        prop_assert_eq!(stored.verify(), Err(ChainFault::Changed { no, position }));
    }

    #[test]
    fn qlt_15_an_entry_that_is_removed_is_found_and_named(
        entries in entries(1), place in any::<prop::sample::Index>(),
    ) {
        let mut stored = Stored::of(entries);
        let gone = stored.entries.remove(place.index(stored.entries.len()));
        let position = stored.links.iter().find(|link| link.order.no == gone.numbers[0]).unwrap().position;
        prop_assert_eq!(stored.verify(), Err(ChainFault::Removed { no: gone.numbers[0], position }));
    }

    #[test]
    fn qlt_15_links_that_are_removed_in_the_middle_are_found_and_named(
        entries in entries(2), place in any::<prop::sample::Index>(),
    ) {
        let mut stored = Stored::of(entries);
        let place = place.index(stored.links.len() - 1);
        stored.links.remove(place);
        let position = place as i64 + 1;
        prop_assert_eq!(stored.verify(), Err(ChainFault::LinksMissing { from: position, until: position }));
    }

    #[test]
    fn qlt_15_two_entries_that_change_places_are_found_at_the_first(
        entries in entries(2), places in any::<(prop::sample::Index, prop::sample::Index)>(),
    ) {
        let mut stored = Stored::of(entries);
        let (one, other) = (places.0.index(stored.entries.len()), places.1.index(stored.entries.len()));
        prop_assume!(one != other);
        let (first, second) = (stored.entries[one].clone(), stored.entries[other].clone());
        prop_assume!(first.texts != second.texts);
        // They keep their numbers and have each other's texts.
        stored.entries[one].texts = second.texts;
        stored.entries[other].texts = first.texts.clone();
        let place = one.min(other);
        let (no, position) = (stored.entries[place].numbers[0], place as i64 + 1);
        prop_assert_eq!(stored.verify(), Err(ChainFault::Changed { no, position }));
        // The same with their links, whose positions stay.
        let mut stored = Stored::of(vec![first, Owned { numbers: [1000, 1000, 0], ..stored.entries[one].clone() }]);
        let orders = [stored.links[0].order, stored.links[1].order];
        (stored.links[0].order, stored.links[1].order) = (orders[1], orders[0]);
        prop_assert!(stored.verify().is_err());
    }

    #[test]
    fn qlt_15_an_entry_that_is_put_in_with_a_link_is_found(
        entries in entries(1), place in any::<prop::sample::Index>(), texts in texts(),
    ) {
        let mut stored = Stored::of(entries);
        let place = place.index(stored.links.len());
        let before = place.checked_sub(1).map_or(ChainHead::default(), |before| stored.links[before].into());
        let like = stored.entries[place].numbers;
        let new = Owned { numbers: [5000, like[1], like[2]], texts: texts.0, optional: texts.1 };
        // The hand that puts it in makes a link that fits the one before, and moves the others.
        let link = before.next(0, &new.entry());
        stored.links[place..].iter_mut().for_each(|link| link.position += 1);
        stored.links.insert(place, link);
        stored.entries.push(new);
        let position = place as i64 + 2;
        let found = matches!(stored.verify(),
            Err(ChainFault::Changed { position: at, .. } | ChainFault::Moved { position: at, .. }) if at == position);
        prop_assert!(found, "{:?} at {}", stored.verify(), position);
    }
}

#[test]
fn qlt_15_the_encoding_is_the_one_that_is_documented() {
    let entry = ChainEntry {
        no: 7,
        transaction: 900,
        at: 1_700_000_000_000_001,
        action: "stop",
        kind: "flow",
        subject: "tariff",
        door: "http",
        name: Some("ann"),
        origin: None,
        reason: Some(""),
        detail: "{}",
    };
    let mut bytes = b"pagurus audit 1\n".to_vec();
    bytes.extend([0_u8; 32]);
    for number in [1_i64, 0, 900, 7, 1_700_000_000_000_001] {
        bytes.extend(number.to_be_bytes());
    }
    for text in
        [Some("stop"), Some("flow"), Some("tariff"), Some("http"), Some("ann"), None, Some(""), Some("{}")]
    {
        bytes.push(u8::from(text.is_some()));
        if let Some(text) = text {
            bytes.extend((text.len() as u64).to_be_bytes());
            bytes.extend(text.as_bytes());
        }
    }
    let expected: [u8; 32] = Sha256::digest(&bytes).into();
    assert_eq!(entry.hash(ChainHash::BEFORE_ALL, 1, 0), ChainHash(expected));
}

#[test]
fn qlt_15_a_hash_is_read_as_it_is_written() {
    let hash = ChainHash(std::array::from_fn(|place| place as u8 * 7));
    assert_eq!(hash.to_string().parse(), Ok(hash));
    for text in ["", "00", &"g".repeat(64), &"é".repeat(32), &hash.to_string()[1..]] {
        assert_eq!(text.parse::<ChainHash>(), Err(NoHash), "{text}");
    }
}
