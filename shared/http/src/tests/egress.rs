//! Where URLs lead, in every way of writing them, and what is dialled of the addresses that names have (QLT-8, QLT-9). Nothing
//! is dialled here: what the connector would dial is what its rules have let through.

use std::net::IpAddr;

use super::*;

/// The rules of these tests: those of an installation that shuts loopback off besides what is shut off by default.
const LOOPBACK: [&str; 2] = ["127.0.0.0/8", "::1"];

/// Addresses of the names, in the order in which the resolver gives them.
const NAMES: &[(&str, &[&str])] = &[
    ("public.example", &["192.0.2.1"]),
    ("xn--bcher-kva.example", &["192.0.2.7"]),
    ("rebound.example", &["192.0.2.1", "127.0.0.1"]),
    ("rebound6.example", &["2001:db8::1", "::1"]),
    ("mapped.example", &["192.0.2.1", "::ffff:127.0.0.1"]),
    ("metadata.example", &["192.0.2.1", "169.254.169.254"]),
    ("task.example", &["192.0.2.1", "169.254.170.2"]),
    ("alibaba.example", &["192.0.2.1", "100.100.100.200"]),
    ("azure.example", &["192.0.2.1", "168.63.129.16"]),
    ("oracle.example", &["192.0.2.1", "192.0.0.192"]),
    ("aws6.example", &["2001:db8::1", "fd00:ec2::254"]),
    ("link.example", &["2001:db8::1", "fe80::1"]),
    ("nat64.example", &["2001:db8::1", "64:ff9b::a9fe:a9fe"]),
    ("tunnel.example", &["2001:db8::1", "2002:7f00:1::1"]),
    ("any.example", &["192.0.2.1", "0.0.0.0"]),
    ("inside.example", &["127.0.0.1", "::1"]),
    ("localhost", &["127.0.0.1", "::1"]),
];

