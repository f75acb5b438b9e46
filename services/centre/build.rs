//! Has the crate compiled again when other pages were built: a program for release carries them.

fn main() {
    println!("cargo::rerun-if-changed=web/dist");
}
