use iodyno_model::{
    BlockTimes, Estimate, Experiment, FillOrder, LinkState, Measurement, RunRecord, VolumeLimits,
    WrittenState,
};

use super::*;
use crate::ceiling::Bound;
use crate::testing::{Bench, claims, known, log, scale, set_written};

/// Explains a run's first measurement, 256 KiB sequential reads.
pub(super) fn of_first(record: &RunRecord) -> (Answer, String, Vec<Suspect>) {
    let claims = claims();
    let evidence = Evidence { records: &[record], claims: &claims, possible: &[], repeats: 0 };
    let explained = explain(&evidence, (0, 0)).unwrap();
    (explained.answer, explained.sentence, explained.suspects)
}

fn limiter(record: &RunRecord) -> Option<Limiter> {
    match of_first(record).0 {
        Answer::Named { limiter, .. } => Some(limiter),
        _ => None,
    }
}

/// Adds the first measurement once more, changed.
pub(super) fn and(mut record: RunRecord, change: impl FnOnce(&mut Measurement)) -> RunRecord {
    let mut other = record.measurements[0].clone();
    other.phase += 100;
    change(&mut other);
    record.measurements.push(other);
    record
}

#[test]
fn a_drive_that_gives_what_is_claimed_is_the_limit_itself() {
    let record = Bench::new(1).measured().record();
    let (answer, sentence, _) = of_first(&record);
    let Answer::Named { limiter: Limiter::Drive, next: Some(next), .. } = answer else {
        panic!("{answer:?}")
    };
    assert!(next.what.contains("Gen4 x4") && next.gain < 0.1 && !next.measured, "{next:?}");
    assert!(sentence.contains("of the 6800 MB/s of the data sheet"), "{sentence}");
}

#[test]
fn a_link_that_is_full_is_named_with_what_it_carries() {
    let bench = Bench::new(1).measured().link(0, |link| {
        link.current = known(LinkState { generation: 3, width: 2 });
    });
    let full = bench.clone().measurement(0, |of| scale(of, 1760.0 / 6800.0)).record();
    let (answer, sentence, _) = of_first(&full);
    assert!(matches!(answer, Answer::Named { limiter: Limiter::Link, .. }), "{answer:?}");
    assert!(sentence.contains("PCIe Gen3 x2 carries 1969 MB/s raw"), "{sentence}");
    // At half of it something else limits.
    let half = bench.measurement(0, |of| scale(of, 0.13)).record();
    assert_ne!(limiter(&half), Some(Limiter::Link));
}

#[test]
fn heat_and_others_come_before_all_else() {
    let hot = Bench::new(1).measured().after(|host| {
        log(&mut host.drives[0]).thermal_seconds[0] += 5;
    });
    assert_eq!(limiter(&hot.record()), Some(Limiter::Heat));
    let busy = |share: f64| {
        let bench = Bench::new(1).measured().measurement(0, |of| {
            let own = of.total[0].bandwidth.unwrap().value;
            (of.conditions.other_iops, of.conditions.other_bytes_per_s) =
                (Some(0.0), Some(share * own));
        });
        limiter(&bench.record())
    };
    assert_eq!(busy(0.5), Some(Limiter::OtherUsers));
    assert_eq!(busy(0.1), Some(Limiter::Drive), "a tenth disturbs and does not limit");
}

#[test]
fn a_volume_that_counts_time_above_its_contract_is_limited_by_it() {
    let counted = |volume_iops_us, instance_throughput_us| {
        known(VolumeLimits {
            volume_iops_us: Some(volume_iops_us),
            volume_throughput_us: Some(0),
            instance_throughput_us,
            ..VolumeLimits::default()
        })
    };
    let bench = Bench::new(1).drive(0, |drive| {
        drive.virtual_disk = Some("a cloud".into());
        drive.volume_limits = counted(5, 5);
    });
    let after = |iops, throughput| {
        let bench = bench.clone().measured();
        bench.after(|host| host.drives[0].volume_limits = counted(iops, throughput)).record()
    };
    let (answer, sentence, _) = of_first(&after(9_000_005, 1005));
    assert!(matches!(answer, Answer::Named { limiter: Limiter::Contract, .. }), "{answer:?}");
    assert!(sentence.contains("the volume's IOPS limit"), "{sentence}");
    let (_, sentence, _) = of_first(&after(5, 8_000_005));
    assert!(sentence.contains("the instance's throughput limit"), "{sentence}");
    // A moment above a limit does not count, nor do unchanged counters.
    assert_ne!(limiter(&after(100_005, 5)), Some(Limiter::Contract));
    assert_ne!(limiter(&after(5, 5)), Some(Limiter::Contract));
}

