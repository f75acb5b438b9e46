//! The worker process.

fn main() -> std::process::ExitCode {
    pagurus_runtime::main(pagurus_domain::id::Role::Worker, pagurus_worker::run)
}
