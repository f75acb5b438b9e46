//! The intake process.

fn main() -> std::process::ExitCode {
    pagurus_runtime::main(pagurus_domain::id::Role::Intake, pagurus_intake::run)
}
