//! Texts that nobody wrote for us, and those that somebody wrote against us.

use pagurus_domain::depth::{MAX_DEPTH, is_within};

use super::*;

#[test]
fn scn_20_what_could_grow_or_refer_elsewhere_is_refused() {
    let laughs =
        "<!DOCTYPE l [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;&a;'><!ENTITY c '&b;&b;&b;&b;'>]><l>&c;</l>";
    for text in [
        laughs,
        "<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>",
        "<!DOCTYPE a [<!ENTITY x SYSTEM 'http://h/x'>]><a>&x;</a>",
        "<!DOCTYPE a [<!ENTITY % p SYSTEM 'http://h/x'> %p;]><a/>",
        "<a>&x;</a>",
        "<a b='&x;'/>",
        "<a>&nbsp;</a>",
        "<a>&#0;</a>",
        "<a>&#x1F;</a>",
        "<a b='&#1;'/>",
        "<a>&#xD800;</a>",
        "<a>\u{0}</a>",
        "<a>\u{FFFF}</a>",
        "",
        " ",
        "text",
        "<a>",
        "<a></b>",
        "</a>",
        "<a/><b/>",
        "<a/>text",
        "text<a/>",
        "< a/>",
        "<a b/>",
        "<a b=c/>",
        "<a><![CDATA[x</a>",
        "<a>&</a>",
        "<a>&amp</a>",
        "<xmlns:a/ >",
    ] {
        assert!(read(text, &Namespaces::default()).is_err(), "{text}");
    }
}

#[test]
fn scn_20_depth_and_size_are_bounded() {
    let nested = |levels: usize| format!("{}{}", "<a>".repeat(levels), "</a>".repeat(levels));
    assert!(read(&nested(MAX_DEPTH), &Namespaces::default()).is_ok());
    assert!(read(&nested(MAX_DEPTH + 1), &Namespaces::default()).is_err());
    assert!(read(&"<a>".repeat(1_000_000), &Namespaces::default()).is_err());
    // Each level is a list, too.
    let lists = format!("{}{}", "<a><b/><b>".repeat(40), "</b></a>".repeat(40));
    assert!(read(&lists, &Namespaces::default()).is_err());
    let attributes: String = (0..2000).map(|n| format!(" a{n}=''")).collect();
    assert!(read(&format!("<a{attributes}/>"), &Namespaces::default()).is_err());
    let declarations: String = (0..2000).map(|n| format!(" xmlns:a{n}='u'")).collect();
    assert!(read(&format!("<a{declarations}/>"), &Namespaces::default()).is_err());
    // A long list takes time in proportion.
    let many = format!("<a>{}</a>", "<b/>".repeat(100_000));
    let read = read(&many, &Namespaces::default()).unwrap();
    assert_eq!(read["a"]["b"].as_array().map(Vec::len), Some(100_000));
}

proptest! {
    #[test]
    fn scn_20_no_text_makes_the_reader_panic_or_exceed_its_bounds(
        text in "(<|>|/|!|\\?|\\[|\\]|&|;|#|'|\"|=|a|b:|xmlns|CDATA|DOCTYPE| |\n|\u{1}|\u{FEFF}|ä){0,60}"
    ) {
        if let Ok(value) = read(&text, &Namespaces::default()) {
            prop_assert!(is_within(&value, MAX_DEPTH));
        }
        let _ = read_answer(&text, &Namespaces::default());
        let _ = fault_of(&text);
    }

    #[test]
    fn scn_20_no_bytes_make_the_decoder_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), kind in "text/xml(; charset=(utf-16|windows-1251|shift_jis|x))?") {
        let text = decode(bytes, Some(&kind));
        let _ = read(&text, &Namespaces::default());
    }
}
