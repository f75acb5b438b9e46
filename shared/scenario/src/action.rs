//! The actions of a scenario, as the interpreter carries them out. Data only.

use std::sync::Arc;
use std::time::Duration;

use pagurus_domain::id::spelled;

use super::markup::XmlTemplate;
use super::operation::{EnterAction, ExitAction};
use super::script::Script;
use super::value::Template;
use super::xml::{Namespaces, SoapVersion};

/// Action of a state.
#[derive(Debug)]
pub enum Action {
    /// Makes an HTTP request.
    Http(Box<HttpAction>),
    /// Publishes a message to RabbitMQ.
    Amqp(Box<AmqpAction>),
    /// Code in the script language.
    Script(Script),
    /// Ends the stage and waits for the callbacks of all requests registered in it.
    Wait {
        /// Longest wait; the mode of the order bounds it further.
        timeout: Option<Lapse>,
    },
    /// Ends the stage until a time.
    Sleep(SleepUntil),
    /// A line in the order's log.
    Log(Template),
    /// Gives the order's queue up before its end.
    Release,
    /// A task for a program outside.
    Actor(Box<ActorAction>),
    /// A child order.
    Order(Box<OrderAction>),
    /// Several HTTP requests at once; each has a name.
    Parallel(Vec<HttpAction>),
    /// The same actions for each element of a list (SCN-17).
    Each(Box<EachAction>),
    /// Goes on with the first branch whose condition holds.
    Choose {
        /// The conditions with the index of the first action of each branch.
        branches: Vec<Branch>,
        /// Index of the action to go on at if no condition holds.
        otherwise: usize,
    },
    /// Goes on at a later action: the end of a branch.
    Skip(usize),
    /// Begins an operation, whose actions follow (SCN-19).
    Enter(Box<EnterAction>),
    /// A place in an operation at which its repeats begin; without a name behind a rest.
    Savepoint(Option<String>),
    /// Ends an operation.
    Exit(Box<ExitAction>),
}

/// Length of time of an action.
#[derive(Debug)]
pub enum Lapse {
    /// Fixed length.
    Known(Duration),
    /// Length that is computed when the order comes to the action.
    Computed(Template),
}

/// A branch of a `choose`.
#[derive(Debug)]
pub struct Branch {
    /// Condition: must be `true` or `false`.
    pub when: Template,
    /// Index of its first action.
    pub first: usize,
}

impl Action {
    /// The word that names this action in a scenario.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Http(_) => "http",
            Self::Amqp(_) => "amqp",
            Self::Script(_) => "script",
            Self::Wait { .. } => "wait",
            Self::Sleep(_) => "sleep",
            Self::Log(_) => "log",
            Self::Release => "release",
            Self::Actor(_) => "actor",
            Self::Order(_) => "order",
            Self::Parallel(_) => "parallel",
            Self::Each(_) => "each",
            Self::Choose { .. } | Self::Skip(_) => "choose",
            Self::Enter(_) | Self::Exit(_) => "do",
            Self::Savepoint(_) => "savepoint",
        }
    }
}

impl Action {
    /// True if it asks a called system, the broker or the database for something.
    #[must_use]
    pub const fn asks_the_world(&self) -> bool {
        match self {
            Self::Http(_)
            | Self::Parallel(_)
            | Self::Each(_)
            | Self::Amqp(_)
            | Self::Actor(_)
            | Self::Order(_)
            | Self::Release => true,
            Self::Script(_)
            | Self::Wait { .. }
            | Self::Sleep(_)
            | Self::Log(_)
            | Self::Choose { .. }
            | Self::Skip(_)
            | Self::Enter(_)
            | Self::Savepoint(_)
            | Self::Exit(_) => false,
        }
    }

    /// Returns this action and the actions inside it.
    pub fn with_inner(&self) -> impl Iterator<Item = &Self> {
        let inner = match self {
            Self::Each(each) => each.actions.as_slice(),
            _ => &[],
        };
        std::iter::once(self).chain(inner)
    }

