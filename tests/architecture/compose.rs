//! `compose.yaml` and the Dockerfile keep their promises, as far as reading them can tell. Never
//! starts a container.

use serde_json::Value;

use crate::tree::{SERVICES, read};

const SERVERS: [&str; 2] = ["postgres", "rabbitmq"];
/// Steps that have ended before the services start.
const BEFORE: [&str; 2] = ["migrate", "database-users"];

fn compose() -> Value {
    serde_saphyr::from_str(&read("compose.yaml")).unwrap()
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The text as Compose hands it on where the environment sets what has to be set, each to its name:
/// `${NAME:-default}` by its default, `${NAME:?message}` by the name.
fn filled_in(text: &str) -> String {
    let mut parts = text.split("${");
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |filled, part| {
        let (variable, rest) = part.split_once('}').unwrap();
        let value = match variable.split_once(":?") {
            Some((name, _)) => name,
            None => variable.split_once(":-").expect("a variable has a default or must be set").1,
        };
        filled + value + rest
    })
}

#[test]
fn run_2_compose_starts_five_services_and_two_servers() {
    let compose = compose();
    let services = compose["services"].as_object().unwrap();
    let always = services.iter().filter(|(_, service)| service["profiles"].is_null());
    let mut names: Vec<&str> = always.map(|(name, _)| name.as_str()).collect();
    let mut expected: Vec<&str> = SERVICES.into_iter().chain(SERVERS).chain(BEFORE).collect();
    names.sort_unstable();
    expected.sort_unstable();
    assert_eq!(names, expected);
    assert!(read("Dockerfile").contains("--package pagurus-cli"), "the image lacks the program");
    for name in SERVICES {
        let service = &compose["services"][name];
        assert_eq!(service["image"], compose["services"]["intake"]["image"], "{name}: one image for all");
        assert_eq!(texts(&service["command"])[..4], ["pagurus", "serve", "--roles", name]);
    }
}

#[test]
fn run_2_compose_waits_for_healthy_servers() {
    let compose = compose();
    for name in SERVICES.into_iter().chain(SERVERS) {
        let test = texts(&compose["services"][name]["healthcheck"]["test"]).join(" ");
        let expected = match name {
            "postgres" => "pg_isready",
            "rabbitmq" => "rabbitmq-diagnostics",
            _ => "pagurus health --url http://127.0.0.1:8080/readyz",
        };
        assert!(test.contains(expected), "{name}: {test}");
    }
    for name in SERVICES {
        for server in SERVERS {
            let condition = &compose["services"][name]["depends_on"][server]["condition"];
            assert_eq!(condition, "service_healthy", "{name} on {server}");
        }
    }
}

#[test]
fn run_2_compose_gives_no_rights_away() {
    let compose = compose();
    for (name, service) in compose["services"].as_object().unwrap() {
        for forbidden in ["privileged", "cap_add", "network_mode", "pid", "ipc", "devices"] {
            assert!(service.get(forbidden).is_none(), "{name}: {forbidden}");
        }
        let user = service["user"].as_str().unwrap_or_default();
        assert!(!user.is_empty() && user != "root" && !user.starts_with('0'), "{name}: user `{user}`");
        assert_eq!(texts(&service["cap_drop"]), ["ALL"], "{name}");
        assert_eq!(texts(&service["security_opt"]), ["no-new-privileges:true"], "{name}");
        for volume in texts(&service["volumes"]) {
            assert!(!volume.contains("docker.sock"), "{name}: {volume}");
            assert!(!volume.starts_with('.') || volume.ends_with(":ro"), "{name}: {volume} can be written");
        }
        for port in texts(&service["ports"]) {
            assert!(port.starts_with("127.0.0.1:"), "{name}: {port} is open to the network");
        }
    }
    for name in SERVICES {
        let service = &compose["services"][name];
        assert_eq!(service["read_only"], true, "{name}");
        assert!(texts(&service["tmpfs"]).iter().any(|folder| folder.starts_with("/tmp")), "{name}");
    }
}

#[test]
fn qlt_15_compose_gives_each_service_its_own_user_at_database_and_broker() {
    let compose = compose();
    let passwords = compose["configs"]["database-passwords"]["content"].as_str().unwrap();
    for name in SERVICES {
        let url = compose["services"][name]["environment"]["PAGURUS__DATABASE__URL"].as_str().unwrap();
        assert!(url.starts_with(&format!("postgres://pagurus_{name}:")), "{name}: {url}");
        assert!(passwords.contains(&format!("ALTER ROLE pagurus_{name} PASSWORD ")), "{name} cannot log in");
        let before = &compose["services"][name]["depends_on"]["database-users"]["condition"];
        assert_eq!(before, "service_completed_successfully", "{name}");
        let url = compose["services"][name]["environment"]["PAGURUS__BROKER__URL"].as_str().unwrap();
        assert!(url.starts_with(&format!("amqp://pagurus-{name}:")), "{name}: {url}");
    }
    let mounted = texts(&compose["services"]["rabbitmq"]["volumes"]).join("\n");
    for file in ["rabbitmq.conf", "enabled_plugins", "definitions.json"] {
        assert!(mounted.contains(&format!("./rabbitmq/{file}:")), "rabbitmq/{file} is not mounted");
    }
    let content = compose["configs"]["broker-passwords"]["content"].as_str().unwrap();
    let users: Value = serde_json::from_str(&filled_in(content)).unwrap();
    for name in SERVICES {
        let known =
            users["users"].as_array().unwrap().iter().any(|user| user["name"] == format!("pagurus-{name}"));
        assert!(known, "pagurus-{name} cannot log in");
    }
}

