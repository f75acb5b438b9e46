//! The topology in the broker's import format, with a user and the least rights per service.
//!
//! Never contains a usable password: hashes come in as arguments, and a user without one cannot
//! log in until an operator sets a password.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use pagurus_domain::id::Role;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{Argument, Binding, Names, Queue, topology};

/// Virtual host of the shipped definitions: the one that every broker has.
const VHOST: &str = "/";

/// Rights of one broker user; each field is a regular expression over names.
struct Permission {
    configure: String,
    write: String,
    read: String,
}

/// The topology as the JSON that RabbitMQ imports. `passwords` holds a [`password_hash`] for each
/// service that shall be able to log in.
#[must_use]
pub fn definitions(prefix: &str, passwords: &BTreeMap<Role, String>) -> Value {
    let names = Names::new(prefix);
    let topology = topology(&names);
    let users: Vec<Value> = Role::ALL
        .iter()
        .map(|service| {
            json!({
                "name": user(&names, *service),
                "password_hash": passwords.get(service).map_or("", String::as_str),
                "hashing_algorithm": "rabbit_password_hashing_sha256",
                "tags": [],
            })
        })
        .collect();
    let permissions: Vec<Value> = Role::ALL
        .iter()
        .map(|service| {
            let permission = permission(&names, *service);
            json!({
                "user": user(&names, *service),
                "vhost": VHOST,
                "configure": permission.configure,
                "write": permission.write,
                "read": permission.read,
            })
        })
        .collect();
    let exchanges: Vec<Value> = topology
        .exchanges
        .iter()
        .map(|exchange| {
            json!({
                "name": exchange.name,
                "vhost": VHOST,
                "type": exchange.routing.as_str(),
                "durable": true,
                "auto_delete": false,
                "internal": exchange.internal,
                "arguments": arguments(exchange.arguments()),
            })
        })
        .collect();
    json!({
        "vhosts": [{ "name": VHOST }],
        "users": users,
        "permissions": permissions,
        "exchanges": exchanges,
        "queues": topology.queues.iter().map(queue).collect::<Vec<_>>(),
        "bindings": topology.bindings.iter().map(binding).collect::<Vec<_>>(),
    })
}

/// The hash of a password in the form in which RabbitMQ stores it: base64 of the salt followed by
/// SHA-256 over salt and password.
#[must_use]
pub fn password_hash(password: &str, salt: [u8; 4]) -> String {
    let digest = Sha256::new().chain_update(salt).chain_update(password.as_bytes()).finalize();
    BASE64.encode([salt.as_slice(), digest.as_slice()].concat())
}

fn user(names: &Names, service: Role) -> String {
    format!("{}-{service}", names.prefix)
}

fn arguments(arguments: Vec<Argument>) -> Map<String, Value> {
    let entry = |argument| match argument {
        Argument::Text(name, value) => (name.to_owned(), json!(value)),
        Argument::Number(name, value) => (name.to_owned(), json!(value)),
    };
    arguments.into_iter().map(entry).collect()
}

fn queue(queue: &Queue) -> Value {
    json!({
        "name": queue.name,
        "vhost": VHOST,
        "durable": true,
        "auto_delete": false,
        "arguments": arguments(queue.arguments()),
    })
}

fn binding(binding: &Binding) -> Value {
    json!({
        "source": binding.exchange,
        "vhost": VHOST,
        "destination": binding.queue,
        "destination_type": "queue",
        "routing_key": binding.key,
        "arguments": {},
    })
}

/// Declaring needs `configure`; binding needs `write` on the queue and `read` on the exchange; a
/// dead-letter exchange needs `read` on the queue and `write` on the exchange, and an alternate one `read` on the exchange
/// that has it and `write` on itself.
fn permission(names: &Names, service: Role) -> Permission {
    let (orders, callbacks) = (r"orders(\.in)?", r"callbacks(\.in)?");
    let actors = r"actors(\..*)?";
    let private = format!(r"private\.{service}\..*");
    let of = |parts: &[&str]| pattern(&names.prefix, parts);
    match service {
        Role::Intake => Permission {
            configure: of(&[orders, callbacks, "refused", &private]),
            // Receipts go through the default exchange, whose name in permissions is amq.default.
            write: format!(r"^amq\.default$|{}", of(&[orders, callbacks, "refused", "news", &private])),
            read: of(&[orders, callbacks, "refused", "news", &private]),
        },
        Role::Dispatcher => Permission {
            configure: of(&["news", "work", &private]),
            write: of(&["news", "work", &private]),
            read: of(&["news", &private]),
        },
        Role::Activator => Permission {
            configure: of(&[&private]),
            // Programs of actors are asked to stop what is handed out again.
            write: of(&["news", "actors", &private]),
            read: of(&["news", &private]),
        },
        Role::Worker => Permission {
            configure: of(&[actors, &private]),
            write: of(&["news", actors, &private]),
            // Binding the queue of an actor reads from its exchange.
            read: of(&["news", "work", "actors", &private]),
        },
        Role::Notifier => Permission {
            // The queue `outbox` is one of an earlier version, which the notifier deletes.
            configure: of(&["notifications", "outbox", &private]),
            // The end of a child order is a callback of its parent.
            write: of(&["news", "notifications", "callbacks", &private]),
            read: of(&["news", &private]),
        },
    }
}

fn pattern(prefix: &str, parts: &[&str]) -> String {
    let prefix = prefix.replace('.', r"\.");
    format!(r"^{prefix}\.({})$", parts.join("|"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may stop at the first surprise")]

    use super::*;

    /// `UPDATE_GENERATED=1` writes the file again instead of comparing.
    #[test]
    fn amqp_5_the_shipped_definitions_are_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../rabbitmq/definitions.json");
        let expected = definitions("pagurus", &BTreeMap::new());
        let text = serde_json::to_string_pretty(&expected).unwrap() + "\n";
        if std::env::var_os("UPDATE_GENERATED").is_some() {
            std::fs::write(path, &text).unwrap();
        }
        let shipped = std::fs::read_to_string(path).expect("rabbitmq/definitions.json");
        assert_eq!(shipped, text, "stale: run again with UPDATE_GENERATED=1");
    }

    /// Password, salt and hash of the example in RabbitMQ's guide on passwords.
    #[test]
    fn amqp_5_password_hash_is_rabbitmqs() {
        assert_eq!(
            password_hash("test12", [0x90, 0x8d, 0xc6, 0x0a]),
            "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR"
        );
    }

    #[test]
    fn amqp_5_a_prefix_is_taken_literally() {
        assert_eq!(pattern("a.b", &["news", "work"]), r"^a\.b\.(news|work)$");
    }
}