    /// The name of the asynchronous request that this action registers; that of the elements of an `each` has a number
    /// behind it.
    #[must_use]
    pub fn request(&self) -> Option<&str> {
        match self {
            Self::Http(http) => http.request.as_deref(),
            Self::Amqp(amqp) => amqp.request.as_deref(),
            Self::Order(order) => order.request.as_deref(),
            _ => None,
        }
    }
}

/// End of a sleep.
#[derive(Debug)]
pub enum SleepUntil {
    /// Duration from now; at least the configured minimum.
    For(Template),
    /// Time, written `YYYY-MM-DDThh:mm:ss[.sss]±hh:mm`.
    Until(Template),
}

/// Methods an `http` action may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// GET.
    Get,
    /// HEAD.
    Head,
    /// POST.
    Post,
    /// PUT.
    Put,
    /// PATCH.
    Patch,
    /// DELETE.
    Delete,
    /// OPTIONS.
    Options,
}

spelled!(Method {
    Get => "GET",
    Head => "HEAD",
    Post => "POST",
    Put => "PUT",
    Patch => "PATCH",
    Delete => "DELETE",
    Options => "OPTIONS",
});

/// Form in which the body of an `http` action is sent.
#[derive(Debug)]
pub enum Body {
    /// `body:` with a map, a list or a value: JSON.
    Json(Template),
    /// `form:`: a map, sent as `application/x-www-form-urlencoded`.
    Form(Vec<(String, Template)>),
    /// `text:`: text as it is.
    Text(Template),
    /// `body: {xml: …}`: a document, or the content of a SOAP envelope.
    Xml(XmlTemplate),
}

/// An `http` action.
#[derive(Debug)]
pub struct HttpAction {
    /// The method; POST where there is a body and none is named, else GET.
    pub method: Method,
    /// The URL, with `${…}`.
    pub url: Template,
    /// Query parameters that are appended to the URL.
    pub query: Vec<(String, Template)>,
    /// Header fields.
    pub headers: Vec<(String, Template)>,
    /// The body.
    pub body: Option<Body>,
    /// Longest time of the call; none means the configured one.
    pub timeout: Option<Lapse>,
    /// Statuses that are no error, besides 1xx to 3xx.
    pub expect: Vec<StatusRange>,
    /// Variables to set from the answer.
    pub save: Vec<(String, Template)>,
    /// Name under which the answer is kept as `responses.<name>`, too.
    pub name: Option<String>,
    /// The `Authorization` header field.
    pub auth: Option<Auth>,
    /// Name of the certificate that is shown to the called system.
    pub certificate: Option<String>,
    /// Registers an asynchronous request under this name; its callback URL is `${request.url}`.
    pub request: Option<String>,
    /// The call by which the request is given up.
    pub cancel: Option<Box<HttpAction>>,
    /// Namespaces by the prefixes that it declares, for what it sends and for its answers.
    pub namespaces: Namespaces,
    /// Set where it is a SOAP call.
    pub soap: Option<Soap>,
    /// The secrets that it names: their values are kept out of all output.
    pub secrets: Arc<[String]>,
}

impl HttpAction {
    /// Looks at every template that makes a part of the request.
    pub(super) fn each_sent<'a>(&'a self, look: &mut dyn FnMut(&'a Template)) {
        look(&self.url);
        self.query.iter().chain(&self.headers).for_each(|(_, value)| look(value));
        match &self.body {
            None => {}
            Some(Body::Json(template) | Body::Text(template)) => look(template),
            Some(Body::Form(fields)) => fields.iter().for_each(|(_, value)| look(value)),
            Some(Body::Xml(xml)) => look(xml.template()),
        }
        match &self.auth {
            None => {}
            Some(Auth::Bearer(token)) => look(token),
            Some(Auth::Basic { username, password }) => {
                look(username);
                look(password);
            }
        }
        if let Some(soap) = &self.soap {
            soap.action.iter().chain(soap.header.as_ref().map(XmlTemplate::template)).for_each(look);
        }
    }
}

/// Terms that make a SOAP call of an HTTP request.
#[derive(Debug)]
pub struct Soap {
    /// The version.
    pub version: SoapVersion,
    /// The `SOAPAction`; of SOAP 1.2, the parameter `action` of the content type.
    pub action: Option<Template>,
    /// Content of the header of the envelope.
    pub header: Option<XmlTemplate>,
}

