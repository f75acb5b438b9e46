//! Small scenarios as they are written.

use super::{Act, Cancels, Kind, OF_CHILD, Wide};

pub fn place(states: &[Wide], index: usize) -> String {
    match index.checked_sub(states.len()) {
        None => format!("s{index}"),
        Some(0) => "done".into(),
        Some(_) => "failed".into(),
    }
}

/// The same file with the queue of its orders (SCN-21).
pub fn sequential(text: &str) -> String {
    text.replacen('\n', "\nsequential: 'q-${params.n}'\n", 1)
}

/// The scenario as a file.
pub fn text(states: &[Wide]) -> String {
    let mut out = String::from("scenario: s\ninitialState: s0\nstates:\n");
    for (at, state) in states.iter().enumerate() {
        out.push_str(&state_text(states, at, state));
    }
    out.push_str("  done: {kind: terminal}\n");
    if out.contains(": failed") {
        out.push_str("  failed: {kind: terminal, outcome: fail}\n");
    }
    out.push_str("calls: {ping: {actions: [{http: {url: 'http://h/call/${event.body}'}}], answer: '${response.body.n}'}}\n");
    out
}

fn state_text(states: &[Wide], at: usize, state: &Wide) -> String {
    let (next, fail, late) = (place(states, at + 1), place(states, state.fail), place(states, state.late));
    let entry = if state.entry { "entryPoint: true, " } else { "" };
    let ask = format!("{{http: {{url: 'http://h/{at}/0'}}}}");
    match &state.kind {
        Kind::Plain(acts) => {
            let answers = |act: &Act| !matches!(act, Act::Each | Act::Release);
            let list: Vec<String> = acts
                .iter()
                .enumerate()
                .map(|(slot, act)| written(*act, at, slot, acts[..slot].iter().any(answers)))
                .collect();
            let can_fail = acts.iter().any(|act| !matches!(act, Act::Release));
            let fails = if can_fail { format!(", fail: {fail}") } else { String::new() };
            format!("  s{at}: {{{entry}actions: [{}], on: {{success: {next}{fails}}}}}\n", list.join(", "))
        }
        Kind::Ask { requests, only, child, soap, cancels } => {
            let mut asks: Vec<String> = (0..*requests).map(|k| asked(at, k, *soap, *cancels)).collect();
            if *child {
                asks.push(format!("{{order: {{scenario: c, wait: true, request: c{at}_{OF_CHILD}}}}}"));
            }
            format!(
                "  s{at}: {{{entry}actions: [{}, {{wait: {{timeout: 5m}}}}], on: {{wait: r{at}, fail: {fail}}}}}\n  \
                 r{at}: {{kind: waiting, retryFailedOnly: {only}, on: {{callback: {next}, timeout: {late}, fail: {fail}}}}}\n",
                asks.join(", ")
            )
        }
        Kind::Turn => format!(
            "  s{at}: {{{entry}actions: [{ask}, \
             {{script: 'let way = response.body.n / 10000 % 3; if way == 1 {{ event(\"left\") }} if way == 2 {{ event(\"right\") }}'}}], \
             on: {{success: {next}, fail: {fail}, left: {late}, right: {fail}}}}}\n"
        ),
        Kind::Poll => format!(
            "  s{at}: {{{entry}kind: polling, poll: {{interval: 1h, timeout: 150m}}, actions: [{ask}, \
             {{script: 'if response.body.n == 0 {{ poll() }} else if response.body.n == 2 {{ fail() }}'}}], \
             on: {{success: {next}, fail: {fail}, timeout: {late}}}}}\n"
        ),
        Kind::Sleep => format!(
            "  s{at}: {{{entry}actions: [{ask}, {{sleep: {{for: 1h}}}}], on: {{sleep: r{at}, fail: {fail}}}}}\n  \
             r{at}: {{kind: sleeping, on: {{timeout: {next}}}}}\n"
        ),
        Kind::Child => format!(
            "  s{at}: {{{entry}actions: [{ask}, \
             {{order: {{scenario: c, params: {{n: '${{response.body.n}}'}}, wait: true, request: c{at}_{OF_CHILD}, timeout: 1h}}}}, \
             {{http: {{url: 'http://h/{at}/1', body: '${{response.body.n}}'}}}}], on: {{success: {next}, fail: {fail}}}}}\n"
        ),
    }
}

/// A request that is answered later.
fn asked(at: usize, number: usize, soap: bool, cancels: Cancels) -> String {
    let (letter, body) = if soap { ('x', ", soap: '1.1', body: {xml: '<n/>'}") } else { ('q', "") };
    let cancel = match cancels {
        Cancels::Never => String::new(),
        Cancels::Early => format!(", cancel: {{http: {{method: DELETE, url: 'http://h/{at}/{number}'}}}}"),
        Cancels::Later => {
            format!(
                ", cancel: {{http: {{method: DELETE, url: 'http://h/{at}/{number}/${{response.body.n}}'}}}}"
            )
        }
    };
    format!("{{http: {{url: 'http://h/{at}/{number}', request: {letter}{at}_{number}{body}{cancel}}}}}")
}

/// Writes an action. The elements of an `each` have answers of their own: there may be none yet behind it.
fn written(act: Act, at: usize, slot: usize, is_answered: bool) -> String {
    let body = if is_answered { ", body: '${response.body.n}'" } else { "" };
    let url = |part: usize| format!("url: 'http://h/{at}/{}'{body}", slot * 10 + part);
    match act {
        Act::Release => "release".into(),
        Act::Http => format!("{{http: {{{}}}}}", url(0)),
        Act::Xml { soap } => {
            let content = if is_answered { "<n>${response.body.n}</n>" } else { "<n/>" };
            let soap = if soap { "soap: '1.1', " } else { "" };
            format!("{{http: {{{soap}url: 'http://h/{at}/{}', body: {{xml: '{content}'}}}}}}", slot * 10)
        }
        Act::Knows => {
            format!("{{http: {{url: 'http://h/{at}/{}', body: '${{callbacks.len()}}'}}}}", slot * 10)
        }
        Act::Choose { first } => format!(
            "{{choose: [{{when: 'params.n == {}', actions: [{{http: {{{}}}}}]}}, {{otherwise: [{{http: {{{}}}}}]}}]}}",
            if first { 7 } else { 8 },
            url(0),
            url(1)
        ),
        Act::Each => format!(
            "{{each: {{in: [{}, {}, {}], atOnce: 2, actions: [{{http: {{url: 'http://h/{at}/${{item}}'}}}}]}}}}",
            slot * 10,
            slot * 10 + 1,
            slot * 10 + 2
        ),
        Act::Parallel => format!(
            "{{parallel: [{{http: {{name: n{slot}a, {}}}}}, {{http: {{name: n{slot}b, {}}}}}]}}",
            url(0),
            url(1)
        ),
    }
}
