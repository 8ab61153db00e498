//! Options of files and devices.

use super::codecs::{Bool, Count, Names, NonZero, Optional, Text, Words};
use super::value::Refusal;
use super::{Kind, OptionSpec, ignored, off, on, row};
use crate::{Fallocate, FileService};

const SERVICES: [(&str, Option<FileService>); 7] = [
    ("roundrobin", Some(FileService::RoundRobin)),
    ("random", Some(FileService::Random)),
    ("sequential", Some(FileService::Sequential)),
    ("zipf", None),
    ("pareto", None),
    ("normal", None),
    ("gauss", None),
];

const FALLOCATE: &[(&str, Fallocate)] = &[
    ("none", Fallocate::None),
    ("native", Fallocate::Native),
    ("posix", Fallocate::Posix),
    ("keep", Fallocate::Keep),
    ("truncate", Fallocate::Truncate),
    ("0", Fallocate::None),
    ("1", Fallocate::Posix),
];

pub(super) static ROWS: &[OptionSpec] = &[
    row!("name", name, Text, "", ["seq-read"], "name of the job"),
    row!("description", description, Optional(Text), "", ["\"fill\""], "text about the job"),
    row!(
        "filename",
        files.filename,
        Names,
        "",
        ["/dev/nvme0n1", "a:b:c", "disk\\:1"],
        "files or devices; \\: stands for a colon in a name"
    ),
    row!(
        "directory",
        files.directory,
        Names,
        "",
        ["/mnt/a", "/mnt/a:/mnt/b"],
        "directory of the files, which must exist; clones use the directories in turn"
    ),
    row!(
        "filename_format",
        files.filename_format,
        Optional(Text),
        "$jobname.$jobnum.$filenum",
        ["$jobname.$filenum", "shared"],
        "format of generated file names, used without filename"
    ),
    ignored!(
        "unique_filename",
        Bool,
        "1",
        ["0"],
        "there are no clients whose files could collide",
        "prefix file names with the client's address (fio's server)"
    ),
    row!(
        "nrfiles" | "nr_files",
        files.nrfiles,
        Count(1, 1 << 20),
        "1",
        ["16"],
        "number of files used by the job"
    ),
    row!(
        "openfiles",
        files.openfiles,
        NonZero(Count(0, 1 << 20)),
        "",
        ["4"],
        "number of files kept open at the same time; default: all"
    ),
    OptionSpec {
        name: "file_service_type",
        default: "roundrobin",
        examples: &["random", "sequential", "roundrobin:8"],
        help: "how the next file is chosen; `:N` sets the I/Os before switching (zipf, pareto, normal, gauss: by fio)",
        kind: || Kind::Words(SERVICES.map(|(word, _)| word).to_vec()),
        parse: |job, value| {
            let service = value.word(&SERVICES)?;
            let service = service.ok_or_else(|| {
                Refusal::FioOnly("files are chosen in turn, at random or in sequence".into())
            })?;
            let mut ios = 1;
            if let Some((_, text)) = value.text.split_once(':') {
                ios = value.with(text).number_within(1, u32::MAX.into())? as u32;
            }
            (job.files.file_service_type, job.files.file_service_ios) = (service, ios);
            Ok(())
        },
        print: |job| {
            let wanted = Some(job.files.file_service_type);
            let found = SERVICES.iter().find(|(_, service)| *service == wanted);
            let word = found.map_or("", |(word, _)| word);
            match job.files.file_service_ios {
                1 => word.into(),
                ios => format!("{word}:{ios}"),
            }
        },
        ..OptionSpec::DEFAULT
    },
    on!("allow_file_create", files.allow_file_create, Bool, "create missing files"),
    ignored!(
        "create_serialize",
        Bool,
        "1",
        ["0"],
        "files are always laid out one after the other",
        "serialize the file creation of jobs"
    ),
    ignored!(
        "create_fsync",
        Bool,
        "1",
        ["0"],
        "files that are laid out are always synced",
        "sync files after laying them out"
    ),
    off!("create_on_open", files.create_on_open, Bool, "create files when the job opens them"),
    off!("create_only", files.create_only, Bool, "lay out the files and make no I/O"),
    row!(
        "fallocate",
        files.fallocate,
        Words(FALLOCATE),
        "native",
        ["none", "keep", "posix", "truncate"],
        "how space is preallocated for files"
    ),
    off!(
        "overwrite",
        files.overwrite,
        Bool,
        "lay out files before writing; in files that iodyno did not create, only the missing part"
    ),
    off!("unlink", files.unlink, Bool, "remove files when the job is done"),
    on!(
        "invalidate",
        files.invalidate,
        Bool,
        "invalidate the page cache of the files before I/O, at each restart (time_based, loops) and before verifying"
    ),
    OptionSpec {
        name: "fadvise_hint",
        default: "1",
        examples: &["0"],
        help: "advise the kernel of sequential or random I/O (random, sequential, noreuse: by fio)",
        kind: || Kind::Words(vec!["0", "1", "random", "sequential", "noreuse"]),
        parse: |job, value| {
            let words = [
                ("0", Some(false)),
                ("1", Some(true)),
                ("random", None),
                ("sequential", None),
                ("noreuse", None),
            ];
            let hint = value.word(&words)?;
            job.files.fadvise_hint = hint.ok_or_else(|| {
                Refusal::FioOnly("the hint follows the pattern, or is left out".into())
            })?;
            Ok(())
        },
        print: |job| u8::from(job.files.fadvise_hint).to_string(),
        ..OptionSpec::DEFAULT
    },
    off!("fsync_on_close", files.fsync_on_close, Bool, "sync files when closing them"),
    ignored!(
        "filetype",
        Words(&[("none", 0), ("file", 1), ("block", 2), ("char", 3)]),
        "none",
        ["none", "file", "block", "char"],
        "what a name stands for is always looked at",
        "type of the job's files"
    ),
    ignored!(
        "allow_mounted_write",
        Bool,
        "0",
        ["0", "1"],
        "what is in use is never written to, whatever it says",
        "allow fio to write to mounted devices"
    ),
];
