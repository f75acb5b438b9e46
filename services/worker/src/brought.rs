//! Values that an order brings to its stage: short ones come with the claim, long ones are read when
//! there is room for them. A claim takes many stages at once, and does not know how long they are.

use pagurus_runtime::node::chain;
use pagurus_scenario::stage::Callback;
use pagurus_store::hot::stages::{self, Claimed};
use pagurus_store::outside::answers::{self, Accepted};
use pagurus_store::{Client, Error};

use crate::Worker;
use crate::memory::Share;
use crate::trouble::StageTrouble;

/// Returns parameters and callbacks, all of them read; no parameters if none are stored.
pub(crate) async fn read(
    worker: &Worker,
    claimed: &Claimed,
    params: Option<String>,
    callbacks: Vec<Accepted>,
    share: &Share,
) -> (Option<String>, Vec<Callback>) {
    // A callback is kept twice: as scenarios see it, and as text for the rules.
    let bytes: usize = callbacks.iter().map(|callback| 2 * callback.bytes).sum();
    share.bring(claimed.params_bytes.unwrap_or(0) + bytes).await;
    let params = match params {
        Some(params) => Some(params),
        // Then no room helps, and the stage says so.
        None if claimed.params_bytes.is_none() => None,
        None => Some(text(Box::pin(patiently(worker, claimed, Long::Params)).await)),
    };
    let mut read = Vec::with_capacity(callbacks.len());
    for callback in callbacks {
        let body = match callback.is_unread() {
            true => Some(Box::pin(patiently(worker, claimed, Long::Callback(callback.no))).await),
            false => None,
        };
        read.push(callback.callback(body));
    }
    (params, read)
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Values that were not read with the claim.
#[derive(Clone, Copy, Debug)]
enum Long {
    Params,
    /// Body of the callback that is stored under this number.
    Callback(i64),
}

async fn read_long(client: &Client, claimed: &Claimed, long: Long) -> Result<Vec<u8>, Error> {
    match long {
        Long::Params => stages::params(client, claimed.head.no).await.map(String::into_bytes),
        Long::Callback(no) => answers::body(client, no).await,
    }
}

/// Waits for the database as long as the stage may.
async fn patiently(worker: &Worker, claimed: &Claimed, long: Long) -> Vec<u8> {
    let mut trouble = StageTrouble::with(worker, claimed, "brought");
    loop {
        let found = async {
            let client = worker.host.store.work().await?;
            read_long(&client, claimed, long).await
        };
        match found.await {
            Ok(found) => return found,
            Err(error) => {
                trouble.wait_out(&chain(&error)).await;
            }
        }
    }
}
