//! What fio warns of in a job (init.c, `fixup_options`): errors with `--warnings-fatal`.

use iodyno_model::Direction;

use super::find;
use crate::{BlockSize, Job, VerifyMethod};

/// What makes each file one of a single clone's.
const OF_ONE_CLONE: [&str; 3] = ["$jobname", "$jobnum", "$filenum"];

/// What fio warns of in `job`, which was made of `entries`, a sentence each.
pub(crate) fn warnings(job: &Job, entries: &[(&str, Option<&str>)]) -> Vec<&'static str> {
    let given = |wanted: &str| {
        entries.iter().any(|(name, _)| find(name).is_some_and(|spec| spec.name == wanted))
    };
    let Job { pattern, verify, files, time, replay, .. } = job;
    let used = || pattern.bs.iter().filter(|(direction, _)| pattern.rw.has(*direction));
    let own_align = |(direction, bs): (Direction, &BlockSize)| {
        let align = pattern.blockalign.as_ref().map_or(0, |align| *align.of(direction));
        align > 0 && align != bs.smallest()
    };
    let writes = pattern.rw.has(Direction::Write);
    let verifies = verify.method != VerifyMethod::None;
    let written_then_verified = verifies && verify.do_verify && writes;
    let shared = || match &files.filename_format {
        _ if !files.filename.is_empty() => true,
        Some(format) => OF_ONE_CLONE.iter().any(|part| !format.contains(part)),
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
            verifies && pattern.norandommap && used().any(|(_, bs)| bs.fixed().is_none()),
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

    fn of(options: &str) -> Vec<&'static str> {
        let mut job = Job::default();
        let entries =
            options.split(' ').map(|option| option.split_once('=').unwrap_or((option, "1")));
        let entries: Vec<_> = entries.map(|(name, value)| (name, Some(value))).collect();
        apply_all(&mut job, &entries).unwrap();
        warnings(&job, &entries)
    }

    #[test]
    fn nothing_is_wrong_with_an_ordinary_job() {
        assert_eq!(warnings(&Job::default(), &[]).len(), 0);
        let fine = "rw=randwrite verify=md5 bs=4k numjobs=2 time_based runtime=1 verify_backlog=8";
        assert_eq!(of(fine).len(), 0);
        assert_eq!(Job::default().pattern.rw, Pattern::Read);
    }

    #[test]
    fn each_is_told() {
        for (options, word) in [
            ("read_iolog=a write_iolog=b", "overrides"),
            ("rw=randread bs=4k blockalign=512", "norandommap=1"),
            ("rw=randwrite bsrange=4k-8k norandommap verify=md5", "several sizes"),
            ("rw=write verify=md5 numjobs=2 filename=a", "several jobs"),
            ("rw=write verify=md5 time_based runtime=1", "all of runtime"),
            ("time_based", "needs a runtime"),
        ] {
            let told = of(options);
            assert!(told.len() == 1 && told[0].contains(word), "{options}: {told:?}");
        }
    }
}