#[test]
fn a_device_that_is_idle_while_reads_wait_is_kept_waiting() {
    let looked = |queue_share: f64, device_share: f64, idle: f64| {
        let bench = Bench::new(1).measured().measurement(0, |of| {
            let whole = of.total[0].mean_latency().unwrap().1.value;
            let (queue_mean_ns, device_mean_ns) = (queue_share * whole, device_share * whole);
            of.conditions.block_times = Some(BlockTimes {
                ios: 1000,
                duration_ns: 1_000_000_000,
                idle,
                queue_mean_ns,
                queue_p99_ns: 0,
                device_mean_ns,
                device_p99_ns: 0,
            });
        });
        let (answer, sentence, _) = of_first(&bench.record());
        (matches!(answer, Answer::Named { limiter: Limiter::BeforeDevice, .. }), sentence)
    };
    let (is_named, sentence) = looked(0.7, 0.1, 0.5);
    assert!(is_named && sentence.contains("in the block layer's queue"), "{sentence}");
    let (is_named, sentence) = looked(0.1, 0.1, 0.5);
    assert!(is_named && sentence.contains("before the block layer's queue"), "{sentence}");
    // A device that is never idle causes its own queue; slow devices are slow themselves.
    assert!(!looked(0.7, 0.1, 0.0).0);
    assert!(!looked(0.1, 0.8, 0.5).0);
}

#[test]
fn a_device_that_its_queue_keeps_from_what_is_asked_is_not_blamed() {
    let suspect = |nr_requests: u32, queue_share: f64| {
        let bench = Bench::new(1).measured().measurement(0, |of| {
            scale(of, 0.5);
            let whole = of.total[0].mean_latency().unwrap().1.value;
            of.conditions.block_times = Some(BlockTimes {
                ios: 1000,
                duration_ns: 1_000_000_000,
                idle: 0.0,
                queue_mean_ns: queue_share * whole,
                queue_p99_ns: 0,
                device_mean_ns: 0.2 * whole,
                device_p99_ns: 0,
            });
        });
        let bench = bench.host(|host| {
            host.blocks[0].queue.nr_requests = known(nr_requests);
            host.blocks[0].queue.hardware_queues = known(1);
        });
        let (_, _, suspects) = of_first(&bench.record());
        let found = suspects.into_iter().find(|one| one.limiter == Limiter::BeforeDevice);
        found.map(|one| one.standing)
    };
    assert_eq!(suspect(2, 0.7), Some(Standing::Open(Experiment::LongerQueue)));
    // The queue has room for the depth asked for, or I/Os wait elsewhere.
    assert_eq!(suspect(1023, 0.7), None);
    assert_eq!(suspect(2, 0.1), None);
}

#[test]
fn blocks_that_hold_nothing_say_nothing_of_flash() {
    let bench = Bench::new(1).measured().measurement(0, |of| {
        set_written(of, WrittenState::Unwritten);
        scale(of, 0.5);
    });
    let (_, sentence, suspects) = of_first(&bench.record());
    assert!(sentence.starts_with("INVALID as a statement about flash"), "{sentence}");
    let drive = suspects.iter().find(|one| one.limiter == Limiter::Drive).unwrap();
    assert!(matches!(drive.standing, Standing::Cleared(_)), "{drive:?}");
}

#[test]
fn an_experiment_differs_in_a_single_respect() {
    let record = Bench::new(1).measured().measurement(0, |of| scale(of, 0.5)).record();
    let contrasts = |record: &RunRecord| -> Vec<Change> {
        let claims = claims();
        let evidence = Evidence { records: &[record], claims: &claims, possible: &[], repeats: 0 };
        let explained = explain(&evidence, (0, 0)).unwrap();
        explained.contrasts.into_iter().map(|contrast| contrast.change).collect()
    };
    let depth = record.measurements[0].workload.iodepth.unwrap();
    let deeper = |of: &mut Measurement| of.workload.iodepth = Some(depth * 2);
    assert_eq!(contrasts(&record), []);
    let one = and(record.clone(), deeper);
    assert_eq!(contrasts(&one), [Change::Depth(depth, depth * 2)]);
    let two = and(record.clone(), |of| {
        deeper(of);
        of.workload.bs = Some(1 << 20);
    });
    assert_eq!(contrasts(&two), [], "two things changed at once show nothing");
    let unknown = and(record.clone(), |of| of.workload.iodepth = None);
    assert_eq!(contrasts(&unknown), [], "what is not known may be anything");
    let writes = and(record.clone(), |of| of.workload.rw = Some("write".into()));
    assert_eq!(contrasts(&writes), []);
    let filled = and(
        {
            let mut record = record;
            record.measurements[0].conditions.fill = Some(FillOrder::Random);
            record
        },
        |of| of.conditions.fill = Some(FillOrder::Sequential),
    );
    assert_eq!(contrasts(&filled), [Change::Fill(FillOrder::Random, FillOrder::Sequential)]);
}

