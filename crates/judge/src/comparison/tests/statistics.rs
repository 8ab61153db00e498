//! Rates of true and false positives of the test for differences.

use proptest::prelude::*;

use super::*;

/// `iops` with 1 % of normal noise (Box-Muller).
fn noisy(random: &mut fastrand::Rng, iops: f64) -> f64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    iops * (0.01 * radius * (std::f64::consts::TAU * random.f64()).cos()).exp()
}

/// Number of `rounds` comparisons, each of three runs per side with `rows` workloads, that call any
/// difference of IOPS real.
fn real(rounds: u64, rows: u32, ratio: f64) -> usize {
    let any_real = |seed: &u64| {
        let mut random = fastrand::Rng::with_seed(*seed);
        let mut side = |ratio: f64, turn: i64| -> Vec<RunRecord> {
            let run = |nth: i64| {
                run((0..rows).map(|depth| {
                    let of = job(noisy(&mut random, 1000.0 * ratio));
                    with(of, |of| {
                        of.workload.iodepth = Some(depth + 1);
                        of.started_ns = Some((2 * nth + turn) * 3_600_000_000_000);
                    })
                }))
            };
            (0..3).map(run).collect()
        };
        let (a, b) = (side(1.0, 0), side(ratio, 1));
        let comparison = compared_sides(&[a.iter().collect(), b.iter().collect()]);
        let mut differences =
            comparison.rows.iter().filter_map(|row| difference(row, Quantity::Iops));
        assert_eq!(comparison.rows.len(), rows as usize);
        differences.any(|one| one.reality == Reality::Real)
    };
    (0..rounds).filter(any_real).count()
}

#[test]
fn without_a_difference_hardly_any_table_shows_one() {
    assert!(real(2000, 1, 1.0) <= 100, "5 %");
    assert!(real(400, 5, 1.0) <= 20, "5 %, whatever the number of rows");
}

/// Levels of consecutive runs: drift of the machine over hours, an AR(1) with a coefficient of 0.9
/// between runs and a standard deviation of 2 %, or a linear drift of 1 % per run.
fn drifting(random: &mut fastrand::Rng, runs: usize, straight: bool) -> Vec<f64> {
    let mut level = noisy(random, 1.0).ln() * 2.0;
    (0..runs)
        .map(|run| {
            let drift = if straight { 0.01 * run as f64 } else { level };
            level = 0.9 * level + 0.87 * noisy(random, 1.0).ln();
            (drift + 0.2 * noisy(random, 1.0).ln()).exp()
        })
        .collect()
}

#[test]
fn drift_between_runs_is_never_called_a_difference_out_of_turn_and_hardly_ever_in_turns() {
    for straight in [false, true] {
        let (mut in_turns, mut behind) = (0, 0);
        for seed in 0..250 {
            let mut random = fastrand::Rng::with_seed(seed);
            let levels = drifting(&mut random, 6, straight);
            let side = |of: [usize; 3]| of.map(|run| 1000.0 * levels[run]);
            let turns = repeated(&side([0, 2, 4]), &side([1, 3, 5]));
            let halves =
                repeated_at(&side([0, 1, 2]), &side([3, 4, 5]), |nth, side, _| nth + 3 * side);
            let reality = |of: &Comparison| iops(of).reality;
            in_turns += usize::from(reality(&turns) == Reality::Real);
            behind += usize::from(reality(&halves) == Reality::NotInTurns);
            assert_ne!(reality(&halves), Reality::Real);
            assert_ne!(reality(&turns), Reality::NotInTurns);
        }
        assert!(in_turns <= 5, "2 %: {in_turns} of 250");
        // These used to be called real.
        assert!(behind >= 25, "{behind} of 250");
    }
}

/// Levels that differ from block to block by ten times the noise: half of these used to be called
/// real.
#[test]
fn nested_blocks_are_not_in_turns() {
    let mut probable = 0;
    for seed in 0..100 {
        let mut random = fastrand::Rng::with_seed(seed);
        let levels = [0; 3].map(|_| 1000.0 * noisy(&mut random, 1.0).powi(10));
        let mut side = |of: [usize; 6]| of.map(|block| noisy(&mut random, levels[block]));
        let (a, b) = (side([0, 0, 0, 2, 2, 2]), side([1; 6]));
        // A A A B B B B B B A A A
        let hour = |nth, side, _| if side == 1 { 3 + nth } else { nth + 6 * (nth / 3) };
        let found = iops(&repeated_at(&a, &b, hour)).reality;
        assert_ne!(found, Reality::Real);
        probable += usize::from(found == Reality::NotInTurns);
    }
    assert!(probable >= 25, "{probable} of 100");
}

#[test]
fn quantities_are_corrected_for_together() {
    // The rate differs a little, the p99 not at all.
    let side = |iops: [f64; 3], turn: i64| -> Vec<RunRecord> {
        let run = |(nth, iops): (i64, f64)| {
            run([with(job(iops), |of| {
                of.started_ns = Some(2 * nth + turn);
                let ns = 100_000 + 10_000 * (nth as u64 * 7 + turn as u64 * 3) % 30_000;
                (0..4000).for_each(|_| of.total[0].latency.record(ns));
            })])
        };
        (0..).zip(iops).map(run).collect()
    };
    let (a, b) = (side([1000.0, 1010.0, 990.0], 0), side([1050.0, 1040.0, 1060.0], 1));
    let comparison = compared_sides(&[a.iter().collect(), b.iter().collect()]);
    let of = |quantity| difference(&comparison.rows[0], quantity).unwrap();
    let (rate, bandwidth) = (of(Quantity::Iops), of(Quantity::Bandwidth));
    // IOPS, bandwidth and mean latency agree here and count once, as do p50 and p99.
    assert!((rate.adjusted.unwrap() / rate.p_value.unwrap() - 2.0).abs() < 1e-6, "{rate:?}");
    assert_eq!(bandwidth.adjusted, rate.adjusted);
}

