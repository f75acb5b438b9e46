//! The command line: what it takes, and what its help says.

use super::*;

fn parse(line: &str) -> Result<CommandLine, clap::Error> {
    CommandLine::try_parse_from(line.split_whitespace())
}

#[test]
fn the_commands_fit_together() {
    CommandLine::command().debug_assert();
}

/// Lines that people type.
const TYPED: &[&str] = &[
    "pagurus order submit --id a --scenario s --param k=v -p n:=1 --queue q --priority high --wait --json",
    "pagurus order submit --scenario s --params {} --notify-url amqp://?key=k --timeout 5s --wait",
    "pagurus order submit --scenario s --notify-url https://h/o --notify-on final,parked --notify-format cloudevents",
    "pagurus order submit --file - --wait --timeout 1h30m",
    "pagurus --server http://x:1 order list --status running --transaction-id t --limit 10 --all",
    "pagurus order restart a --from initial --params {} --reason because",
    "pagurus order clone a --new-id b --params {} --with {}",
    "pagurus order repair a --state s --vars {} --reason stuck",
    "pagurus order repair a --state s --action 2 --reason stuck",
    "pagurus order repair a --failed-action --reason mended",
    "pagurus order update a --priority high --start-at now --notify-url amqp://?key=k",
    "pagurus order dependencies a --depth 2",
    "pagurus order answer a confirmation --body {} --step-status k2 --reason lost",
    "pagurus notifications --limit 7 --cursor 1.1.final",
    "pagurus operation start restart --status fail --class http.5xx --reason mended --rate 50 --ramp 1:3 --stop-if-failed 0.2",
    "pagurus operation start update --with {} --queue q --status new --reason r --follow 2h --dry-run",
    "pagurus operation start cancel --id a --id b --ids-file ids.txt --reason r --yes --no-wait",
    "pagurus operations list --state running",
    "pagurus operation orders 7 --outcome failed --limit 5",
    "pagurus operation pause 7 --reason lunch",
    "pagurus operation again 7 --reason mended",
    "pagurus order list --attribute customer=7 --where customer.id=7 --created-since 2h --text refused --flow f",
    "pagurus order count --by class,state --status fail",
    "pagurus searches save broken --status fail --scenario s",
    "pagurus refused list --limit 7 --cursor 1 --status all --reason-type conflict --refused-before 7d",
    "pagurus refused show r",
    "pagurus refused replay r --body {} --key order.create --reason mended",
    "pagurus refused drop r s --reason nobody",
    "pagurus order steps a",
    "pagurus order tasks a",
    "pagurus audit --action restart --kind order --subject a --since 2h --limit 7",
    "pagurus audit verify --head 7:5f6c0f1a7d0b2c4e9a3d8b7c6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a1b0c9d8e7f --json",
    "pagurus audit export --kind flow --since 2h --file audit.ndjson",
    "pagurus order submit --scenario s --after a=done --after b=done,failed:cancel",
    "pagurus order watch a --timeout 10s",
    "pagurus order events a --after 3",
    "pagurus scenario check a.yaml b.yaml --config pagurus.yaml",
    "pagurus scenario test scenarios --json --story --server http://x:1",
    "pagurus scenario test scenarios --coverage --min 90",
    "pagurus scenario graph s@2 --format mermaid",
    "pagurus scenario diff old.yaml s@3",
    "pagurus scenario show s@1",
    "pagurus scenario migrate s --from 1 --to 2 --apply --reason fixed",
    "pagurus queues release q --reason stuck",
    "pagurus nodes leases",
    "pagurus nodes offline worker/w-1 --reason disk --wait --timeout 5m",
    "pagurus nodes online w-1 --reason back",
    "pagurus flows list tariff --state limited",
    "pagurus flows stop tariff --reason works --for 3h --resume --dry-run",
    "pagurus flows resume tariff --reason done",
    "pagurus flows resume --stop 7 --reason done",
    "pagurus orders shift --flow tariff --by 3h --reason works --dry-run",
    "pagurus order shift --undo 3 --reason earlier",
    "pagurus systems stop billing --reason works --for 1h",
    "pagurus windows add --flow tariff --from 2026-12-01T22:00:00Z --for 3h --shift --reason works --dry-run",
    "pagurus windows skip 3 --reason holidays",
    "pagurus subscriptions add audit --url amqp://?key=audit --scenario shop-* --label region=north --outcome fail --dry-run",
    "pagurus subscriptions resume audit --replay --reason mended",
    "pagurus subscriptions replay audit --from 2026-12-01T00:00:00Z --until 2026-12-02T00:00:00Z --reason lost",
    "pagurus schedules run nightly --at 2026-12-01T03:00:00Z --reason missed",
    "pagurus leases resign dispatcher --reason stuck",
    "pagurus errors --by state --since 2h --limit 10 --cursor 50",
    "pagurus callbacks --verdict orphan --since 2h --limit 7 --json",
    "pagurus classify --config pagurus.yaml --path /a --status 503 --body x --scenario s --json",
    "pagurus classify --path /a --exception ConnectError --message refused",
    "pagurus classify --scenario-file s.yaml --path /a --status 503",
    "pagurus classify --path /a --method POST --host h:1 --timeout",
    "pagurus classify --amqp %2F?exchange=a&key=b --step-status k2 --body x --why",
    "pagurus config show --defaults",
    "pagurus config show --server http://x:1",
    "pagurus lab outage.yaml --out report.html --compare --json",
    "pagurus dev --listen 127.0.0.1:8081",
];

