//! A batch that the database refuses is halved until what it refuses stands alone.

use pagurus_store::Error;

/// Carries items out together, and by halves where one of them may be the cause of a failure.
/// Returns an outcome for each of the first items, in their order, and the failure that
/// concerns all of the rest, if there was one. If `wary`, whatever the server itself answered is taken for
/// the fault of one item: it has happened again and again while the server was well.
pub(super) async fn by_halves<'a, T, R, F>(
    items: &'a [T],
    wary: bool,
    carry_out: impl Fn(&'a [T]) -> F,
) -> (Vec<Result<R, Error>>, Option<Error>)
where
    F: Future<Output = Result<Vec<R>, Error>>,
{
    let mut outcomes = Vec::with_capacity(items.len());
    // What is still to be tried, the first on top.
    let mut open = vec![items];
    while let Some(part) = open.pop() {
        if part.is_empty() {
            continue;
        }
        match carry_out(part).await {
            Ok(done) => outcomes.extend(done.into_iter().map(Ok)),
            Err(error)
                if error.is_transient() && !error.is_contention() && !(wary && error.is_of_server()) =>
            {
                return (outcomes, Some(error));
            }
            Err(_) if part.len() > 1 => {
                let (first, second) = part.split_at(part.len() / 2);
                open.extend([second, first]);
            }
            Err(error) => outcomes.push(Err(error)),
        }
    }
    (outcomes, None)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn of_value() -> Error {
        Error::Schema("a value".to_owned())
    }

    /// Error of a database that is away.
    async fn nobody_there() -> Error {
        let options = pagurus_store::Options {
            connect_timeout: std::time::Duration::from_secs(1),
            ..pagurus_store::Options::of("postgres://nobody@127.0.0.1:1/nothing", "test")
        };
        pagurus_store::Store::new(&options).unwrap().work().await.unwrap_err()
    }

    #[tokio::test]
    async fn qlt_8_one_bad_item_stands_alone_and_all_others_are_carried_out_in_order() {
        let items: Vec<u32> = (0..1000).collect();
        let calls = std::cell::Cell::new(0);
        let (outcomes, failure) = by_halves(&items, false, |part: &[u32]| {
            calls.set(calls.get() + 1);
            let bad = part.contains(&13) || part.contains(&999);
            std::future::ready(if bad { Err(of_value()) } else { Ok(part.to_vec()) })
        })
        .await;
        assert!(failure.is_none());
        for (item, outcome) in items.iter().zip(&outcomes) {
            match outcome {
                Ok(done) => assert_eq!(done, item),
                Err(_) => assert!([13, 999].contains(item), "{item}"),
            }
        }
        assert_eq!(outcomes.len(), 1000);
        assert!(calls.get() < 50, "{}", calls.get());
    }

    #[tokio::test]
    async fn amqp_2_what_concerns_all_ends_the_work_and_leaves_the_rest() {
        let items: Vec<u32> = (0..100).collect();
        let (outcomes, failure) = by_halves(&items, false, async |part: &[u32]| match part {
            part if part.len() > 25 => Err(of_value()),
            part if part[0] >= 50 => Err(nobody_there().await),
            part => Ok(part.to_vec()),
        })
        .await;
        assert_eq!(outcomes.len(), 50);
        assert!(failure.is_some_and(|error| error.is_transient()));
    }
}
