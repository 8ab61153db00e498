//! Commands of iodyno that its output suggests.

use std::path::Path;
use std::sync::OnceLock;

use super::shell_word;

/// How this process was called, as far as suggested commands have to repeat it.
static CALLED: OnceLock<Called> = OnceLock::new();

#[derive(Debug, Default)]
struct Called {
    by_sudo: bool,
    store: Option<String>,
}

/// Sets how this process was called: through sudo, and with `--store` (if that is not the default).
/// Only the first call counts.
pub fn set_called(by_sudo: bool, store: Option<&Path>) {
    let store = store.map(|path| shell_word(&path.display().to_string()));
    let _ = CALLED.set(Called { by_sudo, store });
}

/// Returns the command `iodyno WORDS` for the same user and store: `sudo iodyno show last --store
/// runs.sqlite`.
pub fn own_command(words: &str) -> String {
    CALLED.get().unwrap_or(&Called::default()).command(words)
}

impl Called {
    fn command(&self, words: &str) -> String {
        let sudo = if self.by_sudo { "sudo " } else { "" };
        let store = self.store.iter().map(|path| format!(" --store {path}"));
        format!("{sudo}iodyno {words}{}", store.collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suggested_command_reaches_the_same_store() {
        assert_eq!(own_command("runs"), "iodyno runs");
        let called = Called { by_sudo: true, store: Some("'a b'".into()) };
        assert_eq!(called.command("show last"), "sudo iodyno show last --store 'a b'");
    }
}
