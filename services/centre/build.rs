//! Has a program for release compiled again when other pages were built, since it carries them.

fn main() {
    // A program for development reads the pages from their folder: there, only a change of this file matters.
    let release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    println!("cargo::rerun-if-changed={}", if release { "web/dist" } else { "build.rs" });
}