/// Credentials of an `http` action.
#[derive(Debug)]
pub enum Auth {
    /// `auth: {bearer: …}`.
    Bearer(Template),
    /// `auth: {username: …, password: …}`.
    Basic {
        /// Name of the user.
        username: Template,
        /// Password of the login.
        password: Template,
    },
}

/// An inclusive range of HTTP statuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusRange {
    /// The lowest status.
    pub from: u16,
    /// The highest status.
    pub to: u16,
}

impl StatusRange {
    /// True if the status lies in the range.
    #[must_use]
    pub const fn contains(self, status: u16) -> bool {
        self.from <= status && status <= self.to
    }
}

/// An `amqp` action.
#[derive(Debug)]
pub struct AmqpAction {
    /// The virtual host; none is the one of the engine.
    pub vhost: Option<Template>,
    /// The exchange; empty text is the broker's default exchange and is refused.
    pub exchange: Template,
    /// The routing key.
    pub key: Template,
    /// Header fields.
    pub headers: Vec<(String, Template)>,
    /// The body: text as it is, all else as JSON.
    pub body: Option<Template>,
    /// Registers an asynchronous request under this name.
    pub request: Option<String>,
    /// The call by which the request is given up.
    pub cancel: Option<Box<HttpAction>>,
    /// The secrets that it names.
    pub secrets: Arc<[String]>,
}

/// An `actor` action (SCN-11).
#[derive(Debug)]
pub struct ActorAction {
    /// Name of the actor: the routing key of its tasks.
    pub name: String,
    /// Body of the task.
    pub body: Option<Template>,
    /// Longest time of one hand-out without a decision or a heartbeat.
    pub work_timeout: Lapse,
    /// True if a task whose work time-out passed is handed out again; else the action fails.
    pub restart_after_work_timeout: bool,
    /// True if the first decision counts, whichever hand-out it answers.
    pub accept_first: bool,
    /// Time for all hand-outs together, from the first; `None` means no bound.
    pub task_timeout: Option<Lapse>,
    /// True if a task at work ends with the task time-out, too.
    pub force_finish_after_task_timeout: bool,
    /// Variables to set from the decision.
    pub save: Vec<(String, Template)>,
}

/// An `order` action: starts a child order.
#[derive(Debug)]
pub struct OrderAction {
    /// The fields of its registration, as an order from outside has them.
    pub fields: Vec<(String, Template)>,
    /// Name under which its end comes as a callback; `None` awaits nothing.
    pub request: Option<String>,
    /// The order waits right here for the end of its child; else the next `wait` awaits it.
    pub waits_here: bool,
    /// Longest wait here.
    pub timeout: Option<Lapse>,
}

impl OrderAction {
    /// True if a script that refuses the end of the child has another one started: where its end is awaited, and its id
    /// is the engine's to make.
    pub(crate) fn is_started_again(&self) -> bool {
        self.waits_here && self.fields.iter().all(|(name, _)| name != "id")
    }
}

/// Most actions for one element: the requests of elements are distinguished by numbers of this base.
pub(super) const MOST_ACTIONS: usize = 8;

/// An `each` action: the same actions for each element of a list.
#[derive(Debug)]
pub struct EachAction {
    /// The list.
    pub list: Template,
    /// The name by which the actions know their element.
    pub name: Arc<str>,
    /// Number of elements that run at once.
    pub at_once: usize,
    /// Actions that run for each: `http`, `amqp`, `script` and `order`, none of which suspends the order.
    pub actions: Vec<Action>,
    /// True if an element that fails is kept beside the others; else it ends the action.
    pub collects: bool,
    /// Variables to set to the list of what each element has for them in the end.
    pub save: Vec<(String, Template)>,
}

/// True for a name that a certificate may have: it names files of a folder, and leads nowhere else.
#[must_use]
pub fn is_certificate_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !name.is_empty() && !name.starts_with('.') && name.bytes().all(is_allowed)
}