#[test]
fn what_people_type_is_understood() {
    for line in TYPED {
        parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
}

#[test]
fn what_is_printed_for_editors_and_readers_is_asked_for() {
    let more = ["manual target/man", "completions bash", "health --url http://127.0.0.1:1/healthz"];
    for line in ["schema scenario", "schema tests", "schema configuration"].into_iter().chain(more) {
        assert!(parse(&format!("pagurus {line}")).is_ok(), "{line}");
    }
    assert!(parse("pagurus schema order").is_err());
}

#[test]
fn what_makes_no_sense_is_refused() {
    for line in [
        "pagurus order submit",
        "pagurus order submit --id a",
        "pagurus order submit --file x --scenario s",
        "pagurus order submit --file x --param a=b",
        "pagurus order submit --scenario s --param alone",
        "pagurus order submit --scenario s --mode sideways",
        "pagurus order submit --scenario s --timeout 5s",
        "pagurus order list --status asleep",
        "pagurus order repair a --state s",
        "pagurus order repair a --action 2 --reason r",
        "pagurus order repair a --state s --failed-action --reason r",
        "pagurus order update a --priority urgent",
        "pagurus order submit --scenario s --after alone",
        "pagurus order list --limit 501",
        "pagurus scenario check",
        "pagurus scenario test",
        "pagurus scenario show s@x",
        "pagurus scenario graph s --format png",
        "pagurus scenario migrate s --from 1",
        "pagurus errors --by node",
        "pagurus errors restart --class c",
        "pagurus errors --class c restart --reason r",
        "pagurus errors --limit 501",
        "pagurus callbacks --verdict early",
        "pagurus callbacks --limit 0",
        "pagurus classify --status 503",
        "pagurus classify --path /a --amqp /a --timeout",
        "pagurus classify --path /a --status 503 --timeout",
        "pagurus classify --path /a --status 503 --scenario s --scenario-file s.yaml",
        "pagurus classify --path /a --status 99",
        "pagurus classify --path /a --message alone",
        "pagurus queues release q",
        "pagurus nodes offline w-1",
        "pagurus nodes offline w-1 --reason disk --timeout 5m",
        "pagurus dev --listen here",
        "pagurus serve --roles worker,nobody",
    ] {
        let error = parse(line).unwrap_err();
        assert_eq!(error.exit_code(), i32::from(failure::USAGE), "{line}");
    }
}

#[test]
fn a_server_that_the_command_line_names_is_distinguished_from_the_usual_one() {
    let source = |line: &str| {
        let matches = CommandLine::command().get_matches_from(line.split_whitespace());
        matches.value_source("server") == Some(ValueSource::CommandLine)
    };
    assert!(source("pagurus config show --server http://x:1"));
    assert!(source("pagurus --server http://x:1 config show"));
    assert!(!source("pagurus config show"));
}

#[test]
fn help_lists_the_exit_codes() {
    let help = CommandLine::command().render_help().to_string();
    for code in [
        failure::FAILED,
        failure::USAGE,
        failure::REFUSED,
        failure::NOT_FOUND,
        failure::AWAY,
        failure::NOT_YET,
    ] {
        assert!(help.contains(&format!("\n  {code}  ")), "{code} in\n{help}");
    }
}

#[test]
fn completions_name_the_commands() {
    let mut script = Vec::new();
    clap_complete::generate(Shell::Bash, &mut CommandLine::command(), "pagurus", &mut script);
    assert!(String::from_utf8(script).unwrap().contains("submit"));
}
