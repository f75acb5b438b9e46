//! `pagurus access …`: who may use the API: tokens of programs, sessions of people, and why somebody may what they may.

use std::io::IsTerminal as _;
use std::path::Path;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use jiff::Timestamp;
use pagurus_access::hash_password;
use pagurus_domain::access::AccessRole;

use pagurus_wire::access::{
    AccessExplanation, IssuedTokenView, LoginRequest, PersonSessionView, SessionView, TokenRequest, TokenView,
};

use crate::client::ApiClient;
use crate::failure::CliError;
use crate::input::{self, text_of};
use crate::list::{List, text};
use crate::screen::{Screen, time};

/// Commands about access.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show as whom the server knows you, and your role
    Who,
    /// List, make and revoke tokens of programs
    #[command(subcommand)]
    Tokens(TokensCommand),
    /// List and end sessions of people
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// Explain the role of a person: the groups that the directory finds, and the role that they give
    Explain {
        /// Login name of the person
        name: String,
    },
    /// Read a password from standard input, and print its hash for access.local.password_hash
    HashPassword,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokensCommand {
    /// List tokens, including revoked ones
    List,
    /// Make a token and print it; it is not shown again
    Make(Make),
    /// Revoke a token: every node refuses it within a second
    Revoke {
        /// The six characters after `pgr_`
        token: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Make {
    /// Name of the program that will use it
    name: String,
    /// Role of the program
    #[arg(long, value_enum)]
    role: TokenRole,
    /// Tenant of the program; may be given several times; `*` stands for all tenants
    #[arg(long = "tenant", value_name = "TENANT")]
    tenants: Vec<String>,
    /// Lifetime of the token, such as 90d [default: until it is revoked]
    #[arg(long = "for", value_name = "DURATION", value_parser = input::parse_duration)]
    duration: Option<Duration>,
    /// Reason
    #[arg(long, default_value = "")]
    reason: String,
    /// Log in under this name, with the password from standard input, to make the first token
    #[arg(long, value_name = "NAME")]
    login: Option<String>,
}

/// Role of a token on the command line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenRole(AccessRole);

impl ValueEnum for TokenRole {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [TokenRole; AccessRole::ALL.len()] = {
            let mut all = [TokenRole(AccessRole::Viewer); AccessRole::ALL.len()];
            let mut at = 0;
            while at < all.len() {
                all[at] = TokenRole(AccessRole::ALL[at]);
                at += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.0.as_str()))
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List open sessions
    List,
    /// End a session: every node refuses it within a second
    End {
        /// Id of the session
        session: String,
    },
}

/// True for commands that only show something.
pub(crate) const fn only_shows(command: &Command) -> bool {
    matches!(
        command,
        Command::Who
            | Command::Tokens(TokensCommand::List)
            | Command::Sessions(SessionsCommand::List)
            | Command::Explain { .. }
    )
}

/// Tokens of programs.
const TOKENS: List<TokenView> = List {
    path: "/v1/access/tokens",
    none: "there are no tokens",
    hint: None,
    columns: &[
        ("TOKEN", |token| token.id.clone()),
        ("NAME", |token| token.name.clone()),
        ("ROLE", |token| token.role.clone()),
        ("TENANTS", |token| token.tenants.join(",")),
        ("MADE", |token| time(token.made_at)),
        ("USED", |token| token.used_at.map_or_else(|| "never".to_owned(), time)),
        ("ENDS", |token| token.ends_at.map_or_else(String::new, time)),
        ("REVOKED", |token| token.revoked_at.map_or_else(String::new, time)),
    ],
};

/// Sessions of people.
const SESSIONS: List<PersonSessionView> = List {
    path: "/v1/access/sessions",
    none: "nobody is logged in",
    hint: None,
    columns: &[
        ("SESSION", |session| session.id.clone()),
        ("NAME", |session| session.name.clone()),
        ("ROLE", |session| session.role.clone()),
        ("BY", |session| session.method.clone()),
        ("FROM", |session| text(&session.from)),
        ("SINCE", |session| time(session.made_at)),
        ("USED", |session| time(session.used_at)),
        ("ENDS", |session| time(session.ends_at)),
    ],
};

/// Runs a command.
pub(crate) async fn run(command: Command, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    match command {
        Command::Who => {
            let reply = client.get("/v1/session", &[]).await?;
            reply.show(screen, |who: &SessionView| known_as(who))
        }
        Command::Tokens(TokensCommand::List) => TOKENS.all(&(), client, screen).await,
        Command::Tokens(TokensCommand::Make(make)) => make_token(make, client, screen).await,
        Command::Tokens(TokensCommand::Revoke { token }) => {
            remove(&format!("/v1/access/tokens/{}", pagurus_scenario::value::percent_encode(&token)), client)
                .await?;
            said("revoked", screen)
        }
        Command::Sessions(SessionsCommand::List) => SESSIONS.all(&(), client, screen).await,
        Command::Sessions(SessionsCommand::End { session }) => {
            let path = format!("/v1/access/sessions/{}", pagurus_scenario::value::percent_encode(&session));
            remove(&path, client).await?;
            said("ended", screen)
        }
        Command::Explain { name } => {
            let reply = client.get("/v1/access/explain", &[("name", name)]).await?;
            reply.show(screen, explained)
        }
        Command::HashPassword => {
            let hash = hash_password(&password()?).map_err(CliError::Input)?;
            screen.line(&hash)
        }
    }
}

async fn make_token(make: Make, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    let Make { name, role, tenants, duration, reason, login } = make;
    let ends_at = duration.and_then(|duration| Timestamp::now().checked_add(duration).ok());
    let asked = TokenRequest { name, role: role.0.to_string(), tenants, ends_at, reason };
    let reply = match login {
        None => client.post("/v1/access/tokens", &asked).await?,
        Some(name) => {
            let session = client.log_in(&LoginRequest { name, password: password()? }).await?;
            let reply = session.post("/v1/access/tokens", &asked).await;
            // The token is shown this once, also where the session cannot be ended.
            if let Err(failure) = session.delete("/v1/session").await {
                screen.note(&format!("the session could not be ended; it expires by itself: {failure}"));
            }
            reply?
        }
    };
    reply.show(screen, |made: &IssuedTokenView| made.token.clone())
}

async fn remove(path: &str, client: &ApiClient) -> Result<(), CliError> {
    client.delete(path).await.map(|_| ())
}

fn said(word: &str, screen: &Screen) -> Result<(), CliError> {
    if screen.json { Ok(()) } else { screen.line(word) }
}

/// A password from standard input, without the end of its line.
fn password() -> Result<String, CliError> {
    if std::io::stdin().is_terminal() {
        return Err(CliError::Usage(
            "the password is read from standard input, so that no screen and no history shows it: \
             `pagurus … < FILE`, or behind a pipe"
                .to_owned(),
        ));
    }
    let text = text_of(Path::new("-"))?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
}

/// Further clauses for somebody who does not see everything.
fn seen_by(who: &SessionView) -> String {
    let tenants = match &who.tenants {
        None => String::new(),
        Some(tenants) if tenants.is_empty() => "; member of no tenant".to_owned(),
        Some(tenants) => format!("; member of {}", tenants.join(", ")),
    };
    format!("{tenants}{}", if who.payloads_hidden { "; sees no payloads" } else { "" })
}

fn known_as(who: &SessionView) -> String {
    match (&who.name, &who.role) {
        (Some(name), Some(role)) => format!("{name}, {role}, by {}{}", text(&who.method), seen_by(who)),
        (None, Some(role)) => format!("anybody, {role}: the API is open (`access.mode: {}`)", who.mode),
        _ => format!("unknown: send a token (`access.mode: {}`)", who.mode),
    }
}

fn explained(explanation: &AccessExplanation) -> String {
    let steps = explanation.steps.iter().map(|step| format!("{}: {}", step.step, step.result));
    let groups = explanation.groups.iter().map(|group| format!("group: {group}"));
    let role = match &explanation.role {
        Some(role) => format!("role: {role}"),
        None => "role: none; no session is opened".to_owned(),
    };
    steps.chain(groups).chain([role]).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use pagurus_domain::id::Vocabulary as _;

    use super::*;

    #[test]
    fn ui_1_who_somebody_is_stands_in_a_line() {
        let who = |name: Option<&str>, role: Option<&str>| SessionView {
            mode: "token".into(),
            name: name.map(str::to_owned),
            role: role.map(str::to_owned),
            method: Some("token".into()),
            tenants: name.map(|_| vec!["bank".to_owned()]),
            payloads_hidden: name.is_some(),
            csrf_token: None,
        };
        assert_eq!(
            known_as(&who(Some("shop"), Some("client"))),
            "shop, client, by token; member of bank; sees no payloads"
        );
        assert_eq!(known_as(&who(None, None)), "unknown: send a token (`access.mode: token`)");
        assert_eq!(TokenRole::value_variants().len(), AccessRole::WORDS.len());
    }
}
