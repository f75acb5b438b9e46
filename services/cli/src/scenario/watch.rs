//! `pagurus scenario watch`: checks, tests and applies scenarios whenever their files change.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::Args;
use pagurus_scenario::LibraryEntry;
use pagurus_scenario::deployment::Deployment;
use pagurus_scenario::source::operations_of;

use super::files::{self, files_in, holds_tests, is_scenario, is_scenario_or_tests};
use super::{apply, check, deployment_of, trial};
use crate::client::ApiClient;
use crate::failure::CliError;
use crate::failure_text;
use crate::input;
use crate::screen::Screen;

/// Interval of looks at the files, which read names, sizes and times.
const EVERY: Duration = Duration::from_millis(300);

/// Files to watch, and what to do with them.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// YAML or JSON files, or folders with them; files added to a folder later are also watched
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Only check and test; store nothing in the engine
    #[arg(long)]
    no_apply: bool,
}

impl Arguments {
    /// Arguments that watch this folder, and apply what is in it.
    pub(crate) fn of_folder(folder: PathBuf) -> Self {
        Self { files: vec![folder], no_apply: false }
    }
}

/// Watches until Ctrl-C.
pub(crate) async fn run(
    arguments: &Arguments,
    client: &ApiClient,
    config: Option<&Path>,
    screen: &Screen,
) -> Result<(), CliError> {
    let mut watch = ScenarioWatch {
        arguments,
        client,
        config,
        deployment: deployment_of(config)?,
        screen,
        handled: FilesSeen::new(),
        not_applied: BTreeSet::new(),
    };
    if look(&arguments.files)?.is_empty() {
        screen.note(files::NONE);
    }
    screen.note("watching; Ctrl-C stops");
    tokio::select! {
        ended = watch.go_on() => ended,
        _ = tokio::signal::ctrl_c() => Ok(()),
    }
}

/// Time and size of each file.
type FilesSeen = BTreeMap<PathBuf, (SystemTime, u64)>;

/// Looks at all files. One that goes away meanwhile is left out.
fn look(paths: &[PathBuf]) -> Result<FilesSeen, CliError> {
    let found = files_in(paths, is_scenario_or_tests)?;
    let look = |path: PathBuf| {
        let facts = path.metadata().ok()?;
        Some((path, (facts.modified().ok()?, facts.len())))
    };
    Ok(found.into_iter().filter_map(look).collect())
}

/// Files that are new or other than before.
fn changed(before: &FilesSeen, now: &FilesSeen) -> BTreeSet<PathBuf> {
    now.iter()
        .filter(|(path, facts)| before.get(*path) != Some(facts))
        .map(|(path, _)| path.clone())
        .collect()
}

/// Files of one round.
#[derive(Debug, Default, PartialEq, Eq)]
struct ChangedFiles {
    scenarios: BTreeSet<PathBuf>,
    tests: BTreeSet<PathBuf>,
}

impl ChangedFiles {
    /// The round for these changes among all files. A scenario brings its tests, and an operation those that run it.
    fn of(
        changed: &BTreeSet<PathBuf>,
        all: &FilesSeen,
        operations_in: impl Fn(&Path) -> OperationNames,
        scenario_of: impl Fn(&Path) -> PathBuf,
    ) -> Self {
        let known: Vec<(&PathBuf, OperationNames)> =
            all.keys().filter(|path| is_scenario(path)).map(|path| (path, operations_in(path))).collect();
        let mut scenarios: BTreeSet<PathBuf> =
            changed.iter().filter(|path| is_scenario(path)).cloned().collect();
        // Operations run operations.
        loop {
            let inside = known.iter().filter(|(path, _)| scenarios.contains(*path));
            let names: BTreeSet<&String> = inside.filter_map(|(_, one)| one.own.as_ref()).collect();
            let outside = known.iter().filter(|(path, _)| !scenarios.contains(*path));
            let reached = outside.filter(|(_, one)| one.runs.iter().any(|name| names.contains(name)));
            let reached: Vec<PathBuf> = reached.map(|(path, _)| (*path).clone()).collect();
            if reached.is_empty() {
                break;
            }
            scenarios.extend(reached);
        }
        let tests = all.keys().filter(|path| holds_tests(path));
        let tests = tests.filter(|path| changed.contains(*path) || scenarios.contains(&scenario_of(path)));
        Self { tests: tests.cloned().collect(), scenarios }
    }
}

/// Names in the file of a scenario.
#[derive(Default)]
struct OperationNames {
    /// Name of the scenario, by which others may run it.
    own: Option<String>,
    /// Names of the operations that it runs.
    runs: BTreeSet<String>,
}

impl OperationNames {
    /// Reads a file. One that cannot be read has none.
    fn read(path: &Path) -> Self {
        let Ok(text) = input::text_of(path) else { return Self::default() };
        Self {
            own: LibraryEntry::of_text(&text, None).map(|entry| entry.name),
            runs: operations_of(&text).into_iter().map(|(name, _)| name).collect(),
        }
    }
}

/// State of a watch.
struct ScenarioWatch<'a> {
    arguments: &'a Arguments,
    client: &'a ApiClient,
    config: Option<&'a Path>,
    deployment: Deployment,
    screen: &'a Screen,
    /// Files as they were in the last round.
    handled: FilesSeen,
    /// Scenarios that are fine, and that no server has taken yet.
    not_applied: BTreeSet<PathBuf>,
}

