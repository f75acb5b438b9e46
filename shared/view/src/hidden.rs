//! Hidden parts of what is shown: what a scenario masks, and secrets by their values (SCN-15).

use pagurus_domain::MASKED;
use pagurus_domain::id::ScenarioNo;
use pagurus_runtime::scenarios::Known;
use pagurus_scenario::{Concealed, Mask};
use pagurus_store::{Client, Error};
use serde_json::Value;

use crate::Views;

/// Hidden parts of one version of a scenario, or of all together.
#[derive(Default)]
pub(crate) struct HiddenParts {
    pub mask: Mask,
    pub secrets: Concealed,
}

impl Views {
    /// The parts that this version of a scenario hides; those that any version hides where nobody knows whose a
    /// value is. None where everything is to be hidden: from those who see no payloads, and of a scenario that this node cannot
    /// read.
    pub(crate) async fn hidden_by(
        &self,
        client: &Client,
        scenario: Option<ScenarioNo>,
    ) -> Result<Option<HiddenParts>, Error> {
        if self.scope.hides_payloads() {
            return Ok(None);
        }
        let Some(no) = scenario else {
            self.catalogue.refresh(client).await?;
            let hidden = self.catalogue.hidden();
            let secrets = self.secrets.concealed(&hidden.secrets);
            return Ok(Some(HiddenParts { mask: hidden.mask, secrets }));
        };
        let known = self.catalogue.get(client, no).await?.and_then(Known::readable);
        Ok(known.map(|scenario| HiddenParts {
            mask: scenario.mask.clone(),
            secrets: self.secrets.named_by(&scenario),
        }))
    }
}

/// Masks a value; as a whole, where nothing says which parts of it may be shown.
pub(crate) fn mask(hidden: Option<&HiddenParts>, value: &mut Value, of: impl FnOnce(&Mask, &mut Value)) {
    match hidden {
        Some(HiddenParts { mask, secrets }) => {
            of(mask, value);
            conceal(secrets, value);
        }
        None => *value = MASKED.into(),
    }
}

/// Takes secrets out of a value.
fn conceal(secrets: &Concealed, value: &mut Value) {
    if !secrets.is_empty() {
        *value = secrets.value(value);
    }
}
