//! Follows symbolic links in a tree that need not be this machine's.

use std::io;

/// Longest chain of symbolic links, as in the kernel; beyond that it is a loop.
const MOST_LINKS: u32 = 40;

/// Resolves the links in `path`: `link` returns the target of the one at a path, or `None`, and
/// gets whether that is the last component.
///
/// # Errors
/// Those of `link`; ELOOP.
pub(crate) fn follow(
    path: &str,
    mut link: impl FnMut(&str, bool) -> io::Result<Option<String>>,
) -> io::Result<String> {
    let mut todo: Vec<String> = path.split('/').rev().map(String::from).collect();
    let (mut resolved, mut links) = (String::new(), 0);
    while let Some(part) = todo.pop() {
        match part.as_str() {
            "" | "." => continue,
            ".." => {
                resolved.truncate(resolved.rfind('/').unwrap_or(0));
                continue;
            }
            _ => {}
        }
        let next = format!("{resolved}/{part}");
        let is_last = todo.iter().all(String::is_empty);
        let Some(to) = link(&next, is_last)? else {
            resolved = next;
            continue;
        };
        links += 1;
        if links > MOST_LINKS {
            return Err(io::Error::from_raw_os_error(libc::ELOOP));
        }
        if to.starts_with('/') {
            resolved.clear();
        }
        todo.extend(to.split('/').rev().map(String::from));
    }
    Ok(resolved)
}
