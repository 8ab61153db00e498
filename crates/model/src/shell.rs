//! Quoting of words for shells and for configuration files.

use crate::is_unsafe;

/// Quotes a word for the shell where needed.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%^".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else if text.chars().any(is_unsafe) {
        format!("$'{}'", text.chars().map(escaped).collect::<String>())
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// A character within `$'…'`. What no terminal shows is written as its bytes, so that the word
/// still names the same file.
fn escaped(c: char) -> String {
    match c {
        '\'' | '\\' => format!("\\{c}"),
        c if is_unsafe(c) => {
            c.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("\\x{byte:02x}")).collect()
        }
        c => c.into(),
    }
}

/// Quotes a word as JSON, YAML and TOML read it.
pub fn json_word(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_does_not_show_is_still_part_of_the_word() {
        for (text, word) in [
            ("a/b-1", "a/b-1"),
            ("it's b", r"'it'\''s b'"),
            ("q\u{202e}x", r"$'q\xe2\x80\xaex'"),
            ("n\x1b[3\nit's \\", r"$'n\x1b[3\x0ait\'s \\'"),
        ] {
            assert_eq!(shell_word(text), word);
            let script = format!("printf %s {word}");
            let printed = std::process::Command::new("bash").args(["-c", &script]).output();
            assert_eq!(printed.unwrap().stdout, text.as_bytes());
        }
    }
}
