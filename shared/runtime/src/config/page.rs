//! The two pages that show every key with its default and its meaning: one as YAML, one as
//! Markdown for the documentation. Made from the table, so that they cannot disagree with it.

use super::keys::settings;
use super::kind::Kind;
use super::section::{Reload, Setting};

/// See [`super::defaults_page`].
pub(super) fn defaults() -> String {
    let mut page = String::from(
        "# Every key of the configuration with its default. `~` means not set: see the meaning of the key.\n\
         # (restart) marks keys that do not change while a process runs.\n",
    );
    let mut before: Vec<&str> = Vec::new();
    for setting in settings() {
        let parts: Vec<&str> = setting.path.split('.').collect();
        let (name, sections) = match parts.split_last() {
            Some((name, sections)) => (*name, sections),
            None => continue,
        };
        let shared = sections.iter().zip(&before).take_while(|(one, two)| one == two).count();
        if shared == 0 {
            page.push('\n');
        }
        for (depth, section) in sections.iter().enumerate().skip(shared) {
            page.push_str(&format!("{}{section}:\n", "  ".repeat(depth)));
        }
        let indent = "  ".repeat(sections.len());
        let restart = if setting.change == Reload::Restart { " (restart)" } else { "" };
        page.push_str(&format!(
            "{indent}# {} {}.{restart}\n{indent}{name}: {}\n",
            setting.meaning,
            sentence(&setting.kind.describe()),
            setting.default
        ));
        before = sections.to_vec();
    }
    page
}

/// See [`super::reference_page`].
pub(super) fn reference() -> String {
    let mut page = String::from(
        "# Configuration\n\n\
         <!-- Made from the table of keys by a test of pagurus-runtime; run it with\n     \
         UPDATE_GENERATED=1 to write this page again. -->\n\n\
         All services read one YAML file. Dots in the table stand for nesting. Unknown keys are\n\
         refused. A key can also be set in the environment: `worker.http.timeout` is\n\
         `PAGURUS__WORKER__HTTP__TIMEOUT`; the value is read as YAML, so quotes keep a number a\n\
         text. A secret may be in a file: `PAGURUS__DATABASE__URL_FILE` names one. The environment\n\
         overrides the file.\n\n\
         Durations are written `500ms`, `5s`, `1h30m`, `2d`; bytes `65536`, `64KiB`, `1MiB`.\n\
         *Live* keys change while a process runs: on SIGHUP, or a few seconds after the file has\n\
         changed, it reads everything again. Others keep the value of the start until the next one;\n\
         see [how to change the configuration](guides/changing-configuration.md).\n\n\
         | Key | Value | Default | Change | Meaning |\n|---|---|---|---|---|\n",
    );
    for setting in settings() {
        page.push_str(&row(setting));
    }
    page
}

fn row(setting: &Setting) -> String {
    let default = match (setting.kind, setting.default) {
        (_, "~") => "–".to_owned(),
        (_, default) => format!("`{default}`"),
    };
    let change = match setting.change {
        Reload::Live => "live",
        Reload::Restart => "restart",
    };
    let kind = match setting.kind {
        Kind::SecretUrl | Kind::OptionalSecret => "text, secret".to_owned(),
        kind => kind.describe(),
    };
    format!("| `{}` | {kind} | {default} | {change} | {} |\n", setting.path, setting.meaning)
}

/// The same text with a capital at its start.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
