//! Tasks of a service in the background: each says what a turn does and when the next one follows. Waiting, service and
//! drain are the same for all, and stand here.

use std::future::Future;
use std::time::Duration;

use crate::Host;
use crate::config::Settings;

/// Time of the next turn of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextTurn {
    /// At once: there is more to do.
    AtOnce,
    /// After the pause of the task.
    AfterPause,
    /// After this time.
    After(Duration),
}

/// Pause between two turns, by the settings of the moment, also where they change meanwhile.
pub type TurnPause = fn(&Settings) -> Duration;

/// Work in the background, with what it remembers from turn to turn. Failures of a turn are its own to note: the next turn
/// comes all the same.
pub trait BackgroundTask: Send + 'static {
    /// Pause after a turn that asks for no other.
    const PAUSE: TurnPause;
    /// Time of the first turn.
    const FIRST: NextTurn = NextTurn::AfterPause;
    /// False where turns go on while the node is out of service: they take no work.
    const TAKES_WORK: bool = true;

    /// Does what there is to do.
    fn turn(&mut self, host: &Host) -> impl Future<Output = NextTurn> + Send;

    /// Waits for what brings the next turn before its time.
    fn news(&self) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }
}

impl Host {
    /// Starts a task, which goes on until the process is to stop.
    pub fn start(&self, what: &'static str, task: impl BackgroundTask) {
        self.spawn(what, run(self.clone(), task));
    }
}

async fn run<T: BackgroundTask>(host: Host, mut task: T) -> anyhow::Result<()> {
    let mut next = T::FIRST;
    loop {
        tokio::select! {
            () = rest::<T>(&host, next) => {}
            () = task.news() => {}
            () = host.draining.cancelled() => {}
        }
        let turn = if T::TAKES_WORK { host.turn().await } else { None };
        if host.draining.is_cancelled() {
            return Ok(());
        }
        next = task.turn(&host).await;
        drop(turn);
    }
}

async fn rest<T: BackgroundTask>(host: &Host, next: NextTurn) {
    match next {
        // Others on the same thread have their turn in between.
        NextTurn::AtOnce => tokio::time::sleep(Duration::ZERO).await,
        NextTurn::AfterPause => host.live.sleep(T::PAUSE).await,
        NextTurn::After(time) => tokio::time::sleep(time).await,
    }
}