#[test]
fn a_difference_of_five_percent_is_seen_through_one_percent_of_noise() {
    assert!(real(400, 1, 0.95) >= 360, "9 of 10");
}

#[test]
fn below_three_repetitions_nothing_is_called_real() {
    for (a, b) in [(&[1000.0][..], &[2000.0][..]), (&[1000.0, 1001.0, 999.0], &[2000.0, 2001.0])] {
        let one = iops(&repeated(a, b));
        assert_eq!((one.reality, one.p_value), (Reality::SpreadUnknown, None));
        assert!((one.percent - 100.0).abs() < 0.1);
        assert_eq!(one.ratio.spread, Spread::Unknown);
    }
}

#[test]
fn rounding_is_no_sampling_error() {
    // Equal reports would be copies.
    let printed = |iops: &[f64]| {
        let turn = i64::from(iops[0] > 11_500.0);
        let job = |(n, iops): (i64, &f64)| {
            with(job(*iops), |of| {
                of.started_ns = Some(2 * n + turn);
                of.total[0].iops = Some(rounded(*iops, 50.0));
            })
        };
        (0..).zip(iops).map(|one| run([job(one)])).collect::<Vec<_>>()
    };
    let compared = |a: &[f64], b: &[f64]| {
        let (a, b) = (printed(a), printed(b));
        iops(&compared_sides(&[a.iter().collect(), b.iter().collect()]))
    };
    // Printed to 100: both may be 11545.
    let same: [f64; 3] = [11_500.0; 3];
    let next: [f64; 3] = [11_590.0; 3];
    let one = compared(&same, &next);
    assert_eq!(one.reality, Reality::WithinRounding);
    assert!(one.ratio.low() <= 1.0 && one.p_value == Some(1.0), "{one:?}");
    assert_eq!(compared(&same[..1], &next[..1]).reality, Reality::WithinRounding);
    let far: [f64; 3] = [12_000.0; 3];
    assert_eq!(compared(&same, &far).reality, Reality::Real);
    assert_eq!(compared(&same[..1], &far[..1]).reality, Reality::SpreadUnknown);
}

#[test]
fn a_rate_of_zero_has_no_ratio() {
    let comparison = repeated(&[0.0, 1.0, 2.0], &[1.0, 2.0, 3.0]);
    assert!(difference(&comparison.rows[0], Quantity::Iops).is_none());
}

#[test]
fn a_percentile_is_known_to_its_bin_and_needs_enough_ios() {
    let of = |ns: u64, count: u32| {
        run([with(job(1000.0), |of| (0..count).for_each(|_| of.total[0].latency.record(ns)))])
    };
    let p99 = |a: &RunRecord, b: &RunRecord| {
        difference(&compared(&[a, b]).rows[0], Quantity::Percentile(99.0))
    };
    let (one, next, far) = (of(100_000, 4000), of(100_900, 4000), of(200_000, 4000));
    assert_eq!(p99(&one, &next).unwrap().reality, Reality::WithinRounding);
    assert_eq!(p99(&one, &far).unwrap().reality, Reality::SpreadUnknown);
    assert_eq!(p99(&of(100_000, 2000), &far), None);
}

proptest! {
    #[test]
    fn turning_the_sides_round_inverts_the_ratios(
        a in prop::collection::vec(1.0_f64..1e6, 1..6),
        b in prop::collection::vec(1.0_f64..1e6, 1..6),
    ) {
        let (forth, back) = (repeated(&a, &b), repeated(&b, &a));
        for quantity in [Quantity::Iops, Quantity::Bandwidth, Quantity::Latency] {
            let (Some(forth), Some(back)) =
                (difference(&forth.rows[0], quantity), difference(&back.rows[0], quantity))
            else {
                panic!("both sides have it");
            };
            prop_assert!((forth.ratio.value * back.ratio.value - 1.0).abs() < 1e-9);
            prop_assert!((forth.ratio.low() * back.ratio.high()).ln().abs() < 1e-6);
            prop_assert_eq!(forth.reality, back.reality);
        }
    }

    #[test]
    fn units_do_not_matter(
        a in prop::collection::vec(1.0_f64..1e6, 3..6),
        b in prop::collection::vec(1.0_f64..1e6, 3..6),
        factor in 0.001_f64..1.0,
    ) {
        let scaled = |of: &[f64]| of.iter().map(|iops| iops * factor).collect::<Vec<_>>();
        let (one, other) = (iops(&repeated(&a, &b)), iops(&repeated(&scaled(&a), &scaled(&b))));
        prop_assert!((one.ratio.value / other.ratio.value - 1.0).abs() < 1e-9);
        prop_assert!((one.p_value.unwrap() - other.p_value.unwrap()).abs() < 1e-6);
    }
}
