//! Has a program for release compiled again when other pages were built, since it carries them.

fn main() {
    // A program for development reads the pages from their folder: there, only a change of this file matters.
    let release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let watched: &[&str] = if release { &["web/dist", "web/site/dist"] } else { &["build.rs"] };
    for path in watched {
        println!("cargo::rerun-if-changed={path}");
    }
}
