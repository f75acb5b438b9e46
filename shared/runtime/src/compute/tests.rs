//! Tests of code on threads apart.

use std::sync::atomic::AtomicUsize;

use super::*;

fn code(version: i32) -> Arc<ScenarioCode> {
    Arc::new(ScenarioCode::of(ScenarioNo(version)))
}

async fn run<T: Send + 'static>(
    computing: &Computing,
    code: &Arc<ScenarioCode>,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    computing.run(computing.slot(code).await, code, work).await
}

/// Uses the processor until `done`, asking for the time as scripts do.
fn work_until(done: impl Fn() -> bool) {
    while !done() {
        let _ = script_clock();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn scn_5_endless_code_leaves_the_threads_of_the_runtime_to_the_others() {
    let computing = Computing(Slots::new(1));
    let is_over = Arc::new(AtomicBool::new(false));
    let endless: Vec<_> = (0..40)
        .map(|number| {
            let (computing, is_over, code) = (computing.clone(), is_over.clone(), code(number % 3));
            tokio::spawn(async move {
                run(&computing, &code, move || work_until(|| is_over.load(Ordering::Relaxed))).await
            })
        })
        .collect();
    let short = code(99);
    for number in 0..20 {
        assert_eq!(run(&computing, &short, move || number + 1).await, number + 1);
    }
    assert!(short.is_quick());
    is_over.store(true, Ordering::Relaxed);
    for one in endless {
        one.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scn_5_code_gives_its_place_to_another_version_and_its_clock_stands_still_meanwhile() {
    let computing = Computing(Slots::new(1));
    let begun = Arc::new(AtomicUsize::new(0));
    // Each ends only after all three have begun, which they do one after the other.
    let start = |version| {
        let (computing, begun) = (computing.clone(), begun.clone());
        tokio::spawn(async move {
            let work = move || {
                let at = (Instant::now(), script_clock());
                begun.fetch_add(1, Ordering::SeqCst);
                work_until(|| begun.load(Ordering::SeqCst) >= 3);
                let by_clock = script_clock().saturating_sub(at.1);
                (at.0.elapsed(), by_clock)
            };
            run(&computing, &code(version), work).await
        })
    };
    let runs = [start(1), start(2), start(3)];
    let mut stood_still = 0;
    for one in runs {
        let (passed, by_clock) = one.await.unwrap();
        assert!(by_clock <= passed, "{by_clock:?} of {passed:?}");
        stood_still += usize::from(by_clock + QUANTUM / 2 < passed);
    }
    assert!(stood_still >= 1, "the first one waited for the others");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scn_5_code_that_nobody_waits_for_any_more_is_over_and_so_is_what_it_runs_next() {
    let computing = Computing(Slots::new(1));
    let (tell, heard) = std::sync::mpsc::channel();
    let work = move || {
        for _ in 0..2 {
            // As a run of a script ends.
            let ends_at = script_clock() + Duration::from_secs(24 * 3600);
            tell.send(()).unwrap();
            work_until(|| script_clock() > ends_at);
        }
    };
    let running = tokio::spawn({
        let computing = computing.clone();
        async move { run(&computing, &code(1), work).await }
    });
    heard.recv().unwrap();
    running.abort();
    // The slot comes back.
    run(&computing, &code(2), || ()).await;
    assert_eq!(heard.try_iter().count(), 1);
}

#[tokio::test]
async fn scn_5_a_panic_of_code_apart_is_one_of_the_caller_and_gives_the_place_back() {
    let computing = Computing(Slots::new(1));
    let broken = tokio::spawn({
        let computing = computing.clone();
        async move { run(&computing, &code(1), || panic!("a defect")).await }
    });
    assert!(broken.await.unwrap_err().is_panic());
    assert_eq!(run(&computing, &code(2), || 1).await, 1);
}

#[test]
fn scn_5_code_that_was_long_is_quick_again_only_after_quick_runs_by_its_length() {
    let code = code(1);
    assert!(!code.is_quick(), "it has not run yet");
    code.note(Duration::ZERO);
    assert!(code.is_quick(), "one run shows it");
    for times in [1, 200] {
        code.note(QUICK * times + Duration::from_nanos(1));
        for _ in 0..QUICK_AGAIN * times {
            assert!(!code.is_quick());
            code.note(QUICK);
        }
        assert!(code.is_quick());
    }
}
