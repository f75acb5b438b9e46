//! Things that are handed on: packages, the files of the image, and the list of what is built in (RUN-2, QLT-10).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn output_of(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Everything below a folder, by its path from there.
fn below(folder: &Path) -> BTreeSet<String> {
    let listed = output_of("find", &[folder.to_str().unwrap(), "-type", "f", "-printf", "%P\n"]);
    listed.lines().map(str::to_owned).collect()
}

#[test]
fn run_2_qlt_10_packages_hold_what_they_should_and_say_what_is_built_in() {
    let programs = PathBuf::from(std::env::var_os("PAGURUS_TEST_BIN").unwrap());
    let into = programs.join("tmp-package");
    let (tool, folder) = (programs.join("dev"), into.to_str().unwrap());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut command = Command::new(tool);
    command.args(["package", "--programs", programs.to_str().unwrap(), "--into", folder]);
    let made = command.env("PAGURUS_ROOT", root).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));

    check_image(&into);
    check_packages(&into);
    check_list(&into);
    std::fs::remove_dir_all(into).unwrap();
}

fn check_image(into: &Path) {
    let image = below(&into.join("image"));
    let program = "usr/local/bin/pagurus";
    let expected = BTreeSet::from([program.to_owned(), "etc/pagurus/pagurus.yaml".to_owned()]);
    assert_eq!(image, expected, "the image has these files and no other");
    let path = into.join("image").join(program);
    let version = output_of(path.to_str().unwrap(), &["--version"]);
    assert_eq!(version.trim(), format!("pagurus {}", env!("CARGO_PKG_VERSION")));
    // The last stage of the image has the C library and its kin, and nothing else.
    for line in output_of("ldd", &[path.to_str().unwrap()]).lines() {
        let library = line.split_whitespace().next().unwrap_or_default();
        let is_there =
            ["linux-vdso", "libc.", "libm.", "libgcc_s.", "/lib64/ld-", "libpthread.", "libdl.", "librt."];
        assert!(is_there.iter().any(|known| library.starts_with(known)), "pagurus needs {library}");
    }
}

/// The one file with this ending.
fn file(into: &Path, ending: &str) -> String {
    let names = below(into);
    let found = names.iter().find(|name| name.ends_with(ending) && !name.contains('/'));
    into.join(found.unwrap_or_else(|| panic!("no {ending} in {names:?}"))).to_str().unwrap().to_owned()
}

fn check_packages(into: &Path) {
    let package = file(into, ".deb");
    let control = output_of("dpkg-deb", &["--field", &package]);
    assert!(control.contains("Package: pagurus\n"), "{control}");
    for word in ["@VERSION@", "@ARCHITECTURE@", "@SIZE@"] {
        assert!(!control.contains(word), "{control}");
    }
    let content = output_of("dpkg-deb", &["--contents", &package]);
    for path in [
        "./usr/bin/pagurus",
        "./etc/pagurus/pagurus.yaml",
        "./lib/systemd/system/pagurus@.service",
        "./usr/share/man/man1/pagurus.1.gz",
        "./usr/share/man/man1/pagurus-order-submit.1.gz",
        "./usr/share/man/man1/pagurus-serve.1.gz",
        "./usr/share/pagurus/schemas/scenario.json",
    ] {
        assert!(content.contains(path), "{path} is missing: {content}");
    }
    assert!(content.lines().all(|line| line.contains("root/root")), "{content}");
    for script in ["postinst", "prerm", "postrm"] {
        let text = output_of("dpkg-deb", &["--info", &package, script]);
        assert!(text.starts_with("#!/bin/sh\n"), "{script}: {text}");
    }
    let listed = output_of("tar", &["--list", "--gzip", "--file", &file(into, ".tar.gz")]);
    assert!(listed.contains(&format!("pagurus-{}/usr/bin/pagurus\n", env!("CARGO_PKG_VERSION"))), "{listed}");
    assert!(!listed.contains("DEBIAN"), "{listed}");
}

fn check_list(into: &Path) {
    let list: Value =
        serde_json::from_str(&std::fs::read_to_string(file(into, ".cdx.json")).unwrap()).unwrap();
    assert_eq!((&list["bomFormat"], &list["specVersion"]), (&"CycloneDX".into(), &"1.6".into()));
    let parts = list["components"].as_array().unwrap();
    let has = |name: &str| parts.iter().any(|part| part["name"] == name);
    assert!(has("lapin") && has("tokio-postgres") && has("pagurus-worker"));
    assert!(has("preact") && has("@codemirror/view"), "the program carries the pages");
    assert!(!has("esbuild") && !has("typescript"), "what only builds the pages is in no program");
    assert!(!has("proptest") && !has("pagurus-tests"), "what only tests need is in no program");
    for part in parts {
        let ours = part["name"].as_str().unwrap().starts_with("pagurus-");
        let digits = if part["hashes"][0]["alg"] == "SHA-512" { 128 } else { 64 };
        let sum = part["hashes"][0]["content"].as_str();
        assert!(ours || sum.is_some_and(|sum| sum.len() == digits), "{part}");
        assert!(
            part["licenses"][0]["expression"].as_str().is_some_and(|licence| !licence.is_empty()),
            "{part}"
        );
    }
    let references: BTreeSet<&str> = parts.iter().map(|part| part["bom-ref"].as_str().unwrap()).collect();
    assert_eq!(references.len(), parts.len());
    for needed in list["dependencies"].as_array().unwrap() {
        for on in needed["dependsOn"].as_array().unwrap() {
            assert!(references.contains(on.as_str().unwrap()), "{on} is needed and not listed");
        }
    }
}
