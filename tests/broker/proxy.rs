//! A TCP proxy whose connections can be cut: a network failure at will.
//!
//! The listener of the proxy stays bound throughout, so its port cannot be taken by anything else.

use std::time::Duration;

use tokio::{
    net::{TcpListener, TcpStream},
    sync::broadcast,
};

pub struct Proxy {
    pub address: String,
    cut: broadcast::Sender<()>,
}

impl Proxy {
    /// Forwards to the host and port of an AMQP URL and says the URL to use instead.
    pub async fn start(url: &str) -> (Self, String) {
        let (credentials, rest) = url.rsplit_once('@').expect("user and password in AMQP_URL");
        let (target, vhost) = rest.split_once('/').unwrap_or((rest, "%2f"));
        let target = target.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (cut, _) = broadcast::channel(1);
        let proxied = format!("{credentials}@{address}/{vhost}");
        let proxy = Self { address, cut: cut.clone() };
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let (target, mut cut) = (target.clone(), cut.subscribe());
                tokio::spawn(async move {
                    let Ok(mut far) = TcpStream::connect(&target).await else {
                        return;
                    };
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                        _ = cut.recv() => {}
                    }
                });
            }
        });
        (proxy, proxied)
    }

    /// Cuts all connections, as soon as there is one: a client may be about to connect again after the cut before.
    pub async fn cut(&self) {
        while self.cut.send(()).is_err() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
