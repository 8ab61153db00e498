//! What is left of a JSON document that was cut off.

use serde_json::Value;

/// The document of which `text` is the beginning, with what is complete in it.
pub(super) fn mended(text: &str) -> Option<Value> {
    let mut open = Vec::new();
    // The end of the last complete member, and what is open there.
    let mut complete = (0, Vec::new());
    let mut characters = text.bytes().enumerate();
    while let Some((at, byte)) = characters.next() {
        match byte {
            b'"' => {
                // To the end of the string.
                while let Some((_, byte)) = characters.next() {
                    match byte {
                        b'\\' => drop(characters.next()),
                        b'"' => break,
                        _ => {}
                    }
                }
            }
            b',' => complete = (at, open.clone()),
            b'{' | b'[' => {
                open.push(if byte == b'{' { '}' } else { ']' });
                complete = (at + 1, open.clone());
            }
            b'}' | b']' => {
                open.pop()?;
                complete = (at + 1, open.clone());
            }
            _ => {}
        }
    }
    let (end, open) = complete;
    let closed: String = text[..end].chars().chain(open.into_iter().rev()).collect();
    serde_json::from_str(&closed).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_members_are_kept() {
        let whole = r#"{"a": [1, {"b": "x,\"}"}], "c": {"d": 2, "e": 3}}"#;
        let keeps = |length: usize| mended(&whole[..length]).map(|value| value.to_string());
        assert_eq!(keeps(1).as_deref(), Some("{}"));
        assert_eq!(keeps(9).as_deref(), Some(r#"{"a":[1]}"#));
        assert_eq!(
            keeps(whole.len() - 3).as_deref(),
            Some(r#"{"a":[1,{"b":"x,\"}"}],"c":{"d":2}}"#)
        );
        assert!((1..whole.len()).all(|length| keeps(length).is_some()));
        assert_eq!(mended("}"), None);
        assert_eq!(mended(""), None);
    }
}
