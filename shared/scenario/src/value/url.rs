//! URLs of calls: what comes from the order is encoded, and it is known whether it chose the host.

use serde_json::Value;

use super::super::script::{RunError, Scripting};
use super::{Context, Expression, Piece, Template, percent_encode, scalar_text};

/// A URL, rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// The URL.
    pub text: String,
    /// The host, or a part of it, comes from the order: from its parameters, variables or answers.
    pub host_of_order: bool,
}

impl Template {
    /// The value as a URL: what comes from the order is percent-encoded, so that a parameter
    /// cannot change the path or the host; constants of the deployment are taken as they are.
    /// A host that stands in `config` is the deployment's, even if the order chose it.
    ///
    /// # Errors
    /// The same as those of [`Template::render_text`].
    pub fn render_url(&self, context: &Context, scripting: &Scripting) -> Result<Url, RunError> {
        let mut url = Url { text: String::new(), host_of_order: false };
        match self {
            Self::Text(pieces) => {
                for piece in pieces {
                    match piece {
                        Piece::Text(text) => url.text.push_str(text),
                        Piece::Expression(expression) => {
                            url.host_of_order |=
                                !expression.expression.names_hosts() && !has_whole_host(&url.text);
                            let text = scalar_text(expression.evaluate(context, scripting)?)?;
                            let trusted = expression.expression.is_trusted();
                            url.text.push_str(&if trusted { text } else { percent_encode(&text) });
                        }
                    }
                }
            }
            other => {
                url.text = other.render_text(context, scripting)?;
                url.host_of_order =
                    matches!(other, Self::Expression(placed) if !placed.expression.names_hosts());
            }
        }
        // Readers of URLs forgive what is not written as it should be, and would find another host in it.
        let is_plain = ["http://", "https://"].iter().any(|scheme| url.text.starts_with(scheme));
        let is_named = is_plain && names_host(&context.config, authority(&url.text));
        url.host_of_order = url.host_of_order && !is_named;
        Ok(url)
    }
}

impl Expression {
    /// True if the value is the deployment's: a host may come from it.
    fn names_hosts(&self) -> bool {
        self.is_trusted() || matches!(self, Self::Secret(_))
    }
}

/// True if the host has ended, so that nothing that follows can change it.
fn has_whole_host(url: &str) -> bool {
    url.split_once("://").is_some_and(|(_, rest)| rest.contains(['/', '?', '#']))
}

/// Host and port.
fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#', '\\']).next().unwrap_or(rest)
}

/// True if a text somewhere in the constants is a URL with this host and port.
fn names_host(config: &Value, host: &str) -> bool {
    match config {
        Value::String(text) => text.contains("://") && authority(text).eq_ignore_ascii_case(host),
        Value::Array(items) => items.iter().any(|item| names_host(item, host)),
        Value::Object(members) => members.values().any(|member| names_host(member, host)),
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::super::super::script::Limits;
    use super::*;

    fn context() -> Context {
        Context {
            params: json!({"u": "http://10.0.0.1:1/x", "h": "evil.test", "who": "a/b?", "r": "north",
                "sly": "http:/10.0.0.1/?://h:1/"})
            .into(),
            vars: json!({"next": "http://other/x"}).as_object().unwrap().clone(),
            config: Arc::new(
                json!({"base": "http://h:1/x", "bare": "http://h", "by": {"north": "http://n:2"}}),
            ),
            request: Some(json!({"url": "http://engine/v1/callbacks/1"})),
            ..Context::default()
        }
    }

    fn url(text: &str) -> Url {
        let scripting = Scripting::new(Limits::default());
        Template::compile(text, &scripting).unwrap().render_url(&context(), &scripting).unwrap()
    }

    #[test]
    fn a_parameter_cannot_change_the_path_of_a_url() {
        assert_eq!(url("${config.base}/p/${params.who}").text, "http://h:1/x/p/a%2Fb%3F");
    }

    #[test]
    fn qlt_8_it_is_known_whether_the_order_chose_the_host() {
        for text in [
            "${params.u}",
            "${vars.next}",
            // A reader of URLs forgives the missing slash, and finds another host than stands in `config`.
            "${params.sly}",
            "http://${params.h}:8080/",
            "http://${params.h}",
            "http://a.${params.h}/x",
            "http://h:${params.r}/",
            "${config.bare}${params.h}",
            "${config.bare}.${params.h}/x",
            "${\"http://\" + params.h + \"/\"}",
            "${config.bare + \"@\" + params.h}",
        ] {
            assert!(url(text).host_of_order, "{text}");
        }
        for text in [
            "http://h/",
            "http://h/${params.h}",
            "http://h?x=${params.h}",
            "${config.base}${params.h}",
            "${config.base}/${params.h}",
            "${config.bare}/${params.h}",
            "${request.url}",
            "${config.by[params.r]}",
            "${config.by[params.r] + \"/x/\" + params.h}",
        ] {
            assert!(!url(text).host_of_order, "{text}");
        }
    }
}
