//! `pagurus topology`: everything that the engine needs in the broker, as RabbitMQ imports it.
//! Only prints: services declare what they need by themselves.

use std::collections::BTreeMap;

use pagurus_broker::topology::definitions;

use crate::failure::CliError;
use crate::screen::Screen;

/// Prints the definitions. The users have no passwords: they can log in once an operator gave
/// them some.
pub(crate) fn run(prefix: &str, screen: &Screen) -> Result<(), CliError> {
    let definitions = definitions(prefix, &BTreeMap::new());
    if screen.json {
        return screen.value(&definitions);
    }
    screen.line(&serde_json::to_string_pretty(&definitions).map_err(anyhow::Error::from)?)
}
