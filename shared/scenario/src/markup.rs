//! XML as a scenario writes it: a text whose expressions stand where values do, so that no value changes what is markup.

use std::collections::BTreeSet;

use pagurus_domain::depth::MAX_DEPTH;
use quick_xml::XmlVersion;
use quick_xml::events::{BytesDecl, BytesRef, BytesStart, Event};
use quick_xml::name::{Namespace, PrefixDeclaration, ResolveResult};
use quick_xml::reader::NsReader;
use serde_json::Value;

use crate::script::{CompileError, RunError, Scripting};
use crate::value::{Context, Piece, Placed, Template};
use crate::xml::{self, Namespaces, NoXml, is_legal, is_name, is_space};

/// Character in the place of an expression while the text around it is checked. XML has no such character.
const GAP: char = '\u{FFFF}';
/// The element around a fragment while it is checked.
const AROUND: &str = "soap-fragment";

/// Shape of a text of XML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XmlShape {
    /// A document: one element.
    Document,
    /// Content of an element: any number of them.
    Content,
}

/// Place of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExpressionPlace {
    Content,
    Attribute,
}

/// A text of XML with expressions in it, proved well-formed.
#[derive(Debug)]
pub struct XmlTemplate {
    shape: XmlShape,
    template: Template,
    /// Place of each expression, in their order.
    places: Vec<ExpressionPlace>,
}

impl XmlTemplate {
    /// Checks a text. Namespaces that are declared are written where they are not declared by the text itself.
    ///
    /// # Errors
    /// What is wrong with it, with the line of the text.
    pub(crate) fn compile(
        template: Template,
        shape: XmlShape,
        namespaces: &Namespaces,
    ) -> Result<Self, CompileError> {
        let mut skeleton = match &template {
            Template::Constant(Value::String(text)) => text.clone(),
            Template::Text(pieces) => pieces
                .iter()
                .map(|piece| match piece {
                    Piece::Text(text) => text.clone(),
                    Piece::Expression(_) => GAP.to_string(),
                })
                .collect(),
            // A value as a whole: it is looked at when it is there.
            _ => return Ok(Self { shape, template, places: vec![ExpressionPlace::Content] }),
        };
        if let Some(at) = unwritable(&template) {
            return Err(fault(&at, at.len(), "a character here has no place in XML", "remove it"));
        }
        if shape == XmlShape::Content {
            skeleton = format!("<{AROUND}>{skeleton}</{AROUND}>");
        }
        let mut check = Check { skeleton: &skeleton, shape, places: Vec::new(), depth: 0, root: None };
        check.run(namespaces)?;
        let Check { places, root, .. } = check;
        let template = match root {
            Some(RootElement { name_ends_at, declares }) => {
                let missing = namespaces.declarations(|prefix| !declares.contains(prefix));
                with_insertion(template, name_ends_at, &missing)
            }
            None => template,
        };
        Ok(Self { shape, template, places })
    }

    /// The text with its expressions.
    #[must_use]
    pub const fn template(&self) -> &Template {
        &self.template
    }

    /// The XML with all values filled in, each escaped by its place.
    ///
    /// # Errors
    /// An expression that fails, or a value that XML cannot hold there.
    pub fn render(&self, context: &Context, scripting: &Scripting) -> Result<String, RunError> {
        let pieces = match &self.template {
            Template::Text(pieces) => pieces,
            Template::Expression(placed) => return self.render_whole(placed, context, scripting),
            other => return other.render_text(context, scripting),
        };
        let mut out = String::new();
        let mut places = self.places.iter();
        for piece in pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Expression(placed) => {
                    let value = placed.evaluate(context, scripting)?;
                    let written = match places.next() {
                        Some(ExpressionPlace::Attribute) => {
                            xml::scalar(&value).and_then(|text| xml::write_attribute(&mut out, &text))
                        }
                        _ => xml::write_content(&mut out, &value),
                    };
                    written.map_err(|error| placed.fault(error.to_string()))?;
                }
            }
        }
        Ok(out)
    }

    fn render_whole(
        &self,
        placed: &Placed,
        context: &Context,
        scripting: &Scripting,
    ) -> Result<String, RunError> {
        let value = placed.evaluate(context, scripting)?;
        let is_one = value.as_object().is_some_and(|members| {
            members.len() == 1
                && members.iter().all(|(name, value)| !name.starts_with('#') && !value.is_array())
        });
        let good = match self.shape {
            XmlShape::Document => is_one,
            XmlShape::Content => !value.is_string(),
        };
        if !good {
            let message = "a value that is the whole of `xml` is a map of elements, with one element where it is a \
                           document; a text that is XML already is sent by `text`";
            return Err(placed.fault(message.to_owned()));
        }
        let mut out = String::new();
        xml::write_content(&mut out, &value).map_err(|error: NoXml| placed.fault(error.to_string()))?;
        Ok(out)
    }
}

