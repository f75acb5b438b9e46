//! Principals: who does something to an order, as its history keeps it.

use serde_json::{Value, json};

use crate::id::spelled;

/// Way by which a request came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Door {
    /// The API.
    Http,
    /// A message of a client.
    Amqp,
    /// A bulk operation.
    Operation,
    /// A service of the engine itself: recovery, conditions, a node that stops.
    Engine,
}

spelled!(Door { Http => "http", Amqp => "amqp", Operation => "operation", Engine => "engine" });

impl Door {
    /// True for requests of people and programs; false for what the engine does by itself or goes on with.
    #[must_use]
    pub const fn is_outside(self) -> bool {
        matches!(self, Self::Http | Self::Amqp)
    }
}

/// Principal of an action on an order: name, door, and place that it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// The door.
    pub door: Door,
    /// Name that somebody has vouched for: the broker for the user of a message, the registry for a node. None
    /// where nobody has.
    pub name: Option<String>,
    /// Place that it came from: the address of a client, or the exchange of a message.
    pub from: Option<String>,
}

impl Principal {
    /// Client of the API at this address, with the name that it has proved.
    #[must_use]
    pub const fn http(name: Option<String>, from: Option<String>) -> Self {
        Self { door: Door::Http, name, from }
    }

    /// Client that sent a message.
    #[must_use]
    pub const fn amqp(user: Option<String>, exchange: String) -> Self {
        Self { door: Door::Amqp, name: user, from: Some(exchange) }
    }

    /// Bulk operation with this number, which an outsider has asked for.
    #[must_use]
    pub fn operation(no: i64) -> Self {
        Self { door: Door::Operation, name: Some(format!("operation:{no}")), from: None }
    }

    /// Node of the engine.
    #[must_use]
    pub fn node(name: &str) -> Self {
        Self { door: Door::Engine, name: Some(name.to_owned()), from: None }
    }

    /// Source of an event in the history: the kind of client, the operation, or the name of the node.
    #[must_use]
    pub fn source(&self) -> &str {
        match self.door {
            Door::Http => "api",
            Door::Amqp => "client",
            Door::Operation | Door::Engine => self.name.as_deref().unwrap_or("engine"),
        }
    }

    /// Form in which it stands in the detail of an event, as `by`.
    #[must_use]
    pub fn to_value(&self) -> Value {
        json!({"door": self.door.as_str(), "name": self.name, "from": self.from})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rec_15_each_door_has_its_source_and_keeps_where_a_caller_came_from() {
        let caller = Principal::http(None, Some("10.0.0.7:41000".to_owned()));
        assert_eq!(caller.source(), "api");
        assert_eq!(caller.to_value(), json!({"door": "http", "name": null, "from": "10.0.0.7:41000"}));
        let sender = Principal::amqp(Some("billing".to_owned()), "orders".to_owned());
        assert_eq!((sender.source(), &sender.to_value()["name"]), ("client", &json!("billing")));
        assert_eq!(Principal::node("activator-1").source(), "activator-1");
        assert_eq!(Principal::operation(7).source(), "operation:7");
        let outside: Vec<Door> = Door::ALL.iter().copied().filter(|door| door.is_outside()).collect();
        assert_eq!(outside, [Door::Http, Door::Amqp]);
    }
}
