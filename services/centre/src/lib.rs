//! The pages of the control centre and the documentation, as files to serve. Their sources stand in `web/` and in the documents of
//! the repository; `./dev` makes `web/dist` and `web/site/dist` from them.
//!
//! A program for release carries the files of its build. One for development reads them from the source folder, so that
//! pages change without a build of the program. Both work without pages: [`shell`] and [`guide`] return nothing then.

use std::borrow::Cow;
use std::fmt::Write as _;

use rust_embed::{EmbeddedFile, RustEmbed};

#[derive(RustEmbed)]
#[folder = "web/dist"]
#[allow_missing = true]
struct Files;

#[derive(RustEmbed)]
#[folder = "web/site/dist"]
#[allow_missing = true]
struct Guide;

/// Value of the header `Content-Security-Policy` of pages: they load what this server serves, and ask only this server.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// A file of the pages.
#[derive(Debug)]
pub struct PageFile {
    /// Contents, compressed or not.
    pub bytes: Cow<'static, [u8]>,
    /// Media type of the contents.
    pub media_type: &'static str,
    /// True if the bytes are compressed by gzip.
    pub gzip: bool,
    /// Digits that follow from the bytes.
    pub digest: String,
}

/// Returns the one HTML document, in which a script shows the page of the address; nothing where no pages were built.
#[must_use]
pub fn shell(gzip: bool) -> Option<PageFile> {
    file("index.html", gzip)
}

/// Returns a script or a style sheet. Its name tells its contents, so it never changes.
#[must_use]
pub fn asset(name: &str, gzip: bool) -> Option<PageFile> {
    (name != "index.html").then(|| file(name, gzip))?
}

fn file(name: &str, gzip: bool) -> Option<PageFile> {
    let stem = name.rsplit_once('.')?.0;
    let media_type = media_type_of(name).filter(|_| !stem.contains('.'))?;
    read(Files::get, name, media_type, gzip)
}

/// Returns a page of the documentation, or a file that its pages load; all stand in one folder.
#[must_use]
pub fn guide(name: &str, gzip: bool) -> Option<PageFile> {
    read(Guide::get, name, media_type_of(name)?, gzip)
}

fn read(
    get: fn(&str) -> Option<EmbeddedFile>,
    name: &str,
    media_type: &'static str,
    gzip: bool,
) -> Option<PageFile> {
    let compressed = gzip.then(|| get(&format!("{name}.gz"))).flatten();
    let gzip = compressed.is_some();
    let found = compressed.or_else(|| get(name))?;
    let digest = found.metadata.sha256_hash()[..8].iter().fold(String::new(), |mut digits, byte| {
        // Writing into a String cannot fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    });
    Some(PageFile { bytes: found.data, media_type, gzip, digest })
}

/// The media type of a file that pages consist of; nothing for others, such as a path that leads elsewhere.
fn media_type_of(name: &str) -> Option<&'static str> {
    let (stem, kind) = name.rsplit_once('.')?;
    let plain = stem.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    match kind {
        _ if !plain || stem.is_empty() || stem.starts_with('.') => None,
        "js" => Some("text/javascript; charset=utf-8"),
        "css" => Some("text/css; charset=utf-8"),
        "html" => Some("text/html; charset=utf-8"),
        "json" => Some("application/json"),
        "svg" => Some("image/svg+xml"),
        "png" => Some("image/png"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qlt_8_no_name_leads_out_of_the_folder() {
        for name in [
            "../build.mjs",
            "..%2fpackage.json",
            "a/../main.js",
            "main.js.gz",
            "index.html",
            "/etc/passwd",
            ".js",
            "",
        ] {
            assert!(asset(name, false).is_none(), "{name}");
            assert!(name == "index.html" || guide(name, false).is_none(), "{name}");
        }
    }
}
