//! Completes a truncated JSON document.

/// End of the complete part of the truncated document `text`, and the brackets that close it;
/// `None` if brackets do not match.
pub(super) fn complete_part(text: &str) -> Option<(usize, Vec<u8>)> {
    let mut open = Vec::new();
    // End of the last complete member; no bracket is opened or closed after it.
    let mut end = 0;
    let mut characters = text.bytes().enumerate();
    while let Some((at, byte)) = characters.next() {
        match byte {
            b'"' => {
                // Skip to the end of the string.
                while let Some((_, byte)) = characters.next() {
                    match byte {
                        b'\\' => drop(characters.next()),
                        b'"' => break,
                        _ => {}
                    }
                }
            }
            b',' => end = at,
            b'{' | b'[' => {
                open.push(if byte == b'{' { b'}' } else { b']' });
                end = at + 1;
            }
            b'}' | b']' => {
                open.pop()?;
                end = at + 1;
            }
            _ => {}
        }
    }
    open.reverse();
    Some((end, open))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_members_are_kept() {
        let whole = r#"{"a": [1, {"b": "x,\"}"}], "c": {"d": 2, "e": 3}}"#;
        let keeps = |length: usize| {
            let (end, brackets) = complete_part(&whole[..length])?;
            let text = format!("{}{}", &whole[..end], String::from_utf8(brackets).ok()?);
            let value = serde_json::from_str::<serde_json::Value>(&text).ok()?;
            Some(value.to_string())
        };
        assert_eq!(keeps(1).as_deref(), Some("{}"));
        assert_eq!(keeps(9).as_deref(), Some(r#"{"a":[1]}"#));
        assert_eq!(
            keeps(whole.len() - 3).as_deref(),
            Some(r#"{"a":[1,{"b":"x,\"}"}],"c":{"d":2}}"#)
        );
        assert!((1..whole.len()).all(|length| keeps(length).is_some()));
        let deep = "[".repeat(1 << 20);
        assert_eq!(complete_part(&deep).unwrap().1.len(), 1 << 20);
        assert_eq!(complete_part("}"), None);
        assert_eq!(complete_part(""), Some((0, Vec::new())));
    }
}
