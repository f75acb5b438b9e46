//! How names of a document become keys of a value, the same in both directions:
//!
//! - an attribute is `@name`, the text of an element that has attributes or children `#text`;
//! - a name whose namespace the action declares has the prefix of the action, whatever prefix the document has; any other
//!   name is its local one.

use quick_xml::escape::unescape;

use super::version::SoapVersion;

/// Key of the text of an element that has more than text.
pub(crate) const TEXT: &str = "#text";
/// Sign in front of the name of an attribute.
pub(super) const ATTRIBUTE: char = '@';

/// Namespace of `xsi:nil`.
pub(super) const XSI: &str = "http://www.w3.org/2001/XMLSchema-instance";
/// Namespace of `xml:lang`, bound to `xml` in every document.
pub(super) const XML: &str = "http://www.w3.org/XML/1998/namespace";

/// Most namespaces that an action may declare.
pub(crate) const MOST_NAMESPACES: usize = 32;
/// Longest prefix that an action may declare, in bytes: it stands in front of every name that is read.
pub(crate) const LONGEST_PREFIX: usize = 32;

/// Namespaces by the prefixes that an action declares for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Namespaces(Vec<(String, String)>);

impl Namespaces {
    /// Declares a prefix; a second one for the same namespace is for writing alone.
    pub fn add(&mut self, prefix: String, uri: String) {
        self.0.push((prefix, uri));
    }

    /// True if none is declared.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Prefixes with their namespaces, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(prefix, uri)| (prefix.as_str(), uri.as_str()))
    }

    /// The prefix that is declared for a namespace as a document spells it: the library does not resolve what is escaped there.
    pub(super) fn prefix_of(&self, uri: &str) -> Option<&str> {
        let spelled = if uri.contains('&') { unescape(uri).ok() } else { None };
        let uri = spelled.as_deref().unwrap_or(uri);
        self.iter().find(|(_, known)| *known == uri).map(|(prefix, _)| prefix)
    }

    /// The key of an element.
    pub(super) fn key(&self, namespace: Option<&str>, local: &str) -> String {
        match namespace.and_then(|uri| self.prefix_of(uri)) {
            Some(prefix) => format!("{prefix}:{local}"),
            None => local.to_owned(),
        }
    }

    /// The key of an attribute; `None` for one that says something to parsers alone, unless a prefix is declared for it.
    pub(super) fn attribute(&self, namespace: Option<&str>, local: &str) -> Option<String> {
        let prefix = namespace.and_then(|uri| self.prefix_of(uri));
        match (prefix, namespace) {
            (Some(prefix), _) => Some(format!("{ATTRIBUTE}{prefix}:{local}")),
            (None, Some(XML)) => Some(format!("{ATTRIBUTE}xml:{local}")),
            (None, Some(uri)) if uri == XSI || SoapVersion::of_namespace(uri).is_some() => None,
            (None, _) => Some(format!("{ATTRIBUTE}{local}")),
        }
    }
}

/// The name behind a prefix: a key in which an attribute keeps its sign.
pub(crate) fn without_prefix(key: &str) -> &str {
    key.rsplit_once(':').map_or(key, |(_, local)| local)
}

/// True if a part of a path and a key mean the same element or attribute, whatever prefixes they have.
pub(crate) fn is_same_name(part: &str, key: &str) -> bool {
    part.starts_with(ATTRIBUTE) == key.starts_with(ATTRIBUTE)
        && without_prefix(part).trim_start_matches(ATTRIBUTE)
            == without_prefix(key).trim_start_matches(ATTRIBUTE)
}