#[test]
fn twice_the_depth_for_next_to_nothing_is_no_lack_of_depth() {
    let record = Bench::new(1).measured().measurement(0, |of| scale(of, 0.5)).record();
    let depth = |factor: f64| {
        let record = and(record.clone(), |of| {
            of.workload.iodepth = of.workload.iodepth.map(|depth| depth * 2);
            scale(of, factor);
        });
        let suspect = of_first(&record).2.into_iter().find(|one| one.limiter == Limiter::Depth);
        suspect.unwrap().standing
    };
    assert!(matches!(depth(1.2), Standing::Confirmed(_)), "{:?}", depth(1.2));
    assert!(matches!(depth(1.07), Standing::Cleared(_)), "{:?}", depth(1.07));
}

#[test]
fn drives_share_nothing_where_fewer_are_known_to_give_their_share() {
    let shared = |half_width: f64| {
        let at_once = |of: &mut Measurement| scale(of, 0.5);
        let alone = |of: &mut Measurement| {
            // The depth per drive is the same as at once.
            of.workload.iodepth = Some(64);
            let value = of.total[0].bandwidth.unwrap().value * 0.5;
            let (low, high) = (value * (1.0 - half_width), value * (1.0 + half_width));
            of.total[0].bandwidth = Some(Estimate::confident(value, low, high, 0.95));
        };
        let bench = Bench::new(2).measured().measurement(6, at_once);
        let record = bench.measurement(0, alone).measurement(3, alone).record();
        let claims = claims();
        let evidence = Evidence { records: &[&record], claims: &claims, possible: &[], repeats: 0 };
        let explained = explain(&evidence, (0, 6)).unwrap();
        let mut suspects = explained.suspects.into_iter();
        suspects.find(|one| one.limiter == Limiter::Shared).unwrap().standing
    };
    assert!(matches!(shared(0.01), Standing::Cleared(_)), "{:?}", shared(0.01));
    assert!(matches!(shared(0.5), Standing::Open(_)), "{:?}", shared(0.5));
}

#[test]
fn half_that_holds_all_slower_drives_clears_nothing() {
    // Two of four share a limit: 450, 450, 900 and 900 of each thousand.
    let rates = [0.45, 0.45, 0.9, 0.9];
    let shared = |kept: [usize; 2], gave: [f64; 2]| {
        let bench = Bench::new(4).measured();
        let mut record = bench.record();
        let mut all = record.measurements[12].clone();
        let each = |of: &mut Measurement, n: usize, rate: f64| {
            let result = &mut of.parts[n].results[0];
            result.bandwidth = result.bandwidth.map(|known| known.scaled(rate));
        };
        let alone = all.parts[0].results[0].bandwidth.unwrap().value;
        let sum = |of: &mut Measurement, rates: &[f64]| {
            let rate = alone * rates.iter().sum::<f64>();
            of.total[0].bandwidth = Some(Estimate::confident(rate, 0.99 * rate, 1.01 * rate, 0.95));
        };
        rates.iter().enumerate().for_each(|(n, rate)| each(&mut all, n, *rate));
        sum(&mut all, &rates);
        let mut half = all.clone();
        half.targets = kept.map(|n| all.targets[n].clone()).to_vec();
        half.parts = kept.map(|n| all.parts[n].clone()).to_vec();
        sum(&mut half, &gave);
        record.measurements = vec![all, half];
        let suspects = of_first(&record).2;
        suspects.into_iter().find(|one| one.limiter == Limiter::Shared).unwrap().standing
    };
    assert!(matches!(shared([0, 1], [0.45, 0.45]), Standing::Open(_)));
    assert!(matches!(shared([2, 3], [0.9, 0.9]), Standing::Open(_)));
    // Without its partner, a drive gives as much as the others; if not, it is slower itself.
    let Standing::Confirmed(why) = shared([0, 2], [0.9, 0.9]) else { panic!() };
    assert!(why.contains("with the others the same drives reached x0.50"), "{why}");
    assert!(matches!(shared([0, 2], [0.45, 0.9]), Standing::Cleared(_)));
}

