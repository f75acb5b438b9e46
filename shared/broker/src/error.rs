//! Errors between a process and RabbitMQ, distinguished by what the caller can do about them.
//!
//! Never carries the address of the broker: it contains a password.

use std::time::Duration;

use lapin::ErrorKind;

/// Reply code of AMQP for something that does not exist.
const NOT_FOUND: u16 = 404;
/// Reply code of AMQP for something that the user may not do.
const ACCESS_REFUSED: u16 = 403;
/// Reply code of AMQP for a declaration that differs from what exists.
const PRECONDITION_FAILED: u16 = 406;
/// Reply code of AMQP for a virtual host that is not there, or that the user may not enter.
const NOT_ALLOWED: u16 = 530;

/// Why the broker could not be used, or did not take a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no connection now; it is being restored in the background.
    #[error("no connection to the message broker: {0}")]
    Down(String),
    /// The broker is out of memory or disk and takes nothing until that is over.
    #[error("the message broker takes no messages at present: {0}")]
    Blocked(String),
    /// No answer came in time. The message may have been taken nevertheless.
    #[error("the message broker did not answer within {0:?}")]
    TimedOut(Duration),
    /// The destination let the time for a confirm pass not long ago; nothing was sent.
    #[error("nothing was sent: its destination has not confirmed for a while, and is tried again later")]
    Silent,
    /// The broker answered with a negative confirm, for example because a queue is full.
    #[error("the message broker did not take the message")]
    NotTaken,
    /// The message names an exchange that does not exist.
    #[error("the exchange {0:?} does not exist")]
    MissingExchange(String),
    /// No queue is bound to an exchange of the engine at present; the service that owns the binding restores it.
    #[error("no queue is bound to the exchange {0:?} at present")]
    MissingBinding(String),
    /// The broker user lacks a permission; the text of the broker says which.
    #[error("not permitted by the message broker: {0}")]
    NotPermitted(String),
    /// The virtual host does not exist, or the broker user may not enter it; the text of the broker says which.
    #[error("the virtual host cannot be used: {0}")]
    NoVirtualHost(String),
    /// The broker ended the channel while the message was under way; it may have been taken.
    #[error("the message broker ended the channel: {0}")]
    ChannelEnded(String),
    /// A name does not fit into an AMQP short string, or has characters that may not be in it.
    #[error("{field} cannot be sent over AMQP: {bytes} bytes, at most {limit} are possible")]
    InvalidName {
        /// Part of the message or configuration.
        field: &'static str,
        /// Length of the message in bytes.
        bytes: usize,
        /// The greatest possible length in bytes.
        limit: usize,
    },
    /// The headers would not fit into one frame, which would cost the whole connection.
    #[error("the headers have {bytes} bytes, at most {limit} are possible")]
    HeadersTooLarge {
        /// Their encoded size in bytes.
        bytes: usize,
        /// The greatest possible size in bytes.
        limit: usize,
    },
    /// The configured address or prefix cannot be used.
    #[error("not a usable setting for the message broker: {0}")]
    InvalidSetting(String),
}

impl Error {
    /// True if the same attempt can succeed later without anybody changing anything.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Down(_)
            | Self::Blocked(_)
            | Self::TimedOut(_)
            | Self::Silent
            | Self::NotTaken
            | Self::MissingBinding(_)
            | Self::ChannelEnded(_) => true,
            Self::MissingExchange(_)
            | Self::NotPermitted(_)
            | Self::NoVirtualHost(_)
            | Self::InvalidName { .. }
            | Self::HeadersTooLarge { .. }
            | Self::InvalidSetting(_) => false,
        }
    }
}

impl From<lapin::Error> for Error {
    fn from(error: lapin::Error) -> Self {
        match error.kind() {
            ErrorKind::ProtocolError(cause) => {
                let text = cause.get_message().to_string();
                match cause.get_id() {
                    NOT_FOUND => match exchange_in(&text) {
                        Some(exchange) => Self::MissingExchange(exchange),
                        None => Self::ChannelEnded(text),
                    },
                    ACCESS_REFUSED => Self::NotPermitted(text),
                    NOT_ALLOWED => Self::NoVirtualHost(text),
                    _ if error.is_amqp_soft_error() => Self::ChannelEnded(text),
                    _ => Self::Down(text),
                }
            }
            ErrorKind::InvalidChannel(_)
            | ErrorKind::InvalidChannelState(..)
            | ErrorKind::ChannelsLimitReached => Self::ChannelEnded(error.to_string()),
            _ => Self::Down(error.to_string()),
        }
    }
}

/// True if something exists with other properties than those of a declaration.
pub(crate) fn is_different(error: &lapin::Error) -> bool {
    reply_code(error) == Some(PRECONDITION_FAILED)
}

/// True if the user has no right to do this.
pub(crate) fn is_forbidden(error: &lapin::Error) -> bool {
    reply_code(error) == Some(ACCESS_REFUSED)
}

fn reply_code(error: &lapin::Error) -> Option<u16> {
    match error.kind() {
        ErrorKind::ProtocolError(cause) => Some(cause.get_id()),
        _ => None,
    }
}

/// The broker says which exchange it misses in the text of its answer only.
fn exchange_in(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("no exchange '")?;
    let (name, _) = rest.split_once("' in vhost")?;
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amqp_1_the_missing_exchange_is_named() {
        let text = "NOT_FOUND - no exchange 'billing's' in vhost '/'";
        assert_eq!(exchange_in(text).as_deref(), Some("billing's"));
        assert_eq!(exchange_in("NOT_FOUND - no queue 'a' in vhost '/'"), None);
    }
}
