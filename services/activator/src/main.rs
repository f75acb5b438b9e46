//! The activator process.

fn main() -> std::process::ExitCode {
    pagurus_runtime::main(pagurus_domain::id::Role::Activator, pagurus_activator::run)
}
