//! Outbox of documents still to be pushed, beside the store: `STORE.outbox/NAME` with `NAME.to`,
//! which lists the destinations that lack it. The newest are kept; `dropped` names the others.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use iodyno_files::NameOrigin;

use super::{DestinationRef, MAX_DOCUMENT_BYTES, PushError, Upload, with_retries};

/// Suffix of the list of destinations.
const LIST_SUFFIX: &str = ".to";
/// Maximum length of a list of destinations, bytes.
const MAX_LIST_BYTES: u64 = 1 << 20;
/// Maximum number of documents kept.
const MAX_KEPT: usize = 1000;
/// Maximum size of all kept documents, bytes: an unreachable destination must not fill the disk.
const MAX_KEPT_BYTES: u64 = 1 << 30;
/// File with the names of dropped documents, one per line.
const DROPPED: &str = "dropped";
/// Maximum number of names in that file; the last are kept.
const MAX_DROPPED: usize = 10_000;
/// Grace period after the deadline, within which another document may be started.
const GRACE: Duration = Duration::from_secs(1);

/// Mode bits that let others add documents.
const OTHERS_WRITE: u32 = 0o022;

/// The outbox of one store.
pub(crate) struct Outbox {
    folder: PathBuf,
    most: usize,
    most_bytes: u64,
}

/// Result of a push.
#[derive(Debug, Default)]
pub(crate) struct Pushed {
    /// Number of documents accepted by all their destinations.
    pub(crate) done: usize,
    /// Number of documents left.
    pub(crate) left: usize,
    /// Destinations that refused, and why.
    pub(crate) refused: Vec<(DestinationRef, String)>,
    /// Unreadable documents, or documents whose list cannot be written, and why: they are left.
    pub(crate) unreadable: Vec<String>,
    /// Names of the oldest documents, dropped now because the outbox was full.
    pub(crate) dropped: Vec<String>,
}

impl Outbox {
    /// Outbox of the store at `store`.
    pub(crate) fn of(store: &Path) -> Self {
        let mut name = store.canonicalize().unwrap_or_else(|_| store.into()).into_os_string();
        name.push(".outbox");
        Self { folder: name.into(), most: MAX_KEPT, most_bytes: MAX_KEPT_BYTES }
    }

    /// File with the names of dropped documents, and their number.
    pub(crate) fn dropped(&self) -> (PathBuf, usize) {
        let file = self.folder.join(DROPPED);
        let text = iodyno_files::read(&file, MAX_LIST_BYTES << 4).unwrap_or_default();
        (file, text.iter().filter(|byte| **byte == b'\n').count())
    }

