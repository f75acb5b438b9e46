//! Values of a running scenario, and templates: YAML values with `${…}` inside.
//!
//! A plain path (`${params.msisdn}`, the great majority) is walked without the script engine.
//! A string that is one `${…}` keeps the type of its value.

mod body;
mod url;

use std::borrow::Cow;
use std::sync::Arc;

use pagurus_domain::classes::SECRET_MISSING;
use pagurus_domain::document::Position;
use serde_json::Value;

pub use super::context::{Context, Element, INDEX, NoSecrets, RESULT, Secrets};
use super::nearest::nearest;
use super::places::Places;
use super::script::{Code, CompileError, ROOTS, RunError, Scripting, remedy};
pub use body::{body_value, body_value_in, percent_encode};
pub use url::Url;

/// Expression of a `${…}`.
#[derive(Debug)]
pub enum Expression {
    /// A root and keys: `params.address.city`.
    Path(Vec<String>),
    /// A secret, read again each time.
    Secret(String),
    /// Anything else, in the script language.
    Code(Code),
}

impl Expression {
    fn compile(text: &str, scripting: &Scripting, locals: &[String]) -> Result<Self, Vec<CompileError>> {
        let path: Vec<String> = text.trim().split('.').map(str::to_owned).collect();
        let plain = |key: &String| {
            key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        if let [root, name] = path.as_slice()
            && root == "secret"
            && is_secret_name(name)
        {
            return Ok(Self::Secret(name.clone()));
        }
        if path.iter().all(plain) {
            let is_known = |root: &String| ROOTS.contains(&root.as_str()) || locals.contains(root);
            if let Some(root) = path.first().filter(|root| !is_known(root))
                && path.len() > 1
            {
                let known: Vec<&str> =
                    ROOTS.iter().copied().chain(locals.iter().map(String::as_str)).collect();
                let message = format!("nothing is called `{root}` here; there are: {}", known.join(", "));
                let near = nearest(root, locals.iter().map(String::as_str));
                let hint = near.map(|near| format!("did you mean `{near}`?")).or_else(|| remedy(root, ""));
                return Err(vec![CompileError { message, hint, line: 1, column: 1 }]);
            }
            if is_known(&path[0]) {
                return Ok(Self::Path(path));
            }
        }
        scripting.compile_expression_with(text, locals).map(Self::Code)
    }

    /// Evaluates the expression; a failure comes with its place inside it.
    fn evaluate(&self, context: &Context, scripting: &Scripting) -> Result<Value, (RunError, Position)> {
        const BEGIN: Position = Position { line: 1, column: 1 };
        match self {
            Self::Path(path) => context
                .at(path)
                .map(Cow::into_owned)
                .ok_or_else(|| (RunError::new(format!("there is no `{}`", path.join("."))), BEGIN)),
            Self::Secret(name) => context.secrets.secret(name).map(Value::String).ok_or_else(|| {
                let message = format!("the deployment has no secret `{name}`");
                (RunError { class: SECRET_MISSING, message, at: None }, BEGIN)
            }),
            Self::Code(code) => scripting.evaluate(code, context),
        }
    }

    /// True if the value is the deployment's or the engine's own, not the client's.
    fn is_trusted(&self) -> bool {
        matches!(self, Self::Path(path) if path[0] == "config" || path[0] == "request")
    }
}

/// A `${…}` with its place.
#[derive(Debug)]
pub struct Placed {
    /// Expression between the braces.
    pub expression: Expression,
    /// Place inside its text.
    at: Position,
    /// Places of that text in the file.
    places: Arc<Places>,
}

impl Placed {
    /// The fault of its value, with its place.
    pub(crate) fn fault(&self, message: String) -> RunError {
        RunError { at: self.places.of(self.at), ..RunError::new(message) }
    }

