//! `pagurus classify`: which rule, class and policy a failure would get. With the file of a configuration or of a
//! scenario it answers by itself, else it asks the server, whose rules may be others.

use std::path::{Path, PathBuf};

use clap::Args;
use pagurus_domain::retry::{self, ErrorPolicy, ErrorRules};
use pagurus_runtime::config;
use pagurus_scenario::script::Scripting;
use pagurus_scenario::xml::fault_of;
use pagurus_scenario::{Bounds, Scenario, source};
use pagurus_wire::errors::{ExplanationView, QuestionView};
use pagurus_wire::problem::{Problem, Type};
use serde_json::json;

use crate::client::ApiClient;
use crate::failure::CliError;
use crate::input;
use crate::scenario::library::Libraries;
use crate::screen::{Screen, harmless};

/// A failure in the words of the command line.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Path of the request's URL, or the whole URL
    #[arg(long, required_unless_present = "amqp", conflicts_with = "amqp")]
    path: Option<String>,
    /// HTTP method of the request [default: GET]
    #[arg(long, conflicts_with = "amqp")]
    method: Option<String>,
    /// Host of the request, with its port if the URL has one
    #[arg(long, conflicts_with = "amqp")]
    host: Option<String>,
    /// Destination of a message: VHOST?exchange=NAME&key=KEY, with %2F for the virtual host /
    #[arg(long, value_name = "PLACE")]
    amqp: Option<String>,
    /// Status of the answer
    #[arg(long, conflicts_with_all = ["exception", "timeout", "step_status", "amqp"], value_parser = clap::value_parser!(u16).range(100..600))]
    status: Option<u16>,
    /// Body of the answer, or of the callback
    #[arg(long, conflicts_with_all = ["exception", "timeout"])]
    body: Option<String>,
    /// Name of a failure without an answer, or its names from the outermost inwards, separated by >
    #[arg(long, value_name = "NAME", conflicts_with_all = ["timeout", "step_status", "amqp"])]
    exception: Option<String>,
    /// Message of that failure
    #[arg(long, requires = "exception")]
    message: Option<String>,
    /// The callback did not come in time
    #[arg(long, conflicts_with = "step_status")]
    timeout: bool,
    /// Step status of the callback
    #[arg(long)]
    step_status: Option<String>,
    /// Name of the scenario [default: only policies for all scenarios apply]
    #[arg(long)]
    scenario: Option<String>,
    /// File of the scenario: the rules under its `errors` apply after those of the deployment; needs no server
    #[arg(long, value_name = "FILE", conflicts_with = "scenario")]
    scenario_file: Option<PathBuf>,
    /// Explain the result, also in JSON
    #[arg(long)]
    why: bool,
}

impl Arguments {
    /// True if no server is asked, because the files at hand have the rules.
    pub(crate) const fn is_offline(&self, config: Option<&Path>) -> bool {
        config.is_some() || self.scenario_file.is_some()
    }

    fn question(&self) -> QuestionView {
        QuestionView {
            scenario: self.scenario.clone(),
            path: self.path.clone(),
            method: self.method.clone(),
            host: self.host.clone(),
            amqp: self.amqp.clone(),
            status: self.status,
            body: self.body.clone(),
            exception: self.exception.clone(),
            message: self.message.clone(),
            timeout: self.timeout,
            step_status: self.step_status.clone(),
        }
    }
}

/// Asks the rules of a configuration, or of none, and behind them those of a scenario.
pub(crate) fn offline(arguments: &Arguments, config: Option<&Path>, screen: &Screen) -> Result<(), CliError> {
    let deployment = config.map(rules_of).transpose()?.unwrap_or_default();
    let scenario = arguments.scenario_file.as_deref().map(scenario_of).transpose()?;
    let mut question = arguments.question();
    let errors = match &scenario {
        Some(scenario) => {
            question.scenario = Some(scenario.name.clone());
            ErrorRules::of(&deployment, &scenario.errors)
        }
        None => ErrorRules::from(&deployment),
    };
    let fault = question.body.as_deref().and_then(fault_of).map(|fault| fault.text());
    let asked = retry::Question { fault: fault.as_deref(), ..question.as_asked() };
    let explanation =
        retry::explain(errors, &asked).map_err(|fault| Problem::of_faults(Type::Invalid, &[fault]))?;
    show(&explanation.into(), arguments.why, screen)
}

/// Asks the rules of the server.
pub(crate) async fn online(
    arguments: &Arguments,
    client: &ApiClient,
    screen: &Screen,
) -> Result<(), CliError> {
    let reply = client.post("/v1/classify", &json!(arguments.question())).await?;
    show(&reply.read()?, arguments.why, screen)
}

fn rules_of(file: &Path) -> Result<ErrorPolicy, CliError> {
    let (name, text) = (input::name_of(file), input::text_of(file)?);
    let loaded =
        config::environment().and_then(|environment| config::load(Some(file), environment.into_iter()));
    loaded.map(|settings| settings.errors).map_err(|faults| {
        let report = source::explain_faults(&text, &name, &faults);
        CliError::Input(format!("the configuration is not valid\n{report}"))
    })
}

fn scenario_of(file: &Path) -> Result<Scenario, CliError> {
    let (name, text) = (input::name_of(file), input::text_of(file)?);
    let bounds = Bounds::default();
    let mut libraries = Libraries::of(&[]);
    let library = libraries.beside(file, &text)?;
    source::read_with(&text, library, &Scripting::new(bounds.script.clone()), &bounds).map_err(|faults| {
        CliError::Input(format!(
            "the scenario is not valid\n{}",
            source::explain_faults(&text, &name, &faults)
        ))
    })
}

fn show(explanation: &ExplanationView, why: bool, screen: &Screen) -> Result<(), CliError> {
    if screen.json {
        let why = if why { explanation.why.clone() } else { Vec::new() };
        return screen.value(&ExplanationView { why, ..explanation.clone() });
    }
    let or_none = |value: &Option<String>| Some(value.clone().unwrap_or_else(|| "none".to_owned()));
    let pairs = screen.pairs(&[
        ("rule", or_none(&explanation.rule)),
        ("class", or_none(&explanation.class)),
        ("policy", or_none(&explanation.policy)),
    ]);
    screen.line(&pairs)?;
    for sentence in &explanation.why {
        screen.line(&format!("- {}", harmless(sentence)))?;
    }
    Ok(())
}
