//! Reads a document into a value in one pass, without a tree of its own.

use pagurus_domain::depth::{MAX_DEPTH, is_within};
use quick_xml::XmlVersion;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::name::{Namespace, NamespaceResolver, QName, ResolveResult};
use quick_xml::reader::NsReader;
use serde_json::{Map, Value};

use super::characters::{is_legal, is_space};
use super::mapping::{Namespaces, TEXT, XSI};

/// Most attributes of one element.
const MOST_ATTRIBUTES: usize = 1000;

/// A text that is no document that can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoXml(String);

impl NoXml {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl<E> From<E> for NoXml
where
    quick_xml::Error: From<E>,
{
    fn from(error: E) -> Self {
        Self(quick_xml::Error::from(error).to_string())
    }
}

/// True for a content type of XML: `text/xml`, `application/xml`, and what ends in `+xml`.
#[must_use]
pub fn is_xml_type(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    matches!(kind.as_str(), "text/xml" | "application/xml") || kind.ends_with("+xml")
}

/// Reads a document: a map with its one element.
///
/// # Errors
/// A text that is not well-formed, has a document type, an entity, or more levels than a value may have.
pub fn read(text: &str, namespaces: &Namespaces) -> Result<Value, NoXml> {
    let mut ignored = |_: &mut ClosedElement<'_>| {};
    let (key, value) = read_with(text, namespaces, &mut ignored)?;
    let document = Value::Object(Map::from_iter([(key, value)]));
    if is_within(&document, MAX_DEPTH) { Ok(document) } else { Err(too_deep()) }
}

/// An element that has been read as a whole, before its parent has it.
pub(super) struct ClosedElement<'c> {
    /// Level: that of the one outermost element is 0.
    pub level: usize,
    /// Namespace.
    pub namespace: Option<&'c str>,
    /// Local name.
    pub local: &'c str,
    /// Key in its parent.
    pub key: &'c str,
    /// Value. Who takes it leaves nothing to the parent.
    pub value: &'c mut Option<Value>,
}

/// Reads a document, and shows each element once it is read.
pub(super) fn read_with(
    text: &str,
    namespaces: &Namespaces,
    closed: &mut dyn FnMut(&mut ClosedElement<'_>),
) -> Result<(String, Value), NoXml> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    if let Some(bad) = text.chars().find(|c| !is_legal(*c)) {
        return Err(NoXml::new(format!("the character U+{:04X} has no place in XML", u32::from(bad))));
    }
    let mut reader = NsReader::from_str(text);
    let mut document = DocumentReader { namespaces, open: Vec::new(), root: None, closed };
    loop {
        let event = reader.read_event()?;
        let resolver = reader.resolver();
        match event {
            Event::Start(start) => document.start(&start, resolver)?,
            Event::Empty(start) => {
                document.start(&start, resolver)?;
                document.end(start.name(), resolver)?;
            }
            Event::End(end) => document.end(end.name(), resolver)?,
            Event::Text(text) => document.text(&text.xml10_content())?,
            Event::CData(text) => document.text(&text.xml10_content())?,
            Event::GeneralRef(reference) => document.reference(&reference)?,
            Event::DocType(_) => return Err(NoXml::new("a document type is not taken")),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
            Event::Eof => return document.into_root(),
        }
    }
}

/// An element whose end has not been read yet.
struct OpenElement {
    key: String,
    is_nil: bool,
    has_children: bool,
    members: Map<String, Value>,
    /// Text so far.
    text: String,
    /// Text since the last tag: white space alone counts only where an element has no children.
    pending: String,
}

struct DocumentReader<'d> {
    namespaces: &'d Namespaces,
    open: Vec<OpenElement>,
    root: Option<(String, Value)>,
    closed: &'d mut dyn FnMut(&mut ClosedElement<'_>),
}

