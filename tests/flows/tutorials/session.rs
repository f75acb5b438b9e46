//! One shell for a whole tutorial, into which its commands are typed one after the other.

use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// A line that no command prints: behind it the next one is typed.
const END: &str = "\u{1e}";

pub struct Session {
    _shell: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Session {
    pub fn start(folder: &Path) -> Self {
        let mut shell = Command::new("sh");
        shell.current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut shell = shell.spawn().unwrap();
        let input = shell.stdin.take().unwrap();
        let output = BufReader::new(shell.stdout.take().unwrap()).lines();
        Self { _shell: shell, input, output }
    }

    /// Types a command, and returns the lines that it answers, errors included.
    pub async fn run(&mut self, command: &str) -> Vec<String> {
        // The commands have no input of their own: they would take it from what is typed next.
        let typed = format!("{{ {command}\n}} 2>&1 < /dev/null\nprintf '\\n{END}\\n'\n");
        self.input.write_all(typed.as_bytes()).await.unwrap();
        let mut lines = Vec::new();
        loop {
            match self.output.next_line().await.unwrap() {
                Some(line) if line == END => return lines,
                Some(line) => lines.push(line),
                None => panic!("the shell ended in `{command}`"),
            }
        }
    }
}
