//! Quoting of words for shells and for configuration files.

/// Quotes a word for the shell where needed.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%^".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Quotes a word as JSON, YAML and TOML read it.
pub fn json_word(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
