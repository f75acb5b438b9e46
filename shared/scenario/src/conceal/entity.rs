//! Characters as HTML writes them: by number in either base, and by the names of ASCII and Latin-1.

/// Longest name that is looked for.
const LONGEST_NAME: usize = 8;
/// Most digits of a number: leading zeros are allowed, and nobody writes many.
const MOST_DIGITS: usize = 8;

/// Names of the characters from U+00A0 to U+00FF, in their order.
const LATIN_1: [&str; 96] = [
    "nbsp", "iexcl", "cent", "pound", "curren", "yen", "brvbar", "sect", "uml", "copy", "ordf", "laquo",
    "not", "shy", "reg", "macr", "deg", "plusmn", "sup2", "sup3", "acute", "micro", "para", "middot",
    "cedil", "sup1", "ordm", "raquo", "frac14", "frac12", "frac34", "iquest", "Agrave", "Aacute", "Acirc",
    "Atilde", "Auml", "Aring", "AElig", "Ccedil", "Egrave", "Eacute", "Ecirc", "Euml", "Igrave", "Iacute",
    "Icirc", "Iuml", "ETH", "Ntilde", "Ograve", "Oacute", "Ocirc", "Otilde", "Ouml", "times", "Oslash",
    "Ugrave", "Uacute", "Ucirc", "Uuml", "Yacute", "THORN", "szlig", "agrave", "aacute", "acirc", "atilde",
    "auml", "aring", "aelig", "ccedil", "egrave", "eacute", "ecirc", "euml", "igrave", "iacute", "icirc",
    "iuml", "eth", "ntilde", "ograve", "oacute", "ocirc", "otilde", "ouml", "divide", "oslash", "ugrave",
    "uacute", "ucirc", "uuml", "yacute", "thorn", "yuml",
];

/// Names of ASCII in HTML 5, and of a few marks of print.
const OTHERS: [(&str, char); 49] = [
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("Tab", '\t'),
    ("NewLine", '\n'),
    ("excl", '!'),
    ("num", '#'),
    ("dollar", '$'),
    ("percnt", '%'),
    ("lpar", '('),
    ("rpar", ')'),
    ("ast", '*'),
    ("plus", '+'),
    ("comma", ','),
    ("period", '.'),
    ("sol", '/'),
    ("colon", ':'),
    ("semi", ';'),
    ("equals", '='),
    ("quest", '?'),
    ("commat", '@'),
    ("lsqb", '['),
    ("lbrack", '['),
    ("bsol", '\\'),
    ("rsqb", ']'),
    ("rbrack", ']'),
    ("Hat", '^'),
    ("lowbar", '_'),
    ("UnderBar", '_'),
    ("grave", '`'),
    ("lcub", '{'),
    ("lbrace", '{'),
    ("verbar", '|'),
    ("vert", '|'),
    ("rcub", '}'),
    ("rbrace", '}'),
    ("euro", '€'),
    ("ndash", '–'),
    ("mdash", '—'),
    ("lsquo", '‘'),
    ("rsquo", '’'),
    ("sbquo", '‚'),
    ("ldquo", '“'),
    ("rdquo", '”'),
    ("bdquo", '„'),
    ("hellip", '…'),
    ("bull", '•'),
];

/// The character whose entity goes on here, behind its `&`, and where it ends.
pub(super) fn read(bytes: &[u8], at: usize) -> Option<(char, usize)> {
    if bytes.get(at) != Some(&b'#') {
        return named(bytes, at);
    }
    let (unit, end) = number(bytes, at + 1)?;
    if let Some(character) = char::from_u32(unit) {
        return Some((character, end));
    }
    // Writers that know UTF-16 alone make two of a character beyond the first 65 536.
    let rest = bytes.get(end..)?.strip_prefix(b"&#")?;
    let (second, end) = number(bytes, bytes.len() - rest.len())?;
    let units = [u16::try_from(unit).ok()?, u16::try_from(second).ok()?];
    let character = char::decode_utf16(units).next()?.ok()?;
    Some((character, end))
}

/// The name by which HTML writes a character, where it has one that is looked for.
#[cfg(test)]
pub(super) fn name_of(character: char) -> Option<&'static str> {
    let other = OTHERS.iter().find(|(_, known)| *known == character).map(|(name, _)| *name);
    let latin = || LATIN_1.get((character as usize).checked_sub(0xa0)?).copied();
    other.or_else(latin)
}

fn named(bytes: &[u8], at: usize) -> Option<(char, usize)> {
    let rest = bytes.get(at..)?;
    let length = rest.iter().take(LONGEST_NAME + 1).position(|byte| *byte == b';')?;
    let name = std::str::from_utf8(&rest[..length]).ok()?;
    let other = OTHERS.iter().find(|(known, _)| *known == name).map(|(_, character)| *character);
    let latin = || {
        let place = LATIN_1.iter().position(|known| *known == name)?;
        u8::try_from(0xa0 + place).ok().map(char::from)
    };
    Some((other.or_else(latin)?, at + length + 1))
}

/// The number that begins here, and where it ends, with the semicolon that may be missing.
fn number(bytes: &[u8], at: usize) -> Option<(u32, usize)> {
    let is_hex = matches!(bytes.get(at), Some(b'x' | b'X'));
    let (from, radix) = if is_hex { (at + 1, 16) } else { (at, 10) };
    let digits = bytes.get(from..)?.iter().take(MOST_DIGITS);
    let length = digits.take_while(|byte| char::from(**byte).is_digit(radix)).count();
    let text = std::str::from_utf8(&bytes[from..from + length]).ok()?;
    let value = u32::from_str_radix(text, radix).ok()?;
    let end = from + length;
    Some((value, if bytes.get(end) == Some(&b';') { end + 1 } else { end }))
}
