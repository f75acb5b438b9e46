//! What a page shows: commands with their answers, and files. Compares answers but for what differs from run to run.

/// A command, and the answer that is shown below it.
#[derive(Debug, PartialEq, Eq)]
pub struct Exchange {
    pub typed: String,
    pub answer: Vec<String>,
}

/// Blocks of a page, each with the word behind its fence.
fn blocks(page: &str) -> impl Iterator<Item = (&str, &str)> {
    page.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'))
}

/// The commands of a page in their order.
pub fn exchanges(page: &str) -> Vec<Exchange> {
    let mut all: Vec<Exchange> = Vec::new();
    for line in blocks(page).filter(|(language, _)| *language == "console").flat_map(|(_, text)| text.lines())
    {
        match line.strip_prefix("$ ") {
            Some(typed) => all.push(Exchange { typed: typed.to_owned(), answer: Vec::new() }),
            None => all.last_mut().expect("a command above its answer").answer.push(line.to_owned()),
        }
    }
    all
}

/// The files of a page: blocks whose first line is a comment with a name.
pub fn files(page: &str) -> impl Iterator<Item = (&str, &str)> {
    let files = blocks(page).filter(|(language, _)| *language == "yaml");
    files.filter_map(|(_, text)| Some((text.lines().next()?.strip_prefix("# ")?, text)))
}

/// True if an answer is what is shown. A line `…` stands for any lines, `…` within one for any signs.
pub fn matches(shown: &[String], answer: &[String]) -> bool {
    let plain = |lines: &[String]| -> Vec<String> {
        lines.iter().map(|line| masked(line)).filter(|line| !line.is_empty()).collect()
    };
    lines_match(&plain(shown), &plain(answer))
}

fn lines_match(shown: &[String], answer: &[String]) -> bool {
    match (shown, answer) {
        ([], answer) => answer.is_empty(),
        ([any, rest @ ..], answer) if any == "…" => {
            (0..=answer.len()).any(|skipped| lines_match(rest, &answer[skipped..]))
        }
        ([line, rest @ ..], [first, others @ ..]) => line_matches(line, first) && lines_match(rest, others),
        (_, []) => false,
    }
}

fn line_matches(shown: &str, line: &str) -> bool {
    let Some((first, rest)) = shown.split_once('…') else { return shown == line };
    let Some(mut left) = line.strip_prefix(first) else { return false };
    let parts: Vec<&str> = rest.split('…').collect();
    for (place, part) in parts.iter().enumerate() {
        if place + 1 == parts.len() {
            return left.ends_with(part);
        }
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    true
}

/// A line with one sign in place of each thing that differs from run to run.
fn masked(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_number = |at: usize| at == 1 && words[0] == "number";
    let is_count = |at: usize| words.get(at + 1).is_some_and(|unit| unit.starts_with("ms") || *unit == "%");
    let words = words.iter().enumerate().map(|(at, word)| {
        let bare = word.trim_matches(|sign: char| "(),;:".contains(sign));
        let differs = is_number(at) || is_count(at) || is_time(bare) || is_duration(bare) || is_chart(bare);
        if differs { word.replace(bare, "*") } else { without_names(word) }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn is_time(word: &str) -> bool {
    word.ends_with('Z') && word.contains('T') && word.starts_with(|sign: char| sign.is_ascii_digit())
}

fn is_duration(word: &str) -> bool {
    let is_inside = |sign: char| sign.is_ascii_digit() || "hms".contains(sign);
    word.starts_with(|sign: char| sign.is_ascii_digit())
        && word.ends_with(['h', 'm', 's'])
        && word.chars().all(is_inside)
}

fn is_chart(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|sign| "·▁▂▃▄▅▆▇█".contains(sign))
}

/// A word without the number of a worker, or the port behind an address.
fn without_names(word: &str) -> String {
    let mut word = word.to_owned();
    for name in ["worker-", "127.0.0.1:"] {
        if let Some((before, after)) = word.split_once(name) {
            word = format!("{before}{name}*{}", after.trim_start_matches(|sign: char| sign.is_ascii_digit()));
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_shown(shown: &str, answer: &str) -> bool {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        matches(&lines(shown), &lines(answer))
    }

    #[test]
    fn run_1_answers_are_compared_but_for_what_differs_from_run_to_run() {
        for (shown, answer) in [
            ("a  b", "a    b\n"),
            (
                "at 2026-11-27T07:38:41.172Z, (2s) 5 ms on worker-1",
                "at 2027-01-01T00:00:00Z, (1h3m) 17 ms on worker-12",
            ),
            ("…\nb\n…\nd", "a\nb\nc\nd"),
            ("…", ""),
            ("from … to x … end", "from a to x b end"),
            ("number  2", "number  17"),
            ("97.2 % of POST 127.0.0.1:1/do", "3.0 % of POST 127.0.0.1:20456/do"),
        ] {
            assert!(is_shown(shown, answer), "{shown} | {answer}");
        }
        for (shown, answer) in [
            ("a", "a\nb"),
            ("a\nb", "a"),
            ("", "error: something"),
            ("…\nb", "a\nb\nc"),
            ("status success", "status fail"),
            ("life 1, stages 2", "life 1, stages 3"),
            ("from … to x", "from a to y"),
        ] {
            assert!(!is_shown(shown, answer), "{shown} | {answer}");
        }
    }

    #[test]
    fn run_1_commands_and_files_of_a_page_are_found() {
        let page = "a\n```console\n$ one\n1\n$ two\n```\n```sh\nno\n```\n```yaml\n# a.yaml\nb: 1\n```\n";
        let typed = |typed: &str, answer: &[&str]| Exchange {
            typed: typed.to_owned(),
            answer: answer.iter().map(|line| (*line).to_owned()).collect(),
        };
        assert_eq!(exchanges(page), [typed("one", &["1"]), typed("two", &[])]);
        assert_eq!(files(page).collect::<Vec<_>>(), [("a.yaml", "# a.yaml\nb: 1\n")]);
    }
}