#[test]
fn wide_intervals_are_unclear_rather_than_equal() {
    let record = Bench::new(1).measured().measurement(0, |of| scale(of, 0.5)).record();
    let effect = |factor: f64, half_width: f64| {
        let record = and(record.clone(), |of| {
            of.workload.iodepth = of.workload.iodepth.map(|depth| depth * 2);
            let value = of.total[0].bandwidth.unwrap().value * factor;
            let half = value * half_width;
            of.total[0].bandwidth =
                Some(Estimate::confident(value, value - half, value + half, 0.95));
        });
        let claims = claims();
        let evidence = Evidence { records: &[&record], claims: &claims, possible: &[], repeats: 0 };
        explain(&evidence, (0, 0)).unwrap().contrasts[0].effect()
    };
    assert_eq!(effect(1.0, 0.01), Effect::Same);
    assert_eq!(effect(1.0, 0.3), Effect::Unclear);
    assert_eq!(effect(1.2, 0.02), Effect::Grew);
    assert_eq!(effect(1.2, 0.4), Effect::Unclear);
    assert_eq!(effect(0.7, 0.02), Effect::Fell);
    // Nor if the rate it is compared with may be 0.
    let deeper = |of: &mut Measurement| of.workload.iodepth = Some(64);
    let mut vague = and(record, deeper);
    let value = vague.measurements[0].total[0].bandwidth.unwrap().value;
    vague.measurements[0].total[0].bandwidth =
        Some(Estimate::confident(value, 0.0, value * 2.0, 0.95));
    let claims = claims();
    let evidence = Evidence { records: &[&vague], claims: &claims, possible: &[], repeats: 0 };
    let contrast = explain(&evidence, (0, 0)).unwrap().contrasts.remove(0);
    assert_eq!(contrast.effect(), Effect::Unclear);
    assert!(contrast.ratio_text().ends_with("or more)"), "{}", contrast.ratio_text());
}

#[test]
fn possible_experiments_come_before_a_named_limiter() {
    let record = Bench::new(1).measured().record();
    let claims = claims();
    let possible = [Experiment::TwiceTheDepth, Experiment::TwiceTheJobs];
    let evidence =
        Evidence { records: &[&record], claims: &claims, possible: &possible, repeats: 0 };
    let answer = explain(&evidence, (0, 0)).unwrap().answer;
    assert_eq!(answer, Answer::Experiment(Experiment::TwiceTheDepth));
}

#[test]
fn a_job_that_keeps_its_pace_is_not_the_drives_fault() {
    let paced = |of: &mut Measurement| {
        of.workload.options.insert("rate".into(), "680m".into());
        scale(of, 0.1);
        // It waits for its turn, not for the drive.
        of.total[0].latency_mean = Some(Estimate::bare(100_000.0));
    };
    let alone = Bench::new(1).measured().measurement(0, paced).record();
    let deeper = and(alone, |of| {
        of.workload.iodepth = of.workload.iodepth.map(|depth| depth * 2);
        of.conditions.depth_asked = of.conditions.depth_asked.map(|depth| depth * 2);
    });
    let more_jobs = and(deeper, |of| {
        of.workload.numjobs = Some(2);
        scale(of, 2.0);
    });
    let (answer, sentence, _) = of_first(&more_jobs);
    assert_eq!(answer, Answer::Undecided { between: Vec::new(), experiments: Vec::new() });
    assert!(sentence.contains("as fast as it was asked to go"), "{sentence}");
    // A job that falls behind its pace has reached its limiter.
    let behind = Bench::new(1).measured().measurement(0, |of| {
        paced(of);
        of.total[0].latency_mean = Some(Estimate::bare(1e10));
    });
    assert!(!of_first(&behind.record()).1.contains("as fast as it was asked to go"));
    // If there is also a job without a pace, the paced one is not explained.
    let mut both = and(Bench::new(1).measured().record(), |of| scale(of, 0.05));
    paced(&mut both.measurements[0]);
    let last = both.measurements.len() - 1;
    let explained = subjects(&[&both]);
    assert!(explained.contains(&(0, last)) && !explained.contains(&(0, 0)), "{explained:?}");
}

