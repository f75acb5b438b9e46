//! `pagurus manual`: the manual pages of all commands, made from the command line.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use clap::CommandFactory as _;

use crate::CommandLine;
use crate::failure::CliError;

/// Writes `man1` with a page for `pagurus` and for each of its commands.
pub(crate) fn write(folder: &Path) -> Result<(), CliError> {
    let commands = folder.join("man1");
    fs::create_dir_all(&commands).with_context(|| commands.display().to_string())?;
    clap_mangen::generate_to(CommandLine::command(), &commands).context("the pages cannot be written")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

    use super::*;

    #[test]
    fn every_command_has_its_page() {
        let folder = std::env::temp_dir().join(format!("pagurus-manual-{}", std::process::id()));
        write(&folder).unwrap();
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        let submit = read("man1/pagurus-order-submit.1");
        assert!(submit.contains("pagurus order submit") && submit.contains("scenario"), "{submit}");
        assert!(read("man1/pagurus.1").contains("Exit codes"));
        let serve = read("man1/pagurus-serve.1");
        assert!(serve.contains("roles") && serve.contains("config"), "{serve}");
        fs::remove_dir_all(folder).unwrap();
    }
}