    /// The value of the expression.
    pub(crate) fn evaluate(&self, context: &Context, scripting: &Scripting) -> Result<Value, RunError> {
        self.expression.evaluate(context, scripting).map_err(|(error, inside)| {
            let column = if inside.line == 1 { self.at.column + inside.column - 1 } else { inside.column };
            let at = Position { line: self.at.line + inside.line - 1, column };
            RunError { at: self.places.of(at), ..error }
        })
    }
}

/// Names of secrets are names of files and of environment variables, too.
fn is_secret_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        && name.len() <= 64
}

/// A YAML value with `${…}` inside.
#[derive(Debug)]
pub enum Template {
    /// Value without any `${…}` inside.
    Constant(Value),
    /// A string that is one `${…}`: keeps the type.
    Expression(Placed),
    /// A string with text and `${…}`.
    Text(Vec<Piece>),
    /// A list of templates.
    List(Vec<Template>),
    /// A map of templates.
    Map(Vec<(String, Template)>),
}

/// A part of a string.
#[derive(Debug)]
pub enum Piece {
    /// Constant text.
    Text(String),
    /// Expression, replaced by its value.
    Expression(Placed),
}

impl Template {
    /// Compiles one string. `$${` stands for a literal `${`.
    ///
    /// # Errors
    /// The fault of each `${…}`; line and column count inside the string.
    pub fn compile(text: &str, scripting: &Scripting) -> Result<Self, Vec<CompileError>> {
        Self::compile_with(text, scripting, &[])
    }

    /// The same, for expressions that know these names, too: of the element that they are evaluated for.
    ///
    /// # Errors
    /// The same as those of [`Template::compile`].
    pub fn compile_with(
        text: &str,
        scripting: &Scripting,
        locals: &[String],
    ) -> Result<Self, Vec<CompileError>> {
        let mut pieces = Vec::new();
        let mut faults = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            let start = text.len() - rest.len() + at;
            if rest[..at].ends_with('$') {
                literal.push_str(&rest[..at - 1]);
                literal.push_str("${");
                rest = &rest[at + 2..];
                continue;
            }
            literal.push_str(&rest[..at]);
            let inside = &rest[at + 2..];
            let Some(length) = closing_brace(inside) else {
                let mut fault = located("`${` without its `}`", text, start);
                fault.hint = Some("add the `}`, or write `$${` for the two characters themselves".to_owned());
                faults.push(fault);
                return Err(faults);
            };
            if !literal.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut literal)));
            }
            match Expression::compile(&inside[..length], scripting, locals) {
                Ok(expression) => {
                    let CompileError { line, column, .. } = located("", text, start + 2);
                    let at = Position { line, column };
                    pieces.push(Piece::Expression(Placed { expression, at, places: Arc::default() }));
                }
                Err(wrong) => {
                    let place = located("", text, start + 2);
                    faults.extend(wrong.into_iter().map(|error| error.inside(&place)));
                }
            }
            rest = &inside[length + 1..];
        }
        literal.push_str(rest);
        if !faults.is_empty() {
            return Err(faults);
        }
        if pieces.is_empty() {
            return Ok(Self::Constant(Value::String(literal)));
        }
        if literal.is_empty()
            && pieces.len() == 1
            && let Some(Piece::Expression(expression)) = pieces.pop()
        {
            return Ok(Self::Expression(expression));
        }
        if !literal.is_empty() {
            pieces.push(Piece::Text(literal));
        }
        Ok(Self::Text(pieces))
    }

    /// The value of the template.
    ///
    /// # Errors
    /// A path that leads nowhere, a null inside text, an expression that fails.
    pub fn render(&self, context: &Context, scripting: &Scripting) -> Result<Value, RunError> {
        match self {
            Self::Constant(value) => Ok(value.clone()),
            Self::Expression(expression) => expression.evaluate(context, scripting),
            Self::Text(pieces) => join(pieces, context, scripting).map(Value::String),
            Self::List(list) => list
                .iter()
                .map(|item| item.render(context, scripting))
                .collect::<Result<_, _>>()
                .map(Value::Array),
            Self::Map(map) => map
                .iter()
                .map(|(key, value)| Ok((key.clone(), value.render(context, scripting)?)))
                .collect::<Result<_, _>>()
                .map(Value::Object),
        }
    }

    /// The value as text.
    ///
    /// # Errors
    /// The same as those of [`Template::render`]; null, lists and maps are no text.
    pub fn render_text(&self, context: &Context, scripting: &Scripting) -> Result<String, RunError> {
        scalar_text(self.render(context, scripting)?)
    }

    /// Sets where the text of its expressions stands in the file. The first `lead` characters of what
    /// was compiled are not in the file.
    pub(super) fn place(&mut self, places: &Arc<Places>, lead: u32) {
        let place = |placed: &mut Placed| {
            placed.places = places.clone();
            if placed.at.line == 1 {
                placed.at.column = placed.at.column.saturating_sub(lead).max(1);
            }
        };
        match self {
            Self::Expression(placed) => place(placed),
            Self::Text(pieces) => {
                for piece in pieces {
                    if let Piece::Expression(placed) = piece {
                        place(placed);
                    }
                }
            }
            Self::Constant(_) | Self::List(_) | Self::Map(_) => {}
        }
    }

    /// Looks at every `${…}` in it.
    pub fn each_expression(&self, look: &mut dyn FnMut(&Expression)) {
        match self {
            Self::Constant(_) => {}
            Self::Expression(placed) => look(&placed.expression),
            Self::Text(pieces) => {
                for piece in pieces {
                    if let Piece::Expression(placed) = piece {
                        look(&placed.expression);
                    }
                }
            }
            Self::List(items) => items.iter().for_each(|item| item.each_expression(look)),
            Self::Map(members) => members.iter().for_each(|(_, value)| value.each_expression(look)),
        }
    }

    /// Adds the names of the secrets that it reads.
    pub fn collect_secrets(&self, names: &mut Vec<String>) {
        self.each_expression(&mut |expression| {
            if let Expression::Secret(name) = expression
                && !names.contains(name)
            {
                names.push(name.clone());
            }
        });
    }

    /// The path, where the template is one plain path and nothing else.
    #[must_use]
    pub fn plain_path(&self) -> Option<&[String]> {
        match self {
            Self::Expression(Placed { expression: Expression::Path(path), .. }) => Some(path),
            _ => None,
        }
    }

    /// The member of this name, where the template is a map.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Map(members) => members.iter().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The text, where the template has no `${…}`.
    #[must_use]
    pub fn constant_text(&self) -> Option<&str> {
        match self {
            Self::Constant(Value::String(text)) => Some(text),
            _ => None,
        }
    }
}