    /// Keeps a document for `to`; it is on the disk when this returns.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn add(&self, name: &str, bytes: &[u8], to: &[DestinationRef]) -> Result<()> {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        made.with_context(|| format!("cannot create {}", self.folder.display()))?;
        self.refuse_of_others()?;
        // In this order: a list without a document is harmless, a document without a list would be
        // forgotten.
        self.put_list(name, to)?;
        iodyno_files::leave(&self.folder, name, bytes)?;
        Ok(())
    }

    /// Sends a document that could not be kept; returns the destinations that refused, and why.
    pub(crate) fn send_now(
        upload: &Upload<'_>,
        to: &[DestinationRef],
    ) -> Vec<(DestinationRef, String)> {
        let refused =
            |to: &DestinationRef| Some((to.clone(), send_with_retries(to, upload).err()?.why));
        to.iter().filter_map(refused).collect()
    }

    /// Sends the kept documents, the oldest first, until `until` or slightly later. Then the oldest
    /// of the remaining ones are dropped beyond the limits.
    ///
    /// # Errors
    /// The folder cannot be read or written.
    pub(crate) fn push(&self, until: Instant) -> Result<Pushed> {
        let mut pushed = Pushed::default();
        self.refuse_of_others()?;
        // An unreachable destination is not tried again for the next document.
        let mut away = BTreeSet::new();
        for (name, _) in &self.kept()? {
            // A verdict must not be delayed by documents left from earlier weeks.
            if Instant::now() > until + GRACE {
                pushed.left += 1;
                continue;
            }
            let (bytes, to) = match self.read(name) {
                Ok(read) => read,
                // Another iodyno sent it since the names were read.
                Err(_) if self.is_gone(name) => continue,
                Err(error) => {
                    pushed.left += 1;
                    pushed.unreadable.push(format!("{error:#}"));
                    continue;
                }
            };
            let mut lacking = Vec::new();
            for reference in &to {
                let upload = Upload { name, bytes: &bytes, until };
                if away.contains(reference) {
                    lacking.push(reference.clone());
                } else if let Err(refused) = send_with_retries(reference, &upload) {
                    if refused.is_temporary {
                        away.insert(reference.clone());
                    }
                    lacking.push(reference.clone());
                    pushed.refused.push((reference.clone(), refused.why));
                }
            }
            if lacking.is_empty() {
                pushed.done += 1;
                self.forget(name);
            } else if !self.is_gone(name) {
                pushed.left += 1;
                // The old list stays in place, so that some destinations get the document once
                // more.
                if lacking != to
                    && let Err(error) = self.put_list(name, &lacking)
                {
                    pushed.unreadable.push(format!("{error:#}"));
                }
            }
        }
        pushed.dropped = self.trim()?;
        pushed.left -= pushed.dropped.len().min(pushed.left);
        Ok(pushed)
    }

    /// Checks that only this user and root can have put documents and destinations here: they are
    /// sent with this user's rights and secrets.
    fn refuse_of_others(&self) -> Result<()> {
        let found = match self.folder.symlink_metadata() {
            Ok(found) => found,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let is_ours = [0, rustix::process::geteuid().as_raw()].contains(&found.uid());
        if !found.is_dir() || !is_ours || found.mode() & OTHERS_WRITE != 0 {
            bail!(
                "{}: other users may have put documents there, so nothing is pushed; remove it, or \
                 name a store in a directory of your own",
                self.folder.display()
            );
        }
        Ok(())
    }

    /// Names and sizes of the documents, bytes, the oldest first.
    fn kept(&self) -> Result<Vec<(String, u64)>> {
        let lists = iodyno_files::list_regular_files(&self.folder, LIST_SUFFIX)
            .with_context(|| format!("{} cannot be read", self.folder.display()))?;
        let size = |name: &str| Some(self.folder.join(name).symlink_metadata().ok()?.len());
        let names = lists.iter().map(|list| list.trim_end_matches(LIST_SUFFIX));
        let mut kept: Vec<(String, u64)> =
            names.filter_map(|name| Some((name.to_owned(), size(name)?))).collect();
        kept.sort_by(|(a, _), (b, _)| run_id(a).cmp(run_id(b)));
        Ok(kept)
    }

    /// Drops the oldest documents beyond the limits, but never the newest one; returns their names.
    fn trim(&self) -> Result<Vec<String>> {
        let kept = self.kept()?;
        let (mut count, mut bytes) = (0, 0);
        let fits = |(_, size): &&(String, u64)| {
            (count, bytes) = (count + 1, bytes + size);
            count == 1 || count <= self.most && bytes <= self.most_bytes
        };
        let fitting = kept.iter().rev().take_while(fits).count();
        let dropped: Vec<String> =
            kept.into_iter().rev().skip(fitting).map(|(name, _)| name).rev().collect();
        if dropped.is_empty() {
            return Ok(dropped);
        }
        // Names are written before anything is removed, so that the loss is known later.
        let file = self.folder.join(DROPPED);
        let known = match file.exists() {
            true => iodyno_files::read(&file, MAX_LIST_BYTES << 4)?,
            false => Vec::new(),
        };
        let known = String::from_utf8_lossy(&known);
        let names: Vec<&str> = known.lines().chain(dropped.iter().map(String::as_str)).collect();
        let text = names[names.len().saturating_sub(MAX_DROPPED)..].join("\n") + "\n";
        self.put(DROPPED, text.as_bytes())?;
        dropped.iter().for_each(|name| self.forget(name));
        Ok(dropped)
    }

    fn read(&self, name: &str) -> Result<(Vec<u8>, Vec<DestinationRef>)> {
        let list = self.folder.join(format!("{name}{LIST_SUFFIX}"));
        let to = serde_json::from_slice(&iodyno_files::read(&list, MAX_LIST_BYTES)?)?;
        Ok((iodyno_files::read(&self.folder.join(name), MAX_DOCUMENT_BYTES)?, to))
    }

    fn put_list(&self, name: &str, to: &[DestinationRef]) -> Result<()> {
        self.put(&format!("{name}{LIST_SUFFIX}"), &serde_json::to_vec(to)?)
    }

    /// Replaces the content of file `name` by `bytes` atomically: it stays as it was on a full disk
    /// or a kill.
    fn put(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let part = self.folder.join(format!(".{name}.{}.part", std::process::id()));
        let outcome = write_synced(&part, bytes)
            .and_then(|()| Ok(iodyno_files::rename(&part, &self.folder.join(name))?));
        if outcome.is_err() {
            let _ = iodyno_files::remove(&part, |_| true);
        }
        outcome.map(drop)
    }

    /// True if the document, which is removed before its list, is no longer here.
    fn is_gone(&self, name: &str) -> bool {
        let found = self.folder.join(name).symlink_metadata();
        found.is_err_and(|error| error.kind() == ErrorKind::NotFound)
    }

    fn forget(&self, name: &str) {
        for name in [name, &format!("{name}{LIST_SUFFIX}")] {
            // Another iodyno may have sent it at the same time.
            let _ = iodyno_files::remove(&self.folder.join(name), |_| true);
        }
    }
}