#[test]
fn ceilings_are_sorted_and_say_where_they_come_from() {
    let record = Bench::new(1).measured().record();
    let claims = claims();
    let evidence = Evidence { records: &[&record], claims: &claims, possible: &[], repeats: 0 };
    let random = explain(&evidence, (0, 1)).unwrap();
    assert!(random.ceilings.windows(2).all(|pair| pair[0].value <= pair[1].value));
    let bounds: Vec<Bound> = random.ceilings.iter().map(|ceiling| ceiling.bound).collect();
    for bound in [Bound::Claim, Bound::Link, Bound::Depth] {
        assert!(bounds.contains(&bound), "{bound:?} in {bounds:?}");
    }
    assert!(random.ceilings.iter().all(|ceiling| !ceiling.formula.is_empty()));
    let trims = Bench::new(1).measured().measurement(1, |of| {
        of.total[0].direction = iodyno_model::Direction::Trim;
    });
    let trims = trims.record();
    let evidence = Evidence { records: &[&trims], ..evidence };
    let bounds = explain(&evidence, (0, 1)).unwrap().ceilings;
    assert!(bounds.iter().all(|one| one.bound != Bound::Link), "they move no data: {bounds:?}");
    // A depth-1 job that is paced, or also waits for fsync, bounds nothing.
    for (option, value) in [("rate_iops", "50000"), ("fsync", "1")] {
        let set =
            |of: &mut Measurement| drop(of.workload.options.insert(option.into(), value.into()));
        let other = Bench::new(1).measured().measurement(2, set).record();
        let evidence = Evidence { records: &[&other], ..evidence };
        let random = explain(&evidence, (0, 1)).unwrap();
        assert!(random.ceilings.iter().all(|one| one.bound != Bound::Depth), "{option}");
    }
}

/// Explains a drive with a claim of `claim` MB/s, on a link of unknown payload size, at `rate`
/// MB/s.
fn on_unknown_payload(claim: f64, link: LinkState, rate: f64) -> (Answer, String) {
    let bench = Bench::new(1).measured().link(0, |of| {
        of.current = known(link);
        of.port.max_payload_bytes = iodyno_model::Fact::Absent;
        of.device.max_payload_bytes = iodyno_model::Fact::Absent;
    });
    let record = bench.measurement(0, |of| scale(of, rate / 6800.0)).record();
    let mut claims = crate::ClaimBook::default();
    let sheet = crate::testing::SHEET.replace("6800", &format!("{claim:.0}"));
    claims.add_toml(&sheet, "sheet.toml").unwrap();
    let evidence = Evidence { records: &[&record], claims: &claims, possible: &[], repeats: 0 };
    let explained = explain(&evidence, (0, 0)).unwrap();
    let notes = explained.notes.join("\n");
    let bounds: Vec<Bound> = explained.ceilings.iter().map(|one| one.bound).collect();
    (explained.answer, format!("{}\n{notes}\n{bounds:?}", explained.sentence))
}

#[test]
fn an_unknown_payload_size_does_not_decide_between_drive_and_link() {
    let (gen3x4, gen4x4) = ([3, 4].map(|generation| LinkState { generation, width: 4 })).into();
    // PM9A3 at 96 % of its claim; 970 EVO above the rate of 128-byte packets.
    for (claim, link, rate) in [(6900.0, gen4x4, 6624.0), (3400.0, gen3x4, 3400.0)] {
        let (answer, text) = on_unknown_payload(claim, link, rate);
        let Answer::Undecided { between, .. } = answer else { panic!("{answer:?}: {text}") };
        assert_eq!(between, [Limiter::Link, Limiter::Drive]);
        assert!(text.contains("both are close"), "{text}");
    }
    // The rate is at the limit of the largest packets: it is the link.
    let (answer, text) = on_unknown_payload(6800.0, gen3x4, 3300.0);
    assert!(matches!(answer, Answer::Named { limiter: Limiter::Link, .. }), "{text}");
    // Far below the link and at its claim: the drive.
    let (answer, text) = on_unknown_payload(3400.0, gen4x4, 3390.0);
    assert!(matches!(answer, Answer::Named { limiter: Limiter::Drive, .. }), "{text}");
}

