//! `pagurus manual`: the manual pages of all programs, made from their command lines.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use clap::CommandFactory as _;
use clap_mangen::Man;
use pagurus_domain::id::Role;

use crate::CommandLine;
use crate::failure::Failure;

/// Writes `man1` with a page for `pagurus` and each of its commands, and `man8` with one for each service.
pub(crate) fn write(folder: &Path) -> Result<(), Failure> {
    let commands = folder.join("man1");
    fs::create_dir_all(&commands).with_context(|| commands.display().to_string())?;
    clap_mangen::generate_to(CommandLine::command(), &commands).context("the pages cannot be written")?;
    let services = folder.join("man8");
    fs::create_dir_all(&services).with_context(|| services.display().to_string())?;
    for role in Role::ALL {
        let name = format!("pagurus-{role}");
        let page = Man::new(pagurus_runtime::command(*role)).section("8").manual("Pagurus");
        let mut text = Vec::new();
        page.render(&mut text).context("the page cannot be written")?;
        let file = services.join(format!("{name}.8"));
        fs::write(&file, text).with_context(|| file.display().to_string())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

    use super::*;

    #[test]
    fn every_command_and_every_service_has_its_page() {
        let folder = std::env::temp_dir().join(format!("pagurus-manual-{}", std::process::id()));
        write(&folder).unwrap();
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        let submit = read("man1/pagurus-order-submit.1");
        assert!(submit.contains("pagurus order submit") && submit.contains("scenario"), "{submit}");
        assert!(read("man1/pagurus.1").contains("Exit codes"));
        let worker = read("man8/pagurus-worker.8");
        assert!(worker.contains("Runs the stages of scenarios") && worker.contains("config"), "{worker}");
        fs::remove_dir_all(folder).unwrap();
    }
}