/// Writes a file of `bytes`, on the disk when this returns.
fn write_synced(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = iodyno_files::create(path, NameOrigin::Iodyno)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    written.with_context(|| format!("{} cannot be written", path.display()))
}

/// The run in a document's name (`NODE.HOSTID.RUN.json`), whose id tells when it began.
fn run_id(name: &str) -> &str {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    stem.rsplit('.').next().unwrap_or(stem)
}

/// Sends `upload` to a destination, with retries.
fn send_with_retries(to: &DestinationRef, upload: &Upload<'_>) -> Result<(), PushError> {
    with_retries(upload.until, || to.send(upload))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Documents of 100 bytes for a missing directory, pushed in vain.
    fn kept(most: usize, most_bytes: u64, runs: &[&str]) -> (Vec<String>, Pushed, String) {
        let folder = tempfile::tempdir().unwrap();
        let outbox = Outbox { folder: folder.path().join("outbox"), most, most_bytes };
        let away = DestinationRef::typed(folder.path().join("away").to_str().unwrap()).unwrap();
        for run in runs {
            let name = format!("{run}.json");
            outbox.add(&name, &[b' '; 100], std::slice::from_ref(&away)).unwrap();
        }
        let pushed = outbox.push(Instant::now()).unwrap();
        let left = outbox.kept().unwrap().into_iter().map(|(name, _)| name).collect();
        let (file, count) = outbox.dropped();
        assert_eq!(count, pushed.dropped.len());
        (left, pushed, std::fs::read_to_string(file).unwrap_or_default())
    }

    #[test]
    fn the_newest_documents_are_kept_and_the_others_are_named() {
        let runs = ["b.0.01", "a.0.03", "a.0.02", "z.0.04"];
        let (left, pushed, dropped) = kept(2, 1 << 20, &runs);
        assert_eq!(left, ["a.0.03.json", "z.0.04.json"]);
        assert_eq!(pushed.dropped, ["b.0.01.json", "a.0.02.json"]);
        assert_eq!((pushed.left, dropped.as_str()), (2, "b.0.01.json\na.0.02.json\n"));
        let (left, pushed, dropped) = kept(4, 400, &runs);
        assert_eq!((left.len(), pushed.dropped.len(), dropped.as_str()), (4, 0, ""));
        let (left, ..) = kept(4, 399, &runs);
        assert_eq!(left, ["a.0.02.json", "a.0.03.json", "z.0.04.json"]);
        // The newest is kept although it exceeds the limit alone.
        let (left, pushed, _) = kept(4, 99, &runs);
        assert_eq!((left.len(), pushed.left, pushed.dropped.len()), (1, 1, 3));
    }

    #[test]
    fn dropped_names_are_appended() {
        let folder = tempfile::tempdir().unwrap();
        let outbox = Outbox { folder: folder.path().join("outbox"), most: 1, most_bytes: 1 << 20 };
        let away = [DestinationRef::typed(folder.path().join("away").to_str().unwrap()).unwrap()];
        for run in ["1", "2", "3"] {
            outbox.add(&format!("n.0.{run}.json"), b"{}", &away).unwrap();
            outbox.push(Instant::now()).unwrap();
        }
        let (file, count) = outbox.dropped();
        assert_eq!(count, 2);
        assert_eq!(std::fs::read_to_string(file).unwrap(), "n.0.1.json\nn.0.2.json\n");
    }

    #[test]
    fn old_documents_do_not_delay_a_verdict() {
        let folder = tempfile::tempdir().unwrap();
        let outbox = Outbox { folder: folder.path().join("outbox"), most: 9, most_bytes: 1 << 20 };
        let here = [DestinationRef::typed(folder.path().to_str().unwrap()).unwrap()];
        for run in ["1", "2"] {
            outbox.add(&format!("n.0.{run}.json"), b"{}", &here).unwrap();
        }
        let past = Instant::now().checked_sub(2 * GRACE).unwrap();
        let pushed = outbox.push(past).unwrap();
        assert_eq!((pushed.done, pushed.left), (0, 2), "{pushed:?}");
        let pushed = outbox.push(Instant::now()).unwrap();
        assert_eq!((pushed.done, pushed.left), (2, 0), "{pushed:?}");
    }

    #[test]
    fn a_list_that_cannot_be_written_stays_as_it_was_and_stops_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let [outbox, away, here] = ["outbox", "away", "here"].map(|name| folder.path().join(name));
        std::fs::create_dir(&here).unwrap();
        let outbox = Outbox { folder: outbox, most: 2, most_bytes: 1 << 20 };
        let to = [away, here].map(|path| DestinationRef::typed(path.to_str().unwrap()).unwrap());
        for run in ["1", "2"] {
            outbox.add(&format!("n.0.{run}.json"), b"{}", &to).unwrap();
        }
        // Acts like a full disk: the new list cannot be written.
        let part = format!(".n.0.1.json{LIST_SUFFIX}.{}.part", std::process::id());
        std::fs::create_dir(outbox.folder.join(&part)).unwrap();
        let pushed = outbox.push(Instant::now()).unwrap();
        assert_eq!((pushed.left, pushed.unreadable.len()), (2, 1), "{pushed:?}");
        assert_eq!(outbox.read("n.0.1.json").unwrap().1, to);
        assert_eq!(outbox.read("n.0.2.json").unwrap().1, to[..1]);
        std::fs::remove_dir(outbox.folder.join(part)).unwrap();
        let pushed = outbox.push(Instant::now()).unwrap();
        assert_eq!((pushed.left, pushed.unreadable.len()), (2, 0), "{pushed:?}");
        assert_eq!(outbox.read("n.0.1.json").unwrap().1, to[..1]);
        assert_eq!(outbox.folder.read_dir().unwrap().count(), 4, "nothing is left beside them");
    }

    #[test]
    fn nothing_is_pushed_from_a_folder_that_others_may_write() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let [outbox, here] = ["outbox", "here"].map(|name| folder.path().join(name));
        std::fs::create_dir(&here).unwrap();
        let to = [DestinationRef::typed(here.to_str().unwrap()).unwrap()];
        let outbox = Outbox { folder: outbox, most: 9, most_bytes: 1 << 20 };
        outbox.add("n.0.1.json", b"{}", &to).unwrap();
        let mode = |mode| std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&outbox.folder, mode(0o777)).unwrap();
        assert!(outbox.push(Instant::now()).is_err());
        assert!(outbox.add("n.0.2.json", b"{}", &to).is_err());
        assert_eq!(std::fs::read_dir(&here).unwrap().count(), 0);
        std::fs::set_permissions(&outbox.folder, mode(0o700)).unwrap();
        assert_eq!(outbox.push(Instant::now()).unwrap().done, 1);
    }
}