#[test]
fn a_claim_that_is_exceeded_is_no_ceiling_and_confirms_nothing() {
    let gen4x4 = LinkState { generation: 4, width: 4 };
    let (_, text) = on_unknown_payload(1000.0, gen4x4, 5350.0);
    assert!(text.contains("is no ceiling here and confirms nothing"), "{text}");
    assert!(!text.contains("Claim") && !text.contains("535 % of the 1000 MB/s of the"), "{text}");
    let (_, at) = on_unknown_payload(5350.0, gen4x4, 5350.0);
    assert!(at.contains("Claim") && !at.contains("no ceiling"), "{at}");
}

#[test]
fn several_drives_are_held_against_the_sum_of_their_own_claims() {
    let bench = Bench::new(2).measured().drive(1, |drive| drive.model = known("OTHER".into()));
    let record = bench.record();
    let mut claims = claims();
    let sheet = crate::testing::SHEET.replace("^TEST DRIVE$", "^OTHER$").replace("6800", "3400");
    claims.add_toml(&sheet.replace("Test drive", "Other drive"), "other.toml").unwrap();
    let evidence = Evidence { records: &[&record], claims: &claims, possible: &[], repeats: 0 };
    let together = explain(&evidence, (0, 6)).unwrap();
    let context = crate::ceiling::ceilings(&together.case, &[], &claims);
    let claim = context.iter().find(|one| one.bound == Bound::Claim).unwrap();
    assert_eq!(claim.value, 10_200e6);
    assert!(claim.what.contains("Test drive 4TB and the data sheet of Other"), "{}", claim.what);
}

#[test]
fn a_synchronous_engine_needs_more_jobs_instead_of_depth() {
    let bench = Bench::new(1).measured().measurement(1, |of| {
        of.workload.ioengine = Some("psync".into());
        (of.workload.iodepth, of.workload.numjobs) = (Some(32), Some(1));
        (of.conditions.depth_asked, of.conditions.threads) = (Some(32), Some(1));
        of.total[0].iops = Some(Estimate::bare(9_780.0));
        of.total[0].latency_mean = Some(Estimate::bare(102_000.0));
    });
    let record = bench.record();
    let claims = claims();
    let evidence = Evidence { records: &[&record], claims: &claims, possible: &[], repeats: 0 };
    let explained = explain(&evidence, (0, 1)).unwrap();
    let text = format!("{} {}", explained.sentence, explained.advice);
    assert!(!text.contains("32 ") && !text.contains("3.27 ms"), "{text}");
    assert!(!text.contains("twice the iodepth"), "{text}");
    let depth = explained.suspects.iter().find(|one| one.limiter == Limiter::Depth).unwrap();
    assert_eq!(depth.standing, Standing::Open(Experiment::TwiceTheJobs));
    assert!(Limiter::Depth.advice(&explained.case).contains("iodepth has no effect"));
}

#[test]
fn absurd_depths_are_not_doubled() {
    let bench = Bench::new(1).measured().host(|host| host.drives.clear()).measurement(0, |of| {
        of.workload.bs = Some(8 << 20);
        (of.workload.iodepth, of.conditions.depth_asked) = (Some(1024), Some(1024));
        of.total[0].iops = Some(Estimate::bare(256.0));
        of.total[0].latency_mean = Some(Estimate::bare(4e9));
    });
    let (_, sentence, suspects) = of_first(&bench.record());
    let depth = suspects.iter().find(|one| one.limiter == Limiter::Depth).unwrap();
    assert!(matches!(depth.standing, Standing::Cleared(_)), "{depth:?}: {sentence}");
}

#[test]
fn the_same_workload_in_unknown_states_is_explained_by_its_differences() {
    let record = Bench::new(1).measured().measurement(0, |of| scale(of, 0.16)).record();
    let record = and(and(record, |of| scale(of, 1.5)), |of| scale(of, 3.0));
    let (answer, sentence, _) = of_first(&record);
    let Answer::Unlike { rates } = answer else { panic!("{answer:?}: {sentence}") };
    assert_eq!(rates.len(), 3);
    assert!(sentence.contains("1088 MB/s, 1632 MB/s and 3264 MB/s, 3.0 times"), "{sentence}");
    // Repetitions that agree are no such case.
    let record = Bench::new(1).measured().record();
    let record = and(record, |of| scale(of, 0.99));
    assert!(matches!(of_first(&record).0, Answer::Named { .. }));
}
