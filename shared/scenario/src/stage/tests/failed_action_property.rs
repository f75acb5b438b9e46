//! Property for random states of calls: however often they fail, repairs at the failed action lead to the end that a life
//! without failures has, and no call that went through is made again (ORD-23).

use proptest::collection::vec;
use proptest::prelude::*;

use super::failed_action::again_at_failure;
use super::*;

/// An action of the state, by what it calls.
#[derive(Clone, Debug)]
enum Kind {
    Call,
    /// A call whose answer 0 the script behind it refuses.
    Judged,
    Parallel(usize),
    /// Elements, those at once, and calls of each.
    Each(usize, usize, usize),
    /// Elements whose failures are kept, and refused by the script behind them.
    Collect(usize),
    /// An operation of this kind.
    Inside(Box<Self>),
}

fn kinds() -> impl Strategy<Value = Kind> {
    let leaf = prop_oneof![
        Just(Kind::Call),
        Just(Kind::Judged),
        (2..5_usize).prop_map(Kind::Parallel),
        (1..6_usize, 1..4_usize, 1..3_usize)
            .prop_map(|(all, at_once, calls)| Kind::Each(all, at_once, calls)),
        (1..5_usize).prop_map(Kind::Collect),
    ];
    (leaf, prop::bool::weighted(0.2))
        .prop_map(|(kind, inside)| if inside { Kind::Inside(Box::new(kind)) } else { kind })
}

impl Kind {
    /// Text of its actions, with names and paths that begin with this number.
    fn text(&self, at: usize) -> String {
        let call = |path: &str, name: &str| {
            format!(
                "http: {{name: {name}, url: 'http://h/{path}', body: '${{vars}}', save: {{v{name}: '${{response.body}}'}}}}"
            )
        };
        match self {
            Self::Call => format!("- {}\n", call(&at.to_string(), &format!("n{at}"))),
            Self::Judged => format!(
                "- {}\n- script: 'if response.body == 0 {{ fail(\"refused\") }}'\n",
                call(&at.to_string(), &format!("n{at}"))
            ),
            Self::Parallel(steps) => {
                let steps: Vec<String> = (0..*steps)
                    .map(|step| format!("{{{}}}", call(&format!("{at}/{step}"), &format!("n{at}x{step}"))))
                    .collect();
                format!("- parallel: [{}]\n", steps.join(", "))
            }
            Self::Each(all, at_once, calls) => {
                let list: Vec<usize> = (0..*all).collect();
                let calls: Vec<String> = (0..*calls)
                    .map(|call| format!("{{http: {{url: 'http://h/{at}/${{item}}/{call}'}}}}"))
                    .collect();
                format!(
                    "- each: {{in: {list:?}, atOnce: {at_once}, actions: [{}], save: {{v{at}: '${{response.body}}'}}}}\n",
                    calls.join(", ")
                )
            }
            Self::Collect(all) => {
                let list: Vec<usize> = (0..*all).collect();
                format!(
                    "- each: {{in: {list:?}, onError: collect, actions: [{{http: {{url: 'http://h/{at}/${{item}}'}}}}], save: {{v{at}: '${{response.body}}'}}}}\n\
                     - script: 'for one in vars.v{at} {{ if type_of(one) == \"map\" {{ fail(\"one failed\") }} }}'\n"
                )
            }
            Self::Inside(kind) => {
                format!("- do: {{operation: o{at}, save: {{v{at}: '${{result}}'}}}}\n# {kind:?}\n")
            }
        }
    }

    /// The operation that it is, if it is one.
    fn operation(&self, at: usize) -> Option<String> {
        let Self::Inside(kind) = self else { return None };
        Some(format!(
            "scenario: o{at}\nkind: operation\nactions:\n{}- script: 'result(vars)'\n",
            kind.text(at)
        ))
    }
}

/// Failures of calls, by the order in which these are made, over and over.
#[derive(Clone, Debug)]
struct Luck {
    /// 0 to 2: answered; 3: refused for good; 4: in trouble, to be repeated; 5: answered 0, which scripts may refuse.
    fates: Vec<u8>,
    left: usize,
    made: usize,
    answered: BTreeMap<String, usize>,
}

impl Luck {
    fn new(fates: &[u8], failures: usize) -> Self {
        Self { fates: fates.to_vec(), left: failures, made: 0, answered: BTreeMap::new() }
    }

    /// The answer to a call, in short words. Each path has a value of its own.
    fn answer(&mut self, url: &str, judged: &[String]) -> String {
        let fate = self.fates[self.made % self.fates.len()];
        self.made += 1;
        let path = url.trim_start_matches("http://h/").to_owned();
        let is_judged = judged.contains(&path);
        let fails = self.left > 0 && (fate == 3 || fate == 4 || (fate == 5 && is_judged));
        self.left -= usize::from(fails);
        match fate {
            3 if fails => "404".to_owned(),
            4 if fails => "503".to_owned(),
            5 if fails => "200 0".to_owned(),
            _ => {
                let value: usize = path.bytes().map(usize::from).sum::<usize>() * 31 + path.len();
                *self.answered.entry(path).or_default() += 1;
                format!("200 {value}")
            }
        }
    }
}

