//! Connections by TLS: to RabbitMQ and to called systems, with certificates that are checked, shown and exchanged.

mod calls;
mod handshake;
mod receivers;
mod served;

use std::path::PathBuf;

/// A folder of files that ends with this value.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("pagurus-tls-{name}-{:016x}", rand::random::<u64>()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Writes a file as a whole: a reader never sees a part of it.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let (path, draft) = (self.0.join(name), self.0.join(format!("{name}.draft")));
        std::fs::write(&draft, text).unwrap();
        std::fs::rename(&draft, &path).unwrap();
        path
    }

    pub fn path(&self) -> &std::path::Path {
        &self.0
    }

    fn text(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Some files are left if one is in use, which a temporary folder survives.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
