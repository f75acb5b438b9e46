//! The notifier process.

fn main() -> std::process::ExitCode {
    pagurus_runtime::main(pagurus_domain::id::Role::Notifier, pagurus_notifier::run)
}