impl ScenarioWatch<'_> {
    async fn go_on(&mut self) -> Result<(), CliError> {
        let mut last = None;
        loop {
            let now = look(&self.arguments.files)?;
            // An editor may write in steps: what has just changed is looked at once more.
            if last.as_ref() == Some(&now) {
                let changed = changed(&self.handled, &now);
                if !changed.is_empty() {
                    let round = ChangedFiles::of(&changed, &now, OperationNames::read, trial::scenario_of);
                    self.handled.clone_from(&now);
                    self.say(&changed);
                    self.round(round).await;
                } else if !self.not_applied.is_empty() {
                    self.apply(true).await;
                }
            }
            last = Some(now);
            tokio::time::sleep(EVERY).await;
        }
    }

    fn say(&self, changed: &BTreeSet<PathBuf>) {
        let names: Vec<String> = changed.iter().take(3).map(|path| input::name_of(path)).collect();
        let more = changed.len().saturating_sub(names.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        self.screen.note(&format!("==> {}{more}", names.join(", ")));
    }

    /// Judges each scenario with its tests by itself, so that one with a fault holds no other back, and applies those that are fine.
    async fn round(&mut self, round: ChangedFiles) {
        let (mut changed, mut alone) = (BTreeMap::new(), Vec::new());
        changed.extend(round.scenarios.into_iter().map(|scenario| (scenario, Vec::new())));
        for tests in round.tests {
            changed.get_mut(&trial::scenario_of(&tests)).unwrap_or(&mut alone).push(tests);
        }
        for (scenario, tests) in changed {
            if self.is_fine(Some(&scenario), &tests) {
                self.not_applied.insert(scenario);
                continue;
            }
            if !self.arguments.no_apply {
                self.screen.note(&format!("{}: not applied", input::name_of(&scenario)));
            }
            self.not_applied.remove(&scenario);
        }
        if !alone.is_empty() {
            self.is_fine(None, &alone);
        }
        if self.arguments.no_apply {
            self.not_applied.clear();
        }
        self.apply(false).await;
    }

    /// True if these files have no fault, and all tests pass; otherwise the reason is shown.
    fn is_fine(&self, scenario: Option<&PathBuf>, tests: &[PathBuf]) -> bool {
        let files: Vec<PathBuf> = scenario.into_iter().chain(tests).cloned().collect();
        // A server may run in this process: its threads go on meanwhile.
        let judged = tokio::task::block_in_place(|| {
            check::check(&files, false, self.config, self.screen)?;
            if tests.is_empty() {
                return Ok(());
            }
            trial::run(tests, &trial::TrialArguments::default(), &self.deployment, self.screen)
        });
        judged.inspect_err(|failure| self.show(failure)).is_ok()
    }

    /// Gives the engine what it does not have yet. One that is away has it once it is back.
    async fn apply(&mut self, is_repeat: bool) {
        if self.not_applied.is_empty() {
            return;
        }
        let files: Vec<PathBuf> = self.not_applied.iter().cloned().collect();
        match apply::run(&files, apply::Way::Store(None), self.client, self.screen).await {
            Err(failure) if failure.is_away() => {
                if !is_repeat {
                    self.show(&failure);
                    self.screen.note("applied once it answers");
                }
            }
            outcome => {
                self.not_applied.clear();
                if let Err(failure) = outcome {
                    self.show(&failure);
                }
            }
        }
    }

    fn show(&self, failure: &CliError) {
        if !matches!(failure, CliError::Reported(_)) {
            failure_text::show(failure, self.screen);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn looked(files: &[(&str, u64)]) -> FilesSeen {
        files.iter().map(|(name, size)| (PathBuf::from(name), (SystemTime::UNIX_EPOCH, *size))).collect()
    }

    fn paths(names: &[&str]) -> BTreeSet<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn scn_13_a_round_has_what_was_changed_with_all_that_depends_on_it() {
        let all = looked(&[
            ("a.yaml", 1),
            ("a.test.yaml", 1),
            ("b.yaml", 1),
            ("b.test.yaml", 1),
            ("c.yaml", 1),
            ("d.yaml", 1),
            ("other.test.yaml", 1),
        ]);
        let scenario_of = |tests: &Path| match tests.to_str().unwrap() {
            "other.test.yaml" => PathBuf::from("a.yaml"),
            name => PathBuf::from(name.replace(".test", "")),
        };
        // `a` runs `b`, and `b` runs `c`.
        let operations_in = |path: &Path| {
            let own = path.to_str().unwrap().replace(".yaml", "");
            let runs = [("a", "b"), ("b", "c")].into_iter().filter(|(user, _)| *user == own);
            OperationNames { runs: runs.map(|(_, name)| name.to_owned()).collect(), own: Some(own) }
        };
        let round = |changed: &[&str]| ChangedFiles::of(&paths(changed), &all, operations_in, scenario_of);
        let of = |scenarios: &[&str], tests: &[&str]| ChangedFiles {
            scenarios: paths(scenarios),
            tests: paths(tests),
        };
        assert_eq!(round(&["a.yaml"]), of(&["a.yaml"], &["a.test.yaml", "other.test.yaml"]));
        assert_eq!(round(&["b.test.yaml"]), of(&[], &["b.test.yaml"]));
        let every = ["a.test.yaml", "b.test.yaml", "other.test.yaml"];
        assert_eq!(round(&["c.yaml"]), of(&["a.yaml", "b.yaml", "c.yaml"], &every));
        assert_eq!(round(&["d.yaml"]), of(&["d.yaml"], &[]));
    }

    #[test]
    fn scn_13_a_file_that_is_new_longer_or_touched_is_changed_and_one_that_went_away_is_not() {
        let before = looked(&[("same", 1), ("longer", 1), ("gone", 1)]);
        let mut now = looked(&[("same", 1), ("longer", 2), ("new", 0)]);
        assert_eq!(changed(&before, &now), paths(&["longer", "new"]));
        now.get_mut(Path::new("same")).unwrap().0 = SystemTime::now();
        assert_eq!(changed(&before, &now), paths(&["longer", "new", "same"]));
    }
}