/// Compose has no default password, so that a careless start has no known one, and a separate one for each
/// service, so that a service that is taken over does not open another.
#[test]
fn qlt_8_compose_has_a_password_for_each_and_none_by_default() {
    let text = read("compose.yaml");
    let variables: Vec<&str> = text.split("${").skip(1).filter_map(|part| part.split('}').next()).collect();
    let passwords: Vec<&str> =
        variables.into_iter().filter(|variable| variable.contains("_PASSWORD:")).collect();
    for password in &passwords {
        assert!(password.contains(":?"), "`{password}` has a default");
    }
    let (top, _) = text.split_once("name: pagurus").unwrap();
    for name in SERVICES.iter().copied().chain(["database", "client"]) {
        let name = name.to_uppercase();
        let count =
            passwords.iter().filter(|used| used.starts_with(&format!("PAGURUS_{name}_PASSWORD:"))).count();
        let expected = match name.as_str() {
            "CLIENT" => 1,
            "DATABASE" => 3,
            _ => 4,
        };
        assert_eq!(count, expected, "{name}");
        assert!(top.contains(&name), "the top does not say how to make the password of {name}");
    }
    assert!(read(".gitignore").lines().any(|line| line == ".env"), "passwords would be committed");
    let users: Value = {
        let compose = compose();
        let content = compose["configs"]["broker-passwords"]["content"].as_str().unwrap();
        serde_json::from_str(&filled_in(content)).unwrap()
    };
    let own = users["users"].as_array().unwrap().iter().map(|user| user["password"].as_str().unwrap());
    assert_eq!(own.collect::<std::collections::BTreeSet<_>>().len(), 6, "two users share a password");
}

/// The settings of the services must be keys that they know.
#[test]
fn run_2_compose_tells_the_services_what_they_understand() {
    let compose = compose();
    for name in SERVICES {
        let environment = compose["services"][name]["environment"].as_object().unwrap();
        let variables =
            environment.iter().map(|(key, value)| (key.clone(), filled_in(value.as_str().unwrap())));
        let settings = pagurus_runtime::config::load(None, variables);
        let settings = settings.unwrap_or_else(|faults| panic!("{name}: {faults:?}"));
        assert_eq!(settings.node.listen.port(), 8080, "{name}");
        if name == "intake" {
            assert!(settings.check_public_access().is_ok());
        }
    }
}

#[test]
fn run_2_the_image_is_small_and_not_root() {
    let dockerfile = read("Dockerfile");
    let stages: Vec<&str> = dockerfile.lines().filter(|line| line.starts_with("FROM ")).collect();
    assert!(stages.len() >= 2, "{stages:?}");
    assert!(stages.iter().any(|stage| stage.contains("rust:1.95-bookworm")), "{stages:?}");
    for pages in ["services/centre/web/dist", "services/centre/web/site/dist"] {
        let copied = format!("COPY --from=pages /source/{pages} {pages}\n");
        assert!(dockerfile.contains(&copied), "the program carries no {pages}");
    }
    let last = dockerfile.rsplit("\nFROM ").next().unwrap();
    assert!(last.contains("\nUSER 65532:65532"), "the last stage sets no user");
    assert!(!last.contains("\nRUN "), "the last stage has no shell to run anything");
    assert!(dockerfile.contains("--locked"));
}

#[test]
fn run_2_compose_has_profiles_for_metrics_and_traces() {
    let compose = compose();
    for (name, profile) in [("prometheus", "metrics"), ("grafana", "metrics"), ("tempo", "traces")] {
        let service = &compose["services"][name];
        assert_eq!(texts(&service["profiles"]), [profile], "{name}");
        assert!(
            service["image"].as_str().is_some_and(|image| image.contains(":") && !image.ends_with(":latest")),
            "{name}"
        );
        for volume in texts(&service["volumes"]).iter().filter(|volume| volume.starts_with("./")) {
            let path = volume.trim_start_matches("./").split(':').next().unwrap();
            assert!(crate::tree::root().join(path).exists(), "{name}: {path} is missing");
        }
    }
    let settings = read("deploy/prometheus/prometheus.yml");
    for name in SERVICES {
        assert!(settings.contains(name), "{name} is not gathered from");
    }
}