/// A scenario of one state with these actions.
fn play_of(kinds: &[Kind]) -> Play {
    let actions: String = kinds.iter().enumerate().map(|(at, kind)| kind.text(at)).collect();
    let actions: String = actions.lines().map(|line| format!("      {line}\n")).collect();
    let text = format!(
        "scenario: s\ninitialState: a\nstates:\n  a:\n    actions:\n{actions}    on: {{success: done, fail: failed}}\n  \
         done: {{kind: terminal}}\n  failed: {{kind: terminal, outcome: fail}}\n"
    );
    let operations: Vec<String> =
        kinds.iter().enumerate().filter_map(|(at, kind)| kind.operation(at)).collect();
    Play::with_operations(&text, &operations.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Runs a stage against this luck.
fn stage(
    play: &Play,
    settings: &Arc<StageSettings>,
    (wake, due): (Wake, Timestamp),
    luck: &mut Luck,
    judged: &[String],
) -> StageEnd {
    let callbacks = serde_json::Map::new();
    let input = input(&play.params, &callbacks, play.snapshot.clone(), wake, due);
    let settings = Arc::clone(settings);
    let mut stage = Stage::resume(play.scenario.clone(), settings, play.facts.clone(), input, due).unwrap();
    let mut need = stage.next(due);
    loop {
        let answer = match &need {
            Need::Done(end) => return (**end).clone(),
            Need::Save(_) => Answer::Saved,
            Need::Http(call) => said(&luck.answer(&call.url, judged)),
            Need::Parallel(calls) => {
                let answers: Vec<String> = calls.iter().map(|call| luck.answer(&call.url, judged)).collect();
                said_at_once(&answers.join(" | "), calls.len())
            }
            other => panic!("{other:?}"),
        };
        need = stage.answer(answer, due, 0.5);
    }
}

/// Runs until the order ends well, and repairs it whenever it fails; `hurries` says which retries are made at once by hand.
fn run(kinds: &[Kind], luck: &mut Luck, hurries: &[bool]) -> StageEnd {
    let judged: Vec<String> = kinds
        .iter()
        .enumerate()
        .filter(|(_, kind)| {
            let inner = if let Kind::Inside(inner) = kind { &**inner } else { kind };
            matches!(inner, Kind::Judged)
        })
        .map(|(at, _)| at.to_string())
        .collect();
    let mut play = play_of(kinds);
    let settings = Arc::new(settings(Scripting::new(script::Limits::default()), Bounds::default()));
    let (mut wake, mut due): (Wake, Timestamp) = (Wake::Start, START.parse().unwrap());
    for round in 0..200 {
        let end = stage(&play, &settings, (wake, due), luck, &judged);
        (wake, due) = match &end.then {
            Then::End { status: Status::Success, .. } => return end,
            Then::Retry { at, .. } if !hurries[round % hurries.len()] => {
                play.snapshot = Snapshot::from_text(&end.snapshot.to_text()).unwrap();
                (Wake::Retry, *at)
            }
            _ => {
                play = again_at_failure(play, &end);
                (Wake::Start, later(due, Duration::from_secs(1)))
            }
        };
    }
    panic!("the order does not come to its end");
}

proptest! {
    #[test]
    fn ord_23_repairs_at_the_failed_action_lead_to_the_end_of_a_life_without_failures(
        kinds in vec(kinds(), 1..6),
        fates in vec(0..6_u8, 1..40),
        failures in 0..12_usize,
        hurries in vec(any::<bool>(), 1..8),
    ) {
        let mut smooth = Luck::new(&[0], 0);
        let expected = run(&kinds, &mut smooth, &[false]);
        let mut luck = Luck::new(&fates, failures);
        let ended = run(&kinds, &mut luck, &hurries);
        prop_assert_eq!(&ended.snapshot.vars, &expected.snapshot.vars);
        // A call of an operation is made again from its savepoint on: what comes before the failure in it is repeated.
        let is_inside = |path: &str| {
            let at: usize = path.split('/').next().unwrap().parse().unwrap();
            matches!(&kinds[at], Kind::Inside(_))
        };
        for (path, times) in &luck.answered {
            prop_assert!(*times == 1 || is_inside(path), "{path} was answered {times} times: {:?}", luck.answered);
        }
        prop_assert_eq!(luck.answered.keys().collect::<Vec<_>>(), smooth.answered.keys().collect::<Vec<_>>());
    }
}
