//! The workflow in the words of Mermaid. Names of states never become identifiers there: they may
//! hold what would end the line.

use std::fmt::Write as _;

use pagurus_scenario::{Scenario, StateKind};

use super::{Tone, runs, tone, ways};

/// See [`super::mermaid()`].
pub(super) fn write(scenario: &Scenario) -> String {
    let mut out = String::from("stateDiagram-v2\n");
    for (at, state) in scenario.states.iter().enumerate() {
        let runs = runs(state);
        let kind = match state.kind {
            StateKind::Plain if !runs.is_empty() => format!(" (runs {runs})"),
            StateKind::Plain => String::new(),
            kind => format!(" ({kind})"),
        };
        // Writing into a String cannot fail.
        let _ = writeln!(out, "    state \"{}{}\" as s{at}", escaped(&state.name), escaped(&kind));
    }
    let _ = writeln!(out, "    [*] --> s{}", scenario.initial.0);
    for way in ways(scenario) {
        let _ = writeln!(out, "    s{} --> s{} : {}", way.from, way.to, escaped(&way.label()));
    }
    let ends = |wanted: Tone| -> Vec<String> {
        let states = (0..scenario.states.len()).filter(|at| tone(scenario, *at) == wanted);
        states.map(|at| format!("s{at}")).collect()
    };
    for (at, _) in scenario.states.iter().enumerate().filter(|(at, _)| tone(scenario, *at) != Tone::Between) {
        let _ = writeln!(out, "    s{at} --> [*]");
    }
    for (tone, class, colours) in [
        (Tone::Target, "target", "fill:#d7f0dd,stroke:#1a7f37,color:#0b3d1b"),
        (Tone::Fail, "fail", "fill:#fbdcdc,stroke:#b42318,color:#5a120c"),
    ] {
        let states = ends(tone);
        if !states.is_empty() {
            let _ = writeln!(out, "    classDef {class} {colours}");
            let _ = writeln!(out, "    class {} {class}", states.join(","));
        }
    }
    out
}

/// Mermaid's own escapes: `#`, a code, `;`.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_alphanumeric() || " ._-(),".contains(letter) {
            out.push(letter);
        } else {
            let _ = write!(out, "#{};", u32::from(letter));
        }
    }
    out
}