/// The one outermost element of a document.
struct RootElement {
    name_ends_at: usize,
    /// Prefixes that it declares itself.
    declares: BTreeSet<String>,
}

struct Check<'s> {
    skeleton: &'s str,
    shape: XmlShape,
    places: Vec<ExpressionPlace>,
    depth: usize,
    root: Option<RootElement>,
}

impl Check<'_> {
    fn run(&mut self, namespaces: &Namespaces) -> Result<(), CompileError> {
        let mut reader = NsReader::from_str(self.skeleton);
        for (prefix, uri) in namespaces.iter() {
            // What cannot be declared was refused where it stands.
            let _ = reader.resolver_mut().add(PrefixDeclaration::Named(prefix), Namespace(uri));
        }
        let (mut begun, mut over) = (false, false);
        loop {
            let at = usize::try_from(reader.buffer_position()).unwrap_or(0);
            let event = reader.read_event().map_err(|error| self.fault(at, &error.to_string()))?;
            let is_first = !std::mem::replace(&mut begun, true);
            match event {
                Event::Start(_) | Event::Empty(_) if over => {
                    return Err(self.fault(at, "there is more than one outermost element"));
                }
                Event::Start(start) => {
                    self.start(&start, &reader, at)?;
                    self.depth += 1;
                }
                Event::Empty(start) => {
                    self.start(&start, &reader, at)?;
                    over |= self.depth == 0;
                }
                Event::End(_) => {
                    self.depth = self.depth.saturating_sub(1);
                    over |= self.depth == 0;
                }
                Event::Text(text) => self.text(&text, at)?,
                Event::GeneralRef(reference) => self.reference(&reference, at)?,
                Event::Decl(declaration) => self.declaration(&declaration, is_first, at)?,
                Event::CData(text) => self.without_gap(&text, at)?,
                Event::Comment(text) => self.without_gap(&text, at)?,
                Event::PI(instruction) => self.without_gap(&instruction, at)?,
                Event::DocType(_) => return Err(self.fault(at, "a document type has no place here")),
                Event::Eof => break,
            }
        }
        match (over, self.depth) {
            (true, _) => Ok(()),
            (false, 0) => Err(self.fault(self.skeleton.len(), "there is no element")),
            (false, _) => Err(self.fault(self.skeleton.len(), "an element does not end")),
        }
    }

    fn start(
        &mut self,
        start: &BytesStart<'_>,
        reader: &NsReader<&[u8]>,
        at: usize,
    ) -> Result<(), CompileError> {
        if self.depth >= MAX_DEPTH {
            return Err(self.fault(at, "it is nested too deep"));
        }
        let name = start.name();
        self.name(name.0, at)?;
        self.bound(&reader.resolver().resolve_element(name).0, at)?;
        let mut seen = BTreeSet::new();
        // The library would compare each name with each other one.
        for attribute in start.attributes().with_checks(false) {
            let attribute = attribute.map_err(|error| self.fault(at, &error.to_string()))?;
            let key = attribute.key;
            self.name(key.0, at)?;
            if !seen.insert(key.0.to_owned()) {
                return Err(self.fault(at, &format!("the attribute `{}` is given twice", key.0)));
            }
            if key.as_namespace_binding().is_none() {
                self.bound(&reader.resolver().resolve_attribute(key).0, at)?;
            }
            let value: &str = &attribute.value;
            if value.contains('<') {
                return Err(self.fault(at, "`<` in an attribute is written `&lt;`"));
            }
            let gaps = value.matches(GAP).count();
            self.places.extend(std::iter::repeat_n(ExpressionPlace::Attribute, gaps));
            attribute
                .normalized_value(XmlVersion::Implicit1_0)
                .map_err(|error| self.fault(at, &error.to_string()))?;
        }
        if self.depth == 0 && self.shape == XmlShape::Document {
            // The name is a part of the text that is read.
            let begins_at = (name.0.as_ptr() as usize).saturating_sub(self.skeleton.as_ptr() as usize);
            let declares = seen.iter().filter_map(|key| key.strip_prefix("xmlns:")).map(str::to_owned);
            self.root =
                Some(RootElement { name_ends_at: begins_at + name.0.len(), declares: declares.collect() });
        }
        Ok(())
    }

    fn name(&self, name: &str, at: usize) -> Result<(), CompileError> {
        self.without_gap(name, at)?;
        if is_name(name) {
            return Ok(());
        }
        let shown: String = name.chars().take(60).collect();
        Err(self.fault(at, &format!("`{shown}` is not a name")))
    }

    fn bound(&self, found: &ResolveResult<'_>, at: usize) -> Result<(), CompileError> {
        let ResolveResult::Unknown(prefix) = found else { return Ok(()) };
        let mut fault = self.fault(at, &format!("the prefix `{prefix}` is declared nowhere"));
        fault.hint = Some(format!("write `namespaces: {{{prefix}: \"http://…\"}}` in the action"));
        Err(fault)
    }

    fn text(&mut self, text: &str, at: usize) -> Result<(), CompileError> {
        let gaps = text.matches(GAP).count();
        if self.depth == 0 && !text.chars().all(is_space) {
            return Err(self.fault(at, "text stands outside of all elements"));
        }
        self.places.extend(std::iter::repeat_n(ExpressionPlace::Content, gaps));
        Ok(())
    }

    fn reference(&self, reference: &BytesRef<'_>, at: usize) -> Result<(), CompileError> {
        let is_known = match reference.resolve_char_ref() {
            Ok(Some(c)) => is_legal(c),
            Ok(None) => matches!(&**reference, "lt" | "gt" | "amp" | "apos" | "quot"),
            Err(_) => false,
        };
        if is_known {
            return Ok(());
        }
        let shown: String = reference.chars().take(60).collect();
        let mut fault = self.fault(at, &format!("`&{shown};` is not known"));
        fault.hint =
            Some("write the character itself; `&amp;`, `&lt;` and `&gt;` stand for themselves".into());
        Err(fault)
    }

    fn declaration(
        &self,
        declaration: &BytesDecl<'_>,
        is_first: bool,
        at: usize,
    ) -> Result<(), CompileError> {
        if !is_first || self.shape == XmlShape::Content {
            return Err(self.fault(at, "a declaration stands at the beginning of a document"));
        }
        match declaration.encoding() {
            None => Ok(()),
            Some(Ok(encoding)) if encoding.eq_ignore_ascii_case("utf-8") => Ok(()),
            Some(_) => {
                let mut fault = self.fault(at, "what is sent is encoded in UTF-8");
                fault.hint = Some("write `encoding=\"UTF-8\"`, or leave it out".into());
                Err(fault)
            }
        }
    }

    fn without_gap(&self, text: &str, at: usize) -> Result<(), CompileError> {
        if !text.contains(GAP) {
            return Ok(());
        }
        let mut fault = self
            .fault(at, "an expression stands between tags or in the value of an attribute, and nowhere else");
        fault.hint = Some("values are escaped: write `<name>${…}</name>` or `<name key=\"${…}\">`".into());
        Err(fault)
    }

    fn fault(&self, at: usize, message: &str) -> CompileError {
        let message = message.replace(GAP, "${…}");
        fault(self.skeleton, at, &format!("it is no XML: {message}"), "")
    }
}

