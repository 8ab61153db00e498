use iodyno_model::{Estimate, FillOrder, LinkState, Measurement, RunRecord, WrittenState};

use super::*;
use crate::ceiling::Bound;
use crate::testing::{Bench, claims, known, log, scale, set_written};

/// What is said of a run's first measurement, 256 KiB sequential reads.
fn of_first(record: &RunRecord) -> (Answer, String, Vec<Suspect>) {
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

/// The first measurement once more, changed.
fn and(mut record: RunRecord, change: impl FnOnce(&mut Measurement)) -> RunRecord {
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
    let Answer::Named { limiter: Limiter::Drive, next: Some(next) } = answer else {
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
    // Half of it is another's limit.
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
            // As at once, for each drive.
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
fn what_intervals_leave_open_is_not_the_same() {
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
    // Nor where what it is held against may be nothing at all.
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
fn what_is_possible_is_asked_for_before_anything_is_named() {
    let record = Bench::new(1).measured().record();
    let claims = claims();
    let possible = [Experiment::TwiceTheDepth, Experiment::TwiceTheJobs];
    let evidence =
        Evidence { records: &[&record], claims: &claims, possible: &possible, repeats: 0 };
    let answer = explain(&evidence, (0, 0)).unwrap().answer;
    assert_eq!(answer, Answer::Experiment(Experiment::TwiceTheDepth));
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
}
