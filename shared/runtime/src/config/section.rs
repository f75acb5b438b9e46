//! Keys of the configuration, and sections of the settings that are made of them.

use std::time::Duration;

use super::kind::Kind;

/// A key of the configuration.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Path of the key, with dots for nesting.
    pub path: &'static str,
    /// Kind of its value.
    pub kind: Kind,
    /// The default as YAML; `~` where it follows from something else, which the meaning tells.
    pub default: &'static str,
    /// Time at which a change takes effect.
    pub change: Reload,
    /// Purpose of the key, in a sentence.
    pub meaning: &'static str,
}

/// Time at which a changed key can take effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reload {
    /// While the process runs.
    Live,
    /// Only when the process starts again.
    Restart,
}

/// A count from 1 up, for what would stand still with none.
pub(super) const POSITIVE: Kind = Kind::Count { least: 1, most: u32::MAX as u64 };

/// Makes rows of the table of keys: path, kind, default, moment at which a change takes effect, and meaning.
macro_rules! rows {
    ($(($path:literal, $kind:expr, $default:literal, $change:ident, $meaning:literal);)*) => {
        &[$($crate::config::section::Setting {
            path: $path,
            kind: $kind,
            default: $default,
            change: $crate::config::section::Reload::$change,
            meaning: $meaning,
        }),*]
    };
}

/// Makes the struct of a section, its rows of the table, and its reader. An entry is a field and its key, whose meaning
/// documents the field; a function before the key makes the field out of the value:
///
/// ```text
/// grace: Duration = ("shutdown.grace", DurationOrZero, "30s", Live, "How long running work may go on.");
/// public_url: Option<String> = without_slash("intake.public_url", OptionalText, "~", Live, "Base of URLs.");
/// ```
///
/// A key without a field is read by hand. A field `with` a reader of its own has no key, or several. Kinds are values: the kind
/// `Duration` of an entry and the type beside it do not meet.
macro_rules! section {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident;
        $(
            $($field:ident: $type:ty = $($of:ident)?)?
            ($path:literal, $kind:expr, $default:literal, $change:ident, $meaning:literal);
        )*
        $($(#[$doc:meta])* with $made:ident: $made_type:ty = $reader:path;)*
    ) => {
        $(#[$attribute])*
        pub struct $name {
            $($(#[doc = $meaning] pub $field: $type,)?)*
            $($(#[$doc])* pub $made: $made_type,)*
        }

        impl $name {
            pub(in crate::config) const KEYS: &[$crate::config::section::Setting] =
                $crate::config::section::rows! { $(($path, $kind, $default, $change, $meaning);)* };

            pub(in crate::config) fn read(
                builder: &mut $crate::config::builder::SettingsBuilder,
            ) -> Result<Self, pagurus_domain::document::Fault> {
                Ok(Self {
                    $($($field: {
                        let value = builder.value($path)?;
                        $(let value = $of(value);)?
                        value
                    },)?)*
                    $($made: $reader(builder)?,)*
                })
            }
        }
    };
}

pub(super) use {rows, section};

/// A count of which 0 means that there is none.
pub(super) fn unless_zero(count: u32) -> Option<u32> {
    Some(count).filter(|count| *count > 0)
}

/// A time of which 0 means that there is none.
pub(super) fn unless_zero_time(time: Duration) -> Option<Duration> {
    Some(time).filter(|time| !time.is_zero())
}

/// The time that days take.
pub(super) const fn days(days: u64) -> Duration {
    Duration::from_secs(days * 24 * 60 * 60)
}

/// The part that a percentage is.
pub(super) fn ratio(percentage: u32) -> f64 {
    f64::from(percentage) / 100.0
}

/// The words of a text; none where it is left out.
pub(super) fn words(text: Option<String>) -> Vec<String> {
    text.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// A base of URLs without the slash at its end.
pub(super) fn without_slash(url: Option<String>) -> Option<String> {
    url.map(|url| url.trim_end_matches('/').to_owned())
}