/// Ways to write a URL, with the outcome: the addresses that are dialled, `forbidden` for a literal address that may not
/// be called, `nowhere` for a name without any other, or `no URL`.
const URLS: &[(&str, &str)] = &[
    // Names.
    ("http://public.example/", "192.0.2.1"),
    ("http://PUBLIC.example./", "192.0.2.1"),
    ("http://user:word@public.example/", "192.0.2.1"),
    ("http://b\u{fc}cher.example/", "192.0.2.7"),
    ("http://\u{ff50}ublic.example/", "192.0.2.1"),
    ("http://pub%6cic.example/", "192.0.2.1"),
    ("http://pub\u{ad}lic.example/", "192.0.2.1"),
    ("http://public\u{3002}example/", "192.0.2.1"),
    ("http://localhost/", "nowhere"),
    ("http://LOCALHOST./", "nowhere"),
    ("http://inside.example/", "nowhere"),
    ("http://public.example@inside.example/", "nowhere"),
    ("http://public.example:80@inside.example/", "nowhere"),
    ("http://inside.example\\@public.example/", "nowhere"),
    ("http://inside.example#@public.example/", "nowhere"),
    ("http://unknown.example/", "nowhere"),
    // Names with a good address first, and a bad one behind it.
    ("http://rebound.example/", "192.0.2.1"),
    ("http://rebound6.example/", "2001:db8::1"),
    ("http://mapped.example/", "192.0.2.1"),
    ("http://metadata.example/", "192.0.2.1"),
    ("http://task.example/", "192.0.2.1"),
    ("http://alibaba.example/", "192.0.2.1"),
    ("http://azure.example/", "192.0.2.1"),
    ("http://oracle.example/", "192.0.2.1"),
    ("http://aws6.example/", "2001:db8::1"),
    ("http://link.example/", "2001:db8::1"),
    ("http://nat64.example/", "2001:db8::1"),
    ("http://tunnel.example/", "2001:db8::1"),
    ("http://any.example/", "192.0.2.1"),
    // Loopback, as programs read it.
    ("http://127.0.0.1/", "forbidden"),
    ("http://127.0.0.1./", "forbidden"),
    ("http://127.1/", "forbidden"),
    ("http://127.0.1/", "forbidden"),
    ("http://2130706433/", "forbidden"),
    ("http://0x7f000001/", "forbidden"),
    ("http://0x7f.1/", "forbidden"),
    ("http://0177.0.0.1/", "forbidden"),
    ("http://017700000001/", "forbidden"),
    ("http://0/", "forbidden"),
    ("http://0.0.0.0/", "forbidden"),
    ("http://\u{ff11}\u{ff12}\u{ff17}.\u{ff10}.\u{ff10}.\u{ff11}/", "forbidden"),
    ("http://\u{2460}\u{2461}\u{2466}.0.0.1/", "forbidden"),
    ("http://127\u{3002}0\u{3002}0\u{3002}1/", "forbidden"),
    ("http://127.0.0%2e1/", "forbidden"),
    ("http://%31%32%37.0.0.1/", "forbidden"),
    ("http://127.0.\t0.1/", "forbidden"),
    ("http:\\\\127.0.0.1\\", "forbidden"),
    ("http:/127.0.0.1/", "forbidden"),
    ("http:127.0.0.1/", "forbidden"),
    (" http://127.0.0.1/", "forbidden"),
    ("http://public.example@127.0.0.1/", "forbidden"),
    ("http://[::1]/", "forbidden"),
    ("http://[0:0:0:0:0:0:0:1]/", "forbidden"),
    ("http://[::ffff:127.0.0.1]/", "forbidden"),
    ("http://[::ffff:7f00:1]/", "forbidden"),
    ("http://[::127.0.0.1]/", "forbidden"),
    ("http://[64:ff9b::127.0.0.1]/", "forbidden"),
    ("http://[::]/", "forbidden"),
    // Metadata services and link-local addresses.
    ("http://169.254.169.254/latest/meta-data/", "forbidden"),
    ("http://169.254.170.2/", "forbidden"),
    ("http://2852039166/", "forbidden"),
    ("http://0xa9fea9fe/", "forbidden"),
    ("http://0251.0376.0251.0376/", "forbidden"),
    ("http://169.254.43518/", "forbidden"),
    ("http://[::ffff:169.254.169.254]/", "forbidden"),
    ("http://[64:ff9b::169.254.169.254]/", "forbidden"),
    ("http://[2002:a9fe:a9fe::1]/", "forbidden"),
    ("http://[fd00:ec2::254]/", "forbidden"),
    ("http://[fe80::1]/", "forbidden"),
    ("http://[febf::1]/", "forbidden"),
    ("http://100.100.100.200/", "forbidden"),
    ("http://168.63.129.16/", "forbidden"),
    ("http://192.0.0.192/", "forbidden"),
    // Good addresses, and what is none.
    ("http://192.0.2.9/", "192.0.2.9"),
    ("http://3221225993/", "192.0.2.9"),
    ("http://[2001:db8::9]/", "2001:db8::9"),
    ("http://[::ffff:192.0.2.9]/", "::ffff:192.0.2.9"),
    ("http://[fe80::1%25eth0]/", "no URL"),
    ("http://[fe80::1%eth0]/", "no URL"),
    ("http://127.0.0.1.1/", "no URL"),
    ("http://256.0.0.1/", "no URL"),
    ("http://4294967296/", "no URL"),
    ("http://[::1/", "no URL"),
    ("http://127.0.0.1 /", "no URL"),
    ("http://public.example%00.inside.example/", "no URL"),
    ("http:///", "no URL"),
    ("gopher://127.0.0.1/", "no URL"),
    ("file:///etc/passwd", "no URL"),
];

/// A client with the rules and the names of these tests.
fn client_of_table(secrets: SecretTargets) -> HttpClient {
    let mut rules = pagurus_runtime::config::load(None, std::iter::empty()).unwrap().worker.calls.clone();
    rules.deny.extend(LOOPBACK.map(|text| AllowedDestination::parse(text).unwrap()));
    rules.secrets = secrets;
    let names = NameResolver::looked_up_by(|host, port| {
        let host = host.trim_end_matches('.');
        let known = NAMES.iter().find(|(name, _)| *name == host);
        let addresses = known.map(|(_, addresses)| addresses.iter());
        let addresses = addresses.ok_or_else(|| std::io::Error::other("no such name"))?;
        Ok(addresses.map(|text| SocketAddr::new(text.parse().unwrap(), port)).collect())
    });
    let connector = Connector::new(rules, PATIENCE).with_names(names);
    HttpClient { connector, pools: Mutex::default() }
}

/// Looks up what would be dialled for a request that holds these secrets.
async fn dialled(client: &HttpClient, url: &str, secrets: &[&str]) -> Result<Vec<IpAddr>, Broken> {
    let secrets: Vec<String> = secrets.iter().map(|name| (*name).to_owned()).collect();
    let address = client.address(url)?.holding(secrets.into());
    let pool = client.pool(&address)?;
    let found = client.connector.destinations(&pool.purpose).await?;
    Ok(found.into_iter().map(|to| to.ip()).collect())
}

