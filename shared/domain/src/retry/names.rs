//! Names of failures without an answer, ours and those of JVM engines. Must never decide what
//! class a failure has.

/// True if a keyword is part of a name in the chain, or of a Java name of the same failure.
pub(super) fn hold(chain: &[&str], keyword: &str) -> bool {
    let cause = chain.iter().rev().find_map(|name| java_names(name));
    chain.iter().copied().chain(GENERAL_JAVA_NAMES).any(|name| name.contains(keyword))
        || cause.is_some_and(|names| names.iter().any(|name| name.contains(keyword)))
}

/// Messages of a failure, and what engines of the JVM say where theirs do not fit ours: rules were
/// written by their words.
pub(super) fn messages<'a>(chain: &[&str], message: &'a str) -> impl Iterator<Item = &'a str> {
    let of_java: &[&str] = match chain.last().copied() {
        Some("ReadTimeout") => &["Read timed out", "request timed out"],
        Some("ConnectTimeout") => &["connect timed out", "Connect timed out", "Connection timed out"],
        Some("ConnectionClosed") => &["Unexpected end of file from server", "failed to respond"],
        _ => &[],
    };
    std::iter::once(message).chain(of_java.iter().copied())
}

/// Java names that every failure without an answer goes by.
const GENERAL_JAVA_NAMES: [&str; 3] = ["java.io.IOException", "java.lang.Exception", "java.lang.Throwable"];

/// The Java names of a failure by its innermost cause. The outer names have none of their own:
/// an unknown host is also a `ConnectError` here, but never a `ConnectException` there.
fn java_names(cause: &str) -> Option<&'static [&'static str]> {
    Some(match cause {
        "ConnectError" => &["java.net.ConnectException", "java.net.NoRouteToHostException"],
        "ConnectionRefused" => {
            &["java.net.ConnectException", "org.apache.http.conn.HttpHostConnectException"]
        }
        "ConnectTimeout" => &[
            "java.net.ConnectException",
            "java.net.SocketTimeoutException",
            "java.net.http.HttpConnectTimeoutException",
            "org.apache.http.conn.ConnectTimeoutException",
            "java.util.concurrent.TimeoutException",
        ],
        "ReadTimeout" => &[
            "java.net.SocketTimeoutException",
            "java.net.http.HttpTimeoutException",
            "java.util.concurrent.TimeoutException",
        ],
        "ConnectionReset" => &["java.net.SocketException"],
        "ConnectionClosed" => &[
            "java.net.SocketException",
            "java.io.EOFException",
            "java.nio.channels.ClosedChannelException",
            "org.apache.http.NoHttpResponseException",
        ],
        "DnsError" => &["java.net.UnknownHostException"],
        "TlsError" => &["javax.net.ssl.SSLException", "javax.net.ssl.SSLHandshakeException"],
        "BodyError" => &["java.io.EOFException"],
        "ProtocolError" => &["java.net.ProtocolException", "org.apache.http.ProtocolException"],
        _ => return None,
    })
}

/// Our names of causes, each with the names around it. Where a Java name fits several, the first
/// is what it mostly stands for.
const CAUSES: [(&str, &[&str]); 13] = [
    ("ConnectionRefused", &["HttpError", "ConnectError"]),
    ("ReadTimeout", &["HttpError"]),
    ("ConnectTimeout", &["HttpError", "ConnectError"]),
    ("ConnectionReset", &["HttpError"]),
    ("ConnectionClosed", &["HttpError"]),
    ("DnsError", &["HttpError", "ConnectError"]),
    ("TlsError", &["HttpError", "ConnectError"]),
    ("BodyError", &["HttpError"]),
    ("ProtocolError", &["HttpError"]),
    ("ConnectError", &["HttpError"]),
    ("UrlError", &["HttpError"]),
    ("Forbidden", &["HttpError"]),
    ("NoRoom", &["HttpError", "ReadTimeout"]),
];

/// The chain that is meant by a name, or by names with `>` between them. A single name of ours or
/// of Java gets the names that a failure of its kind has around it; an unknown one stands alone.
pub(super) fn chain_of(text: &str) -> Vec<&str> {
    let given: Vec<&str> = text.split('>').map(str::trim).filter(|name| !name.is_empty()).collect();
    let &[name] = &given[..] else {
        return given;
    };
    let is_java = |java: &&str| **java == *name || java.rsplit('.').next() == Some(name);
    let of_java = |cause: &str| java_names(cause).is_some_and(|names| names.iter().any(is_java));
    let found = CAUSES
        .iter()
        .find(|(cause, _)| *cause == name)
        .or_else(|| CAUSES.iter().find(|(cause, _)| of_java(cause)));
    match found {
        Some((cause, around)) => around.iter().copied().chain([*cause]).collect(),
        None if GENERAL_JAVA_NAMES.iter().any(is_java) => vec!["HttpError"],
        None => given,
    }
}
