//! Examples of every command, at the end of its help.
//!
//! They stand in one table, so that anyone who adds a command sees what the others look like. A test reads each as the program
//! would, and asks for one of every command.

use clap::Command;

/// Lines as people type them, in the order in which a help text shows them.
const EXAMPLES: &[&str] = &[
    "pagurus order submit --scenario change-tariff --param msisdn=79110000001 --wait",
    "pagurus order submit --file orders.ndjson",
    "pagurus order submit --file orders.ndjson --dry-run",
    "pagurus order get o-1",
    "pagurus order get o-1 --output yaml",
    "pagurus order list --status fail --class http.5xx --created-since 2h",
    "pagurus order list --scenario change-tariff --all --json",
    "pagurus order list --status running --watch 2",
    "pagurus order count --by status,scenario --created-since 1d",
    "pagurus order watch o-1 --timeout 5m",
    "pagurus order cancel o-1 --reason 'the client has left'",
    "pagurus order interrupt o-1 --reason 'registered by mistake'",
    "pagurus order kill o-1 --reason 'the shop has closed'",
    "pagurus order kill o-1 --dry-run",
    "pagurus order restart o-1 --reason 'the system is back'",
    "pagurus order restart o-1 --from initial --params '{\"tariff\": \"new\"}' --reason 'the tariff was misspelt'",
    "pagurus order call o-1 status",
    "pagurus order answer o-1 confirmation --body '{\"code\": 0}' --reason 'the answer was lost'",
    "pagurus order clone o-1 --new-id o-1-again",
    "pagurus order repair o-1 --failed-action --reason 'the account is open again'",
    "pagurus order repair o-1 --state activate --reason 'the card was changed by hand'",
    "pagurus order update o-1 --priority high --reason 'the client waits in the shop'",
    "pagurus order dependencies o-1 --depth 3",
    "pagurus order shift --flow billing --by 3h --reason 'works at billing' --dry-run",
    "pagurus order resend o-1 --reason 'the receiver is back'",
    "pagurus order check o-1",
    "pagurus order export --ended-before 80d --file ended.ndjson",
    "pagurus order log o-1",
    "pagurus order steps o-1",
    "pagurus order tasks o-1",
    "pagurus order explain o-1",
    "pagurus order ledger o-1",
    "pagurus order ledger --scenario billing --from 2h --by flow",
    "pagurus order events o-1 --after 3",
    "pagurus scenario check scenarios --strict",
    "pagurus scenario apply change-tariff.yaml",
    "pagurus scenario apply change-tariff.yaml --dry-run",
    "pagurus scenario apply change-tariff.yaml --if-match 4-9f86d081884c7d65",
    "pagurus scenario list",
    "pagurus scenario show change-tariff@3",
    "pagurus scenario versions change-tariff",
    "pagurus scenario test scenarios --story",
    "pagurus scenario test scenarios --coverage --min 90",
    "pagurus scenario watch scenarios",
    "pagurus scenario graph change-tariff --format mermaid",
    "pagurus scenario diff change-tariff@3 change-tariff.yaml",
    "pagurus scenario migrate change-tariff --from 3 --to 4",
    "pagurus flows list tariff --state limited",
    "pagurus flows show change-tariff",
    "pagurus flows watch",
    "pagurus flows stop billing --for 2h --resume --reason 'works at billing'",
    "pagurus flows resume billing --reason 'the works are over'",
    "pagurus flows stops --ended",
    "pagurus flows history billing --since 12h",
    "pagurus flows what-if change-tariff --max-limit 20 --load 2",
    "pagurus systems list",
    "pagurus systems show billing",
    "pagurus systems stop billing --for 1h --reason 'works at billing'",
    "pagurus systems open billing --reason 'it answers again'",
    "pagurus systems clear billing",
    "pagurus systems history billing --since 12h",
    "pagurus actors list",
    "pagurus actors show scoring",
    "pagurus subscriptions list",
    "pagurus subscriptions get audit",
    "pagurus subscriptions add audit --url https://hooks.example/audit --scenario 'shop-*' --label region=north --outcome fail,canceled",
    "pagurus subscriptions pause audit --reason 'works at the receiver'",
    "pagurus subscriptions resume audit --replay --reason 'the works are over'",
    "pagurus subscriptions replay audit --from 2026-12-01T00:00:00Z --until 2026-12-02T00:00:00Z --reason 'the receiver lost a day'",
    "pagurus subscriptions replays audit",
    "pagurus subscriptions stop-replay audit 3",
    "pagurus subscriptions remove audit",
    "pagurus windows list",
    "pagurus windows show 3",
    "pagurus windows add --system billing --every week --on saturday --at 22:00 --zone Europe/Berlin --for 3h --reason 'weekly works'",
    "pagurus windows add --flow tariff --from 2026-12-01T22:00:00Z --for 3h --shift --reason 'works at billing'",
    "pagurus windows end 3 --reason 'the works are over'",
    "pagurus windows skip 3 --reason 'no works this week'",
    "pagurus windows remove 3 --reason 'billing is gone'",
    "pagurus schedules list",
    "pagurus schedules get nightly",
    "pagurus schedules apply nightly.yaml",
    "pagurus schedules apply nightly.yaml --dry-run",
    "pagurus schedules pause nightly --reason 'the source is away this week'",
    "pagurus schedules resume nightly --reason 'the source is back'",
    "pagurus schedules run nightly --reason 'the file came late'",
    "pagurus schedules run nightly --at 2026-12-01T03:00:00Z --reason 'it was missed'",
    "pagurus schedules remove nightly",
    "pagurus schedules times nightly --count 20",
    "pagurus schedules runs nightly",
    "pagurus access who",
    "pagurus access tokens list",
    "pagurus access tokens make shop --role client --for 90d --reason 'orders of the web shop'",
    "pagurus access tokens make first --role admin --login root",
    "pagurus access tokens make bank-portal --role client --tenant bank",
    "pagurus access tokens revoke 4f09c2",
    "pagurus access sessions list",
    "pagurus access sessions end 0a1b2c3d4e5f",
    "pagurus access explain anna",
    "pagurus access hash-password",
    "pagurus leases list",
    "pagurus leases resign dispatcher --reason 'the machine is to be shut down'",
    "pagurus queues list",
    "pagurus queues show account-7",
    "pagurus queues release account-7 --reason 'its holder waits for a person'",
    "pagurus nodes list --watch 2",
    "pagurus nodes leases",
    "pagurus nodes offline worker/w-1 --wait --reason 'new disk'",
    "pagurus nodes online worker/w-1 --reason 'the disk is in'",
    "pagurus errors --by system --since 2h",
    "pagurus errors orders --class http.5xx",
    "pagurus errors restart --class http.5xx --reason 'the system is back' --dry-run",
    "pagurus errors cancel --class shop.closed --reason 'the shop will not open again' --dry-run",
    "pagurus errors kill --system billing --reason 'billing is gone' --dry-run",
    "pagurus operation start restart --status fail --class http.5xx --reason 'the system is back' --dry-run",
    "pagurus operation again 7 --reason 'the rest, too'",
    "pagurus operation list --state running",
    "pagurus operation show 7",
    "pagurus operation watch 7",
    "pagurus operation orders 7 --outcome failed",
    "pagurus operation pause 7 --reason 'the system is slow'",
    "pagurus operation resume 7 --reason 'the system is fast again'",
    "pagurus operation abort 7 --reason 'the wrong orders'",
    "pagurus searches list",
    "pagurus searches save broken --status fail --scenario change-tariff",
    "pagurus searches remove broken",
    "pagurus callbacks --verdict orphan --since 2h",
    "pagurus notifications --limit 20",
    "pagurus refused list --limit 10",
    "pagurus refused show 5a1f4c1e-4b0e-4a5e-8a29-0d6a1a0c7a11",
    "pagurus refused replay 5a1f4c1e-4b0e-4a5e-8a29-0d6a1a0c7a11 --reason 'the scenario is there now'",
    "pagurus refused replay 5a1f4c1e-4b0e-4a5e-8a29-0d6a1a0c7a11 --edit --reason 'the tariff was misspelt'",
    "pagurus refused drop 5a1f4c1e-4b0e-4a5e-8a29-0d6a1a0c7a11 --reason 'line noise'",
    "pagurus refused drop --reason-type conflict --refused-before 7d --reason 'sent twice'",
    "pagurus audit --kind order --subject o-1 --since 7d",
    "pagurus audit verify",
    "pagurus audit verify --head 1207:5f6c0f1a7d0b2c4e9a3d8b7c6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a1b0c9d8e7f",
    "pagurus audit export --since 30d --file audit.ndjson",
    "pagurus classify --config pagurus.yaml --path /shop/items --status 503 --scenario order-1",
    "pagurus classify --path /shop/items --exception ConnectionRefused --message 'Connection refused'",
    "pagurus classify --path /pay --step-status refused --body '{\"code\": 7}'",
    "pagurus classify --scenario-file change-tariff.yaml --path /shop/items --status 503 --why",
    "pagurus classify --amqp '%2F?exchange=pay&key=new' --timeout",
    "pagurus config check pagurus.yaml",
    "pagurus config convert inventory.yaml",
    "pagurus config show --defaults",
    "pagurus config show --server http://127.0.0.1:8080",
    "pagurus bench --scenario one-action --orders 10000 --parallel 8 --batch 200",
    "pagurus bench --scenario change-tariff --params '{\"msisdn\": \"79110000001\"}' --for 2m --yes --json",
    "pagurus lab outage.yaml --out report.html --compare",
    "pagurus lab outage.yaml --seed 7",
    "pagurus lab examples/lab --report laboratory.md",
    "pagurus lab --random 100 --seed 901 --compare",
    "pagurus migrate --config pagurus.yaml",
    "pagurus migrate --roles",
    "pagurus migrate --roles --prefix bank --print",
    "pagurus recover --config pagurus.yaml --reason 'restored from the backup of the night'",
    "pagurus topology --prefix pagurus",
    "pagurus health --url http://127.0.0.1:8080/readyz",
    "pagurus top",
    "pagurus top --once",
    "pagurus doctor",
    "pagurus doctor --strict --json",
    "pagurus serve --config pagurus.yaml",
    "pagurus serve --config pagurus.yaml --roles worker,activator",
    "pagurus dev --listen 127.0.0.1:8081",
    "pagurus schema scenario",
    "pagurus manual man",
    "pagurus completions bash",
];