fn join(pieces: &[Piece], context: &Context, scripting: &Scripting) -> Result<String, RunError> {
    let mut out = String::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Expression(expression) => {
                out.push_str(&scalar_text(expression.evaluate(context, scripting)?)?);
            }
        }
    }
    Ok(out)
}

fn scalar_text(value: Value) -> Result<String, RunError> {
    match value {
        Value::String(text) => Ok(text),
        Value::Bool(_) | Value::Number(_) => Ok(value.to_string()),
        Value::Null => Err(RunError::new("null cannot stand inside text")),
        Value::Array(_) | Value::Object(_) => Err(RunError::new("a list or a map cannot stand inside text")),
    }
}

/// Length of the code up to the brace that closes it; braces inside strings do not count.
fn closing_brace(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut quote: Option<char> = None;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'' | '`') => quote = Some(c),
            (None, '{') => depth += 1,
            (None, '}') if depth == 0 => return Some(at),
            (None, '}') => depth -= 1,
            (None, _) => {}
        }
    }
    None
}

fn located(message: &str, text: &str, offset: usize) -> CompileError {
    let before = &text[..offset];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    CompileError { message: message.to_owned(), hint: None, line: number(line), column: number(column) }
}

impl CompileError {
    /// The same, where the code begins at `place` of a longer text.
    fn inside(mut self, place: &Self) -> Self {
        if self.line == 1 {
            self.column += place.column - 1;
        }
        self.line += place.line - 1;
        self
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests;
