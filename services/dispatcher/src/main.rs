//! The dispatcher process.

fn main() -> std::process::ExitCode {
    pagurus_runtime::main(pagurus_domain::id::Role::Dispatcher, pagurus_dispatcher::run)
}
