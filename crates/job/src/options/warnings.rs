//! fio's warnings about a job (init.c, `fixup_options`), which are errors with `--warnings-fatal`.

use iodyno_model::Direction;

use super::is_given;
use crate::{BlockSize, Job, VerifyMethod};

/// Keywords of `filename_format` that together make each file unique to a clone.
const UNIQUE_KEYWORDS: [&str; 3] = ["$jobname", "$jobnum", "$filenum"];

/// Returns fio's warnings about `job`, which was made of `entries`.
pub(crate) fn warnings(job: &Job, entries: &[(&str, Option<&str>)]) -> Vec<&'static str> {
    let given = |wanted| is_given(entries, wanted);
    let Job { pattern, verify, files, time, replay, .. } = job;
    let own_align = |(direction, bs): (Direction, &BlockSize)| {
        let align = pattern.blockalign.as_ref().map_or(0, |align| *align.of(direction));
        align > 0 && align != bs.smallest()
    };
    let writes = pattern.rw.has(Direction::Write);
    let verifies = verify.method != VerifyMethod::None;
    let written_then_verified = verifies && verify.do_verify && writes;
    let shared = || match &files.filename_format {
        _ if !files.filename.is_empty() => true,
        Some(format) => UNIQUE_KEYWORDS.iter().any(|part| !format.contains(part)),
        None => false,
    };
    [
        (
            replay.read_iolog.is_some() && replay.write_iolog.is_some(),
            "read_iolog overrides write_iolog",
        ),
        (
            pattern.rw.is_random() && !given("norandommap") && pattern.bs.iter().any(own_align),
            "blockalign turns off the map of random blocks (norandommap=1)",
        ),
        (
            verifies
                && pattern.norandommap
                && pattern.used_sizes().any(|(_, bs)| bs.fixed().is_none()),
            "norandommap with blocks of several sizes: not all of them can be verified",
        ),
        (
            written_then_verified && job.threads.numjobs > 1 && shared(),
            "several jobs write the same blocks, and each verifies its own: verifying may fail",
        ),
        (
            written_then_verified
                && time.time_based
                && time.runtime_ns.is_some()
                && !pattern.rw.has(Direction::Read)
                && verify.backlog == 0,
            "nothing is ever verified: writing takes all of runtime",
        ),
        (given("time_based") && time.runtime_ns.is_none(), "time_based needs a runtime"),
    ]
    .into_iter()
    .filter_map(|(applies, warning)| applies.then_some(warning))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Pattern, apply_all};

    fn warnings_of(options: &str) -> Vec<&'static str> {
        let mut job = Job::default();
        let entries =
            options.split(' ').map(|option| option.split_once('=').unwrap_or((option, "1")));
        let entries: Vec<_> = entries.map(|(name, value)| (name, Some(value))).collect();
        apply_all(&mut job, &entries).unwrap();
        warnings(&job, &entries)
    }

    #[test]
    fn ordinary_jobs_have_no_warnings() {
        assert_eq!(warnings(&Job::default(), &[]).len(), 0);
        let fine = "rw=randwrite verify=md5 bs=4k numjobs=2 time_based runtime=1 verify_backlog=8";
        assert_eq!(warnings_of(fine).len(), 0);
        assert_eq!(Job::default().pattern.rw, Pattern::Read);
    }

    #[test]
    fn each_warning_is_given() {
        for (options, word) in [
            ("read_iolog=a write_iolog=b", "overrides"),
            ("rw=randread bs=4k blockalign=512", "norandommap=1"),
            ("rw=randwrite bsrange=4k-8k norandommap verify=md5", "several sizes"),
            ("rw=write verify=md5 numjobs=2 filename=a", "several jobs"),
            ("rw=write verify=md5 time_based runtime=1", "all of runtime"),
            ("time_based", "needs a runtime"),
        ] {
            let warnings = warnings_of(options);
            assert!(warnings.len() == 1 && warnings[0].contains(word), "{options}: {warnings:?}");
        }
    }
}
