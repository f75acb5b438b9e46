//! Property for any small operation and any world: run by a workflow among its actions, it makes the same requests as alone,
//! with the same variables and the same repeats, and a crash at any point changes nothing (SCN-19).

use proptest::prelude::*;

use super::wide::{Made, Seen, World};
use super::wide_operation::{Course, Step, Vars, operations, text};
use super::wide_play::{Ran, Trial, distinct, trial};
use super::*;

/// Number by which calls tell what calls from outside have set: an operation among the actions of another scenario does not
/// see it.
const CALLED: i64 = 1_000_000;
const ANSWER: i64 = 1_000_000_000;
/// Seconds for which a sequential order may hold its queue, more than any life takes.
const LONG: i64 = 100 * 24 * 3600;

/// A workflow that runs the operation, `depth` deep inside of others that do nothing else.
fn workflow(steps: &[Step], depth: usize) -> (String, Vec<String>) {
    let alone = text(steps);
    let (head, tail) = alone.split_once("actions:\n").unwrap();
    // The first savepoint has no part before it.
    let cut = if steps[0] == Step::Savepoint { tail.find('\n').unwrap() + 1 } else { 0 };
    let (first, rest) = tail.split_at(cut);
    let (rest, calls) = rest.split_once("calls: ").unwrap();
    let inner = format!("{head}actions:\n{first}  - script: 'vars.n = params.n; vars.m = 0'\n{rest}");
    let mut operations = vec![inner];
    for level in 1..depth {
        let below = if level == 1 { "s".to_owned() } else { format!("s{}", level - 1) };
        operations.push(format!(
            "scenario: s{level}\nkind: operation\nactions:\n  - do: {{operation: {below}, params: '${{params}}'}}\n"
        ));
    }
    let outer = if depth == 1 { "s".to_owned() } else { format!("s{}", depth - 1) };
    let whole = format!(
        "scenario: w\ninitialState: a\nstates:\n  a:\n    actions: [{{do: {{operation: {outer}, params: {{n: 0}}}}}}]\n    \
         on: {{success: done, fail: failed}}\n  done: {{kind: terminal}}\n  failed: {{kind: terminal, outcome: fail}}\ncalls: {calls}"
    );
    (whole, operations)
}

fn run(
    text: String,
    operations: Vec<String>,
    world: &World,
    longest: Option<i64>,
    crashes: &[u8],
    holds: bool,
) -> Ran {
    let begin = Snapshot { vars: Vars::default().map(), ..Snapshot::default() };
    trial(Trial { text, operations, world, begin, repair: None, longest, crashes, holds, kept: &[] })
}

/// Everything that was seen but for the names of states, and for what calls from outside have set.
fn outside(seen: &Seen) -> Seen {
    let without =
        |made: &Made| Made { body: made.body.map(|n| n % CALLED + n / ANSWER * ANSWER), ..made.clone() };
    Seen { path: Vec::new(), calls: seen.calls.iter().map(without).collect(), ..seen.clone() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn scn_19_an_operation_in_a_workflow_does_what_it_does_alone(
        steps in operations(),
        depth in 1..4_usize,
        longest in prop::option::of(prop_oneof![Just(LONG), 5..400_i64]),
        dice in prop::collection::vec(any::<u8>(), 1..60),
        crashes in prop::collection::vec(any::<u8>(), 1..30),
        holds in any::<bool>(),
    ) {
        let world = World { dice, is_quiet: longest.is_some() };
        let course = Course::of(&steps, &world);
        let begin = Snapshot { vars: course.vars.map(), ..Snapshot::default() };
        let alone = trial(Trial {
            text: text(&steps), operations: Vec::new(), world: &world, begin, repair: None, longest, crashes: &[], holds: false, kept: &[],
        });
        prop_assume!(alone.seen.end != "loop");
        let (whole, operations) = workflow(&steps, depth);
        let inside = run(whole.clone(), operations.clone(), &world, longest, &[], false);
        prop_assert_eq!(outside(&inside.seen), outside(&alone.seen), "{}{}", whole, operations.join("\n"));
        let mut different: Vec<&Uuid> = inside.keys.values().collect();
        different.sort_unstable();
        different.dedup();
        prop_assert_eq!(different.len(), inside.keys.len(), "no two requests share a key");
        // What dies or is held takes time, which a short bound of the queue counts.
        if longest.is_some_and(|longest| longest < LONG) {
            return Ok(());
        }
        let bumpy = run(whole, operations, &world, longest, &crashes, holds);
        prop_assert_eq!((distinct(&inside.seen.calls), inside.keys), (distinct(&bumpy.seen.calls), bumpy.keys));
        prop_assert_eq!(Seen { calls: inside.seen.calls.clone(), ..bumpy.seen }, inside.seen);
    }
}
