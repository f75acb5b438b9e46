//! `./dev bench` and `./dev soak`: a program of its own, built when one of them is called.
//! Never reads their options: the program does.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use anyhow::{Context as _, Result};
use clap::Args;
use pagurus_dev::build::{Profile, measure};
use pagurus_dev::place::root;

/// Arguments of the program.
#[derive(Clone, Debug, Args)]
#[command(disable_help_flag = true)]
pub struct Words {
    /// Options, which `--help` shows
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// Builds the program and becomes it.
pub async fn command(name: &str, profile: Profile, options: Words) -> Result<()> {
    let program = measure(&root()?, profile).await?;
    let failure = Command::new(&program).arg(name).args(options.words).exec();
    Err(failure).with_context(|| format!("cannot run {}", program.display()))
}