impl DocumentReader<'_> {
    fn start(&mut self, start: &BytesStart<'_>, resolver: &NamespaceResolver) -> Result<(), NoXml> {
        if self.root.is_some() {
            return Err(NoXml::new("there is more than one outermost element"));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(too_deep());
        }
        if let Some(parent) = self.open.last_mut() {
            parent.has_children = true;
            parent.settle();
        }
        let (namespace, local) = resolver.resolve_element(start.name());
        if local.as_ref().is_empty() {
            return Err(NoXml::new("an element has no name"));
        }
        let key = self.namespaces.key(uri(&namespace), local.as_ref());
        let (members, is_nil) = self.attributes(start, resolver)?;
        let (text, pending) = (String::new(), String::new());
        self.open.push(OpenElement { key, is_nil, has_children: false, members, text, pending });
        Ok(())
    }

    /// Members for the attributes; whether the element is nil.
    fn attributes(
        &self,
        start: &BytesStart<'_>,
        resolver: &NamespaceResolver,
    ) -> Result<(Map<String, Value>, bool), NoXml> {
        let (mut members, mut is_nil, mut count) = (Map::new(), false, 0);
        // The library would compare each name with each other one.
        for attribute in start.attributes().with_checks(false) {
            let attribute = attribute?;
            count += 1;
            if count > MOST_ATTRIBUTES {
                return Err(NoXml::new(format!("an element has more than {MOST_ATTRIBUTES} attributes")));
            }
            if attribute.key.as_namespace_binding().is_some() {
                continue;
            }
            let (namespace, local) = resolver.resolve_attribute(attribute.key);
            let namespace = uri(&namespace);
            let value = attribute.normalized_value(XmlVersion::Implicit1_0)?;
            if let Some(bad) = value.chars().find(|c| !is_legal(*c)) {
                return Err(illegal(bad));
            }
            is_nil |= namespace == Some(XSI) && local.as_ref() == "nil" && matches!(&*value, "true" | "1");
            let Some(key) = self.namespaces.attribute(namespace, local.as_ref()) else { continue };
            // One without a prefix counts before others of the same local name.
            let is_plain = attribute.key.prefix().is_none();
            if is_plain || !members.contains_key(&key) {
                members.insert(key, Value::String(value.into_owned()));
            }
        }
        Ok((members, is_nil))
    }

    fn end(&mut self, name: QName<'_>, resolver: &NamespaceResolver) -> Result<(), NoXml> {
        let Some(open) = self.open.pop() else {
            return Err(NoXml::new("an element ends that did not begin"));
        };
        let (key, value) = open.close();
        let (namespace, local) = resolver.resolve_element(name);
        let mut value = Some(value);
        (self.closed)(&mut ClosedElement {
            level: self.open.len(),
            namespace: uri(&namespace),
            local: local.as_ref(),
            key: &key,
            value: &mut value,
        });
        match (self.open.last_mut(), value) {
            (Some(parent), Some(value)) => parent.take(key, value),
            (Some(_), None) => {}
            (None, value) => self.root = Some((key, value.unwrap_or(Value::Null))),
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), NoXml> {
        match self.open.last_mut() {
            Some(open) => open.pending.push_str(text),
            None if text.chars().all(is_space) => {}
            None => return Err(NoXml::new("text stands outside of all elements")),
        }
        Ok(())
    }

    fn reference(&mut self, reference: &BytesRef<'_>) -> Result<(), NoXml> {
        let c = match reference.resolve_char_ref()? {
            Some(c) if is_legal(c) => c,
            Some(c) => return Err(illegal(c)),
            None => match &**reference {
                "lt" => '<',
                "gt" => '>',
                "amp" => '&',
                "apos" => '\'',
                "quot" => '"',
                other => {
                    let name: String = other.chars().take(40).collect();
                    return Err(NoXml::new(format!("the entity `{name}` is not known")));
                }
            },
        };
        self.text(c.encode_utf8(&mut [0; 4]))
    }

    fn into_root(self) -> Result<(String, Value), NoXml> {
        match (self.open.last(), self.root) {
            (Some(open), _) => Err(NoXml::new(format!("`{}` does not end", open.key))),
            (None, Some(root)) => Ok(root),
            (None, None) => Err(NoXml::new("there is no element")),
        }
    }
}

impl OpenElement {
    /// Takes the text since the last tag, unless it is only what indents the next one.
    fn settle(&mut self) {
        if !self.pending.chars().all(is_space) {
            self.text.push_str(&self.pending);
        }
        self.pending.clear();
    }

    /// Takes a child: siblings of one name are a list.
    fn take(&mut self, key: String, value: Value) {
        use serde_json::map::Entry;
        match self.members.entry(key) {
            Entry::Vacant(place) => {
                place.insert(value);
            }
            Entry::Occupied(mut place) => match place.get_mut() {
                Value::Array(siblings) => siblings.push(value),
                first => *first = Value::Array(vec![first.take(), value]),
            },
        }
    }

    fn close(mut self) -> (String, Value) {
        if self.is_nil {
            return (self.key, Value::Null);
        }
        if self.has_children {
            self.settle();
        } else {
            self.text.push_str(&self.pending);
        }
        if self.members.is_empty() {
            return (self.key, Value::String(self.text));
        }
        if !self.text.is_empty() {
            self.members.insert(TEXT.to_owned(), Value::String(self.text));
        }
        (self.key, Value::Object(self.members))
    }
}

/// The namespace of a name; an unknown prefix is taken for none.
fn uri<'r>(found: &'r ResolveResult<'_>) -> Option<&'r str> {
    match found {
        ResolveResult::Bound(Namespace(uri)) => Some(uri),
        ResolveResult::Unbound | ResolveResult::Unknown(_) => None,
    }
}

pub(super) fn illegal(c: char) -> NoXml {
    NoXml::new(format!("the character U+{:04X} has no place in XML", u32::from(c)))
}

pub(super) fn too_deep() -> NoXml {
    NoXml::new(format!("it is nested deeper than {MAX_DEPTH} levels"))
}
