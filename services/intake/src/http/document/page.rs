//! The document as a page to read: plain HTML made from it, without a script, and nothing from elsewhere.

use std::fmt::Write as _;

use serde_json::Value;

const STYLE: &str = "
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #1b1f24; background: #fff }
code, pre { font: 13px/1.45 ui-monospace, monospace } pre { background: #f3f4f6; padding: .7rem; overflow: auto }
h2 { margin-top: 2.2rem; border-bottom: 1px solid #d0d7de } nav a { display: inline-block; margin-right: 1rem }
details { border: 1px solid #d0d7de; border-radius: 6px; margin: .4rem 0; padding: .3rem .8rem; overflow-x: auto }
summary code { overflow-wrap: anywhere } [id^=schema-] { scroll-margin-top: 3rem }
summary { cursor: pointer } summary b { display: inline-block; width: 4.2rem; text-transform: uppercase; color: #0b5cad }
table { border-collapse: collapse; margin: .5rem 0 } td, th { text-align: left; vertical-align: top; padding: .2rem .9rem .2rem 0 }
@media (prefers-color-scheme: dark) { body { color: #e6edf3; background: #0d1117 } pre { background: #161b22 }
  details, h2 { border-color: #30363d } a, summary b { color: #6cb6ff } }";

/// Returns the document as a page.
pub(in crate::http) fn page(document: &Value) -> String {
    let (title, version) = (text(&document["info"]["title"]), text(&document["info"]["version"]));
    let groups: Vec<&Value> = document["tags"].as_array().into_iter().flatten().collect();
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title} API</title><style>{STYLE}</style><h1>{title} API <small>{version}</small></h1><p>{}</p>\
         <p>For programs: <a href=\"/openapi.json\">openapi.json</a>. For readers: \
         <a href=\"/docs/guide/\">the documentation</a>, with tutorials, guides and a search.</p><nav>",
        text(&document["info"]["description"]),
    );
    for group in &groups {
        let name = text(&group["name"]);
        let _ = write!(page, "<a href=\"#{}\">{name}</a>", anchor(&name));
    }
    page.push_str("<a href=\"#schemas\">Schemas</a></nav>");
    for group in &groups {
        let name = text(&group["name"]);
        let _ =
            write!(page, "<h2 id=\"{}\">{name}</h2><p>{}</p>", anchor(&name), text(&group["description"]));
        operations(&mut page, document, &group["name"]);
    }
    page.push_str("<h2 id=\"schemas\">Schemas</h2>");
    // The names stand inside the parts that are folded: a link to one unfolds it.
    for (name, schema) in members(&document["components"]["schemas"]) {
        let _ = write!(
            page,
            "<details><summary><code>{name}</code> {}</summary><div id=\"schema-{name}\">",
            text(&schema["description"])
        );
        fields(&mut page, schema);
        page.push_str("</div></details>");
    }
    page.push_str("</html>");
    page
}

fn operations(page: &mut String, document: &Value, group: &Value) {
    for (path, methods) in members(&document["paths"]) {
        for (method, operation) in members(methods) {
            if operation["tags"].get(0) == Some(group) {
                let _ = write!(
                    page,
                    "<details><summary><b>{method}</b> <code>{}</code> {}</summary>",
                    escaped(path),
                    text(&operation["summary"])
                );
                one(page, document, operation);
                page.push_str("</details>");
            }
        }
    }
}

fn one(page: &mut String, document: &Value, operation: &Value) {
    let _ = write!(page, "<p>{}</p>", text(&operation["description"]));
    let parameters = operation["parameters"].as_array().map_or(&[][..], Vec::as_slice);
    if !parameters.is_empty() {
        page.push_str("<table><tr><th>Parameter<th>In<th>Type<th>");
        for parameter in parameters {
            let _ = write!(
                page,
                "<tr><td><code>{}</code><td>{}<td>{}<td>{}",
                text(&parameter["name"]),
                text(&parameter["in"]),
                kind(&parameter["schema"]),
                text(&parameter["description"])
            );
        }
        page.push_str("</table>");
    }
    for (media, content) in members(&operation["requestBody"]["content"]) {
        let _ = write!(page, "<p>Body, <code>{}</code>: {}</p>", escaped(media), kind(&content["schema"]));
    }
    page.push_str("<table><tr><th>Status<th><th>Answer");
    for (status, answer) in members(&operation["responses"]) {
        let shared =
            answer["$ref"].as_str().and_then(|reference| document.pointer(reference.strip_prefix('#')?));
        let answer = shared.unwrap_or(answer);
        let contents = members(&answer["content"]);
        let contents: Vec<String> = contents
            .map(|(media, content)| format!("<code>{}</code>: {}", escaped(media), kind(&content["schema"])))
            .collect();
        let _ =
            write!(page, "<tr><td>{status}<td>{}<td>{}", text(&answer["description"]), contents.join("<br>"));
    }
    page.push_str("</table>");
}

/// The fields of a schema as a table; a schema without any as it stands.
fn fields(page: &mut String, schema: &Value) {
    if schema["anyOf"].is_array() || schema["oneOf"].is_array() {
        let _ = write!(page, "<p>{}", kind(schema));
        return;
    }
    if let (Some(words), Some(descriptions)) =
        (schema["enum"].as_array(), schema["x-enum-descriptions"].as_array())
    {
        page.push_str("<table><tr><th>Word<th>");
        for (word, description) in words.iter().zip(descriptions) {
            let _ = write!(page, "<tr><td><code>{}</code><td>{}", text(word), text(description));
        }
        page.push_str("</table>");
        return;
    }
    if schema["properties"].is_null() {
        let _ = write!(page, "<pre>{}</pre>", escaped(&format!("{schema:#}")));
        return;
    }
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    page.push_str("<table><tr><th>Field<th>Type<th>");
    for (name, field) in members(&schema["properties"]) {
        let always = if required.iter().any(|one| one == name) { "" } else { ", may be left out" };
        let _ = write!(
            page,
            "<tr><td><code>{}</code><td>{}{always}<td>{}",
            escaped(name),
            kind(field),
            text(&field["description"])
        );
    }
    page.push_str("</table>");
}

/// The type of a value, in a few words.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next()) {
        return format!("<a href=\"#schema-{0}\">{0}</a>", escaped(name));
    }
    if let Some(any) = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array()) {
        return any.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().map(text).collect::<Vec<_>>().join(", ");
    }
    match &schema["type"] {
        Value::String(one) if one == "array" => format!("list of {}", kind(&schema["items"])),
        Value::String(one) => escaped(one),
        Value::Array(all) => all.iter().map(text).collect::<Vec<_>>().join(" or "),
        _ => schema["const"].as_str().map_or_else(|| "any value".to_owned(), escaped),
    }
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// A text of the document, in which words between backticks are code.
fn text(value: &Value) -> String {
    let text = escaped(value.as_str().unwrap_or_default());
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return text;
    }
    let part = |(number, part): (usize, &&str)| match number.is_multiple_of(2) {
        true => (*part).to_owned(),
        false => format!("<code>{part}</code>"),
    };
    parts.iter().enumerate().map(part).collect()
}

fn anchor(name: &str) -> String {
    name.to_lowercase().replace(' ', "-")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_the_page_names_every_route_and_runs_nothing() {
        let document = crate::openapi();
        let page = page(&document);
        for (path, _) in members(&document["paths"]) {
            assert!(page.contains(&format!("<code>{path}</code>")), "{path}");
        }
        for (name, _) in members(&document["components"]["schemas"]) {
            assert!(page.contains(&format!("<div id=\"schema-{name}\">")), "{name}");
        }
        assert!(!page.contains('`'), "a word of code is not shown as one");
        for forbidden in ["<script", "src=", "=\"http", "@import", "url("] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
    }
}