/// The text up to a character that XML cannot hold.
fn unwritable(template: &Template) -> Option<String> {
    let up_to_bad = |text: &str| text.find(|c| !is_legal(c)).map(|at| text[..at].to_owned());
    match template {
        Template::Constant(Value::String(text)) => up_to_bad(text),
        Template::Text(pieces) => pieces.iter().find_map(|piece| match piece {
            Piece::Text(text) => up_to_bad(text),
            Piece::Expression(_) => None,
        }),
        _ => None,
    }
}

fn fault(text: &str, at: usize, message: &str, hint: &str) -> CompileError {
    let before = &text.as_bytes()[..at.min(text.len())];
    let lines = before.iter().filter(|byte| **byte == b'\n').count();
    let hint = Some(hint.to_owned()).filter(|hint| !hint.is_empty());
    CompileError { message: message.to_owned(), hint, line: u32::try_from(lines + 1).unwrap_or(1), column: 1 }
}

/// The same with this text inserted. The place lies in what stands before the first expression: a name holds none.
fn with_insertion(template: Template, at: usize, text: &str) -> Template {
    let insert = |mut into: String| {
        if into.is_char_boundary(at) {
            into.insert_str(at, text);
        }
        into
    };
    match template {
        Template::Constant(Value::String(constant)) => Template::Constant(Value::String(insert(constant))),
        Template::Text(mut pieces) => {
            if let Some(Piece::Text(first)) = pieces.first_mut() {
                *first = insert(std::mem::take(first));
            }
            Template::Text(pieces)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests;