fn in_words(outcome: Result<Vec<IpAddr>, Broken>) -> String {
    match outcome {
        Ok(found) => found.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        Err(Broken::Forbidden(_)) => "forbidden".to_owned(),
        Err(Broken::Resolve(_)) => "nowhere".to_owned(),
        Err(Broken::Url(_)) => "no URL".to_owned(),
        Err(Broken::Secret(why)) => why,
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test]
async fn qlt_9_no_way_of_writing_a_url_leads_to_an_address_that_may_not_be_called() {
    let client = client_of_table(SecretTargets::default());
    let mut wrong = Vec::new();
    for (url, expected) in URLS {
        let found = in_words(dialled(&client, url, &[]).await);
        if found != *expected {
            wrong.push(format!("{url:?}: {found}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn targets(of: &[(&str, &[&str])]) -> SecretTargets {
    let read = |texts: &[&str]| texts.iter().map(|text| SecretTarget::parse(text).unwrap()).collect();
    let of = of.iter().map(|(name, texts)| ((*name).to_owned(), read(texts)));
    SecretTargets { of: of.collect(), others_nowhere: false }
}

#[tokio::test]
async fn scn_15_a_secret_reaches_only_addresses_of_its_targets_however_the_url_is_written() {
    let client = client_of_table(targets(&[
        ("public", &["public.example"]),
        ("network", &["192.0.2.0/24"]),
        ("none", &[]),
    ]));
    let kept = |name: &str| format!("the secret `{name}` may not be sent to host `");
    for (url, secret, expected) in [
        ("http://public.example/", "public", "192.0.2.1".to_owned()),
        ("http://PUBLIC.example./", "public", "192.0.2.1".to_owned()),
        ("http://\u{ff50}ublic.example/", "public", "192.0.2.1".to_owned()),
        ("http://public.example@rebound.example/", "public", kept("public")),
        ("http://public.example.rebound.example/", "public", kept("public")),
        ("http://192.0.2.1/", "public", kept("public")),
        // By the address that is connected to.
        ("http://rebound.example/", "network", "192.0.2.1".to_owned()),
        ("http://metadata.example/", "network", "192.0.2.1".to_owned()),
        ("http://192.0.2.9/", "network", "192.0.2.9".to_owned()),
        ("http://3221225993/", "network", "192.0.2.9".to_owned()),
        ("http://rebound6.example/", "network", kept("network")),
        ("http://[2001:db8::9]/", "network", kept("network")),
        ("http://127.0.0.1/", "network", "forbidden".to_owned()),
        ("http://public.example/", "none", kept("none")),
        ("http://public.example/", "unnamed", "192.0.2.1".to_owned()),
    ] {
        let found = in_words(dialled(&client, url, &[secret]).await);
        assert!(found.starts_with(&expected), "{url} with {secret}: {found}, not {expected}");
    }
}

/// The name has another address at each look-up, of which the secret may be sent to the first alone; both are there to be
/// called.
#[tokio::test]
async fn scn_15_a_secret_that_is_tied_to_a_network_goes_over_no_connection_to_another_address() {
    let listener = TcpListener::bind("127.0.0.2:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (made, counter) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (accepted, requests) = (made.clone(), counter.clone());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            accepted.fetch_add(1, Ordering::Relaxed);
            let requests = requests.clone();
            tokio::spawn(async move {
                while read_request(&mut stream).await {
                    requests.fetch_add(1, Ordering::Relaxed);
                    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await.unwrap();
                }
            });
        }
    });
    let rules = CallRules {
        allow: vec![AllowedDestination::parse("*").unwrap()],
        secrets: targets(&[("token", &["127.0.0.1"])]),
        ..CallRules::default()
    };
    let names = NameResolver::looked_up_by(|_, port| Ok(vec![SocketAddr::from(([127, 0, 0, 2], port))]));
    let client =
        HttpClient { connector: Connector::new(rules, PATIENCE).with_names(names), pools: Mutex::default() };
    let url = format!("http://partner.example:{port}/");
    asked(&client, &url).await.unwrap();
    let address = client.address(&url).unwrap().holding(["token".to_owned()].into());
    let sent = client.send(address, Method::POST, HeaderMap::new(), "{}".into()).await;
    let Err(Broken::Secret(why)) = sent else { panic!("it was sent over the connection that was there") };
    assert_eq!(
        why,
        "the secret `token` may not be sent to host `partner.example`, by its address; `secrets.for` permits: 127.0.0.1"
    );
    asked(&client, &url).await.unwrap();
    assert_eq!((made.load(Ordering::Relaxed), counter.load(Ordering::Relaxed)), (1, 2));
}
