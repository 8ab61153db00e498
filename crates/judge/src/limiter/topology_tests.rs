//! Tests of links, disks and arrays: which of them bounds a measurement, and which is compared.

use iodyno_model::LinkState;

use super::tests::{and, of_first};
use super::*;
use crate::ceiling::Bound;
use crate::testing::{Bench, array, claims, known, link, scale};

#[test]
fn an_uplink_narrower_than_the_drives_own_link_is_what_is_named() {
    let bench = Bench::new(1).measured().host(|host| {
        let mut uplink = link("0000:00:02.0", "0000:20:00.0");
        uplink.current = known(LinkState { generation: 3, width: 4 });
        host.links.push(uplink);
        host.drives[0].links.insert(0, "0000:20:00.0".into());
    });
    let full = bench.measurement(0, |of| scale(of, 3500.0 / 6800.0)).record();
    let (answer, sentence, _) = of_first(&full);
    assert!(matches!(answer, Answer::Named { limiter: Limiter::Link, .. }), "{answer:?}");
    assert!(sentence.contains("PCIe Gen3 x4 carries 3938 MB/s raw"), "{sentence}");
    assert!(sentence.contains("limited by the link (PCIe Gen3 x4)"), "{sentence}");
}

#[test]
fn another_virtual_disk_is_no_experiment() {
    let bench = Bench::new(2).measured().host(|host| {
        host.drives.iter_mut().for_each(|drive| drive.virtual_disk = Some("a cloud".into()));
    });
    let bench = bench.measurement(3, |of| {
        of.workload.iodepth = of.workload.iodepth.map(|depth| depth * 2);
        scale(of, 0.1);
    });
    let (record, claims) = (bench.record(), claims());
    assert_eq!(record.measurements[3].name, record.measurements[0].name);
    let evidence = Evidence { records: &[&record], claims: &claims, possible: &[], repeats: 0 };
    let explained = explain(&evidence, (0, 0)).unwrap();
    let other = explained.contrasts.iter().find(|one| matches!(one.change, Change::Depth(..)));
    assert!(other.is_none(), "{other:?}");
}

#[test]
fn a_drive_beside_an_array_bounds_it_in_no_way() {
    let bench = Bench::new(3).measured().host(|host| {
        host.blocks.push(array(&["nvme1n1", "nvme2n1"]));
    });
    let bench = bench.measurement(0, |of| scale(of, 0.3));
    let record = and(bench.record(), |of| {
        of.targets = vec!["md0".into()];
        scale(of, 2.0);
    });
    let claims = claims();
    let evidence = Evidence { records: &[&record], claims: &claims, possible: &[], repeats: 0 };
    let explained = explain(&evidence, (0, record.measurements.len() - 1)).unwrap();
    let others = explained.contrasts.iter().map(|one| one.other.place());
    assert!(others.clone().all(|place| place != "nvme0n1"), "{:?}", others.collect::<Vec<_>>());
    let layer = explained.ceilings.iter().find(|one| one.bound == Bound::Layer).unwrap();
    assert!((layer.value / 13_600e6 - 1.0).abs() < 0.05, "{layer:?}");
}