/// The same command with its examples, and those of the commands below it.
pub(crate) fn with_examples(command: Command) -> Command {
    let name = command.get_name().to_owned();
    below(command, &name)
}

/// A command that is reached by these words.
fn below(command: Command, path: &str) -> Command {
    let command = command.mut_subcommands(|inner| {
        let inner_path = format!("{path} {}", inner.get_name());
        below(inner, &inner_path)
    });
    let names: Vec<String> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    let examples: Vec<&str> = EXAMPLES.iter().copied().filter(|line| is_of(line, path, &names)).collect();
    if examples.is_empty() {
        return command;
    }
    let before = command.get_after_help().map(|text| format!("{text}\n\n")).unwrap_or_default();
    let title = if examples.len() == 1 { "Example" } else { "Examples" };
    command.after_help(format!("{before}{title}:\n  {}", examples.join("\n  ")))
}

/// True if a line is of the command that is reached by these words, and of none below it.
fn is_of(line: &str, path: &str, below: &[String]) -> bool {
    let Some(rest) = line.strip_prefix(path) else { return false };
    let is_whole = rest.is_empty() || rest.starts_with(' ');
    let next = rest.split_whitespace().next().unwrap_or_default();
    is_whole && !below.iter().any(|name| name == next)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

    use clap::{CommandFactory as _, Parser as _};

    use super::*;
    use crate::CommandLine;

    /// The words of a line, as a shell reads them that knows single quotes only.
    fn words(line: &str) -> Vec<String> {
        let parts = line.split('\'').enumerate();
        let mut words = vec![String::new()];
        for (number, part) in parts {
            if number % 2 == 1 {
                words.last_mut().unwrap().push_str(part);
                continue;
            }
            let mut pieces = part.split(' ');
            words.last_mut().unwrap().push_str(pieces.next().unwrap());
            words.extend(pieces.map(str::to_owned));
        }
        words.retain(|word| !word.is_empty());
        words
    }

    #[test]
    fn ui_every_example_is_understood() {
        for line in EXAMPLES {
            CommandLine::try_parse_from(words(line)).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
    }

    /// Commands without an example in their help; those that only lead to others need none.
    fn without(command: &Command, path: &str, found: &mut Vec<String>) {
        let leads_on = command.get_subcommands().next().is_some();
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        if !leads_on && !help.contains("Example") {
            found.push(path.to_owned());
        }
        for inner in command.get_subcommands() {
            without(inner, &format!("{path} {}", inner.get_name()), found);
        }
    }

    #[test]
    fn ui_every_command_shows_an_example() {
        let mut found = Vec::new();
        without(&with_examples(CommandLine::command()), "pagurus", &mut found);
        assert!(found.is_empty(), "add a line to the table for {found:?}");
    }

    #[test]
    fn ui_an_example_stands_at_its_command_and_not_above() {
        let command = with_examples(CommandLine::command());
        let errors = command.find_subcommand("errors").unwrap();
        let help = errors.get_after_help().unwrap().to_string();
        assert!(help.contains("--by system") && !help.contains("errors restart"), "{help}");
        let own = command.get_after_help().unwrap().to_string();
        assert!(own.contains("Exit codes") && !own.contains("Example"), "{own}");
    }
}
