//! What the readers of sections read from: the values of the keys, and the faults that they find.

use std::net::SocketAddr;
use std::time::Duration;

use pagurus_domain::access::{AccessMode, AccessRole, CallbackProof};
use pagurus_domain::activation::ActivationMode;
use pagurus_domain::document::{DocumentNode, Fault};
use pagurus_domain::flow::DistributionMode;
use pagurus_domain::id::IntakeTransport;
use pagurus_domain::order::dependency::StartMode;

use super::destinations::AllowedDestination;
use super::exchanges::AllowedExchange;
use super::kind::Typed;
use super::values::Values;

/// The values of the keys, and the faults that their readers find.
pub(super) struct SettingsBuilder {
    pub(super) values: Values,
}

impl SettingsBuilder {
    /// The value of a key. A type that its kind does not give, or a key that is not in the table, is a slip of the code; it
    /// is reported like a fault, and the test that reads every key finds it.
    pub(super) fn value<T: FromKey>(&self, path: &str) -> Result<T, Fault> {
        let value = self.values.typed(path).and_then(T::of);
        value.ok_or_else(|| Fault::placed(None, "", format!("`{path}` is read wrongly")))
    }
}

/// A type that the value of a key may have.
pub(super) trait FromKey: Sized {
    /// Takes the value; none if the kind of the key gives another type, which is a slip of the code.
    fn of(typed: &Typed) -> Option<Self>;
}

/// Says which values are of a type.
macro_rules! from_key {
    ($($type:ty: $pattern:pat => $value:expr;)*) => {
        $(impl FromKey for $type {
            fn of(typed: &Typed) -> Option<Self> {
                match typed {
                    $pattern => $value,
                    _ => None,
                }
            }
        })*
    };
}

from_key! {
    bool: Typed::Flag(flag) => Some(*flag);
    u16: Typed::Count(count) => (*count).try_into().ok();
    u32: Typed::Count(count) => (*count).try_into().ok();
    u64: Typed::Count(count) => Some(*count);
    usize: Typed::Count(count) => (*count).try_into().ok();
    String: Typed::Text(text) => Some(text.clone());
    Duration: Typed::Duration(duration) => Some(*duration);
    SocketAddr: Typed::Address(address) => Some(*address);
    Vec<String>: Typed::Texts(texts) => Some(texts.clone());
    Vec<AllowedDestination>: Typed::Calls(calls) => Some(calls.clone());
    Vec<AllowedExchange>: Typed::Exchanges(exchanges) => Some(exchanges.clone());
    DocumentNode: Typed::Tree(tree) => Some(tree.clone());
    ActivationMode: Typed::Text(word) => word.parse().ok();
    DistributionMode: Typed::Text(word) => word.parse().ok();
    StartMode: Typed::Text(word) => word.parse().ok();
    AccessMode: Typed::Text(word) => word.parse().ok();
    AccessRole: Typed::Text(word) => word.parse().ok();
    CallbackProof: Typed::Text(word) => word.parse().ok();
    IntakeTransport: Typed::Text(word) => word.parse().ok();
}

impl<T: FromKey> FromKey for Option<T> {
    fn of(typed: &Typed) -> Option<Self> {
        if *typed == Typed::Absent { Some(None) } else { T::of(typed).map(Some) }
    }
}
