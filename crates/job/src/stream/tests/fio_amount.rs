//! Jobs that issue the same I/Os as fio, in a different order.

use iodyno_model::PerDirection;

use super::fio::{Equal::*, K, compare, rw, size};
use super::properties::{all, job, room};
use crate::{Amount, BlockSize, Distribution, FileService, Pattern, RandomGenerator, Zone};

#[test]
fn random_orders_cover_what_fio_does() {
    compare(&[
        ("rw=randread bs=4k size=1m", &[1024], Set, |j| {
            rw(j, Pattern::RandRead, 4);
            size(j, 1024);
        }),
        ("rw=randread bs=4k size=1030k loops=2", &[2048], Set, |j| {
            rw(j, Pattern::RandRead, 4);
            size(j, 1030);
            j.space.loops = 2;
        }),
        ("rw=randwrite bs=4k size=10k", &[10], Set, |j| {
            rw(j, Pattern::RandWrite, 4);
            size(j, 10);
        }),
        ("rw=randread bs=4k size=100k io_size=250k", &[100], Counts, |j| {
            rw(j, Pattern::RandRead, 4);
            size(j, 100);
            j.space.io_size = Some(Amount::Bytes(250 * K));
        }),
        ("rw=randrw bs=4k size=1m rwmixread=70", &[1024], Places, |j| {
            rw(j, Pattern::RandRw, 4);
            size(j, 1024);
            j.pattern.rwmixread_percent = 70;
        }),
        ("rw=rw bs=4k size=1m", &[1024], Counts, |j| {
            rw(j, Pattern::ReadWrite, 4);
            size(j, 1024);
        }),
        ("rw=randtrimwrite bs=4k size=400k", &[400], Set, |j| {
            rw(j, Pattern::RandTrimWrite, 4);
            size(j, 400);
        }),
        ("rw=randread bs=4k size=400k norandommap", &[400], Counts, |j| {
            rw(j, Pattern::RandRead, 4);
            size(j, 400);
            j.pattern.norandommap = true;
        }),
        ("rw=randwrite bs=4k size=400k io_size=900k norandommap", &[400], Counts, |j| {
            rw(j, Pattern::RandWrite, 4);
            size(j, 400);
            j.space.io_size = Some(Amount::Bytes(900 * K));
            j.pattern.norandommap = true;
        }),
        ("rw=randread bs=4k size=400k random_generator=lfsr", &[400], Set, |j| {
            rw(j, Pattern::RandRead, 4);
            size(j, 400);
            j.pattern.random_generator = RandomGenerator::Lfsr;
        }),
        ("rw=randread bs=16k blockalign=4k size=400k", &[400], Counts, |j| {
            rw(j, Pattern::RandRead, 16);
            size(j, 400);
            j.pattern.blockalign = Some(PerDirection::all(4 * K));
        }),
        ("rw=randread bs=4k blockalign=16k size=400k", &[400], Counts, |j| {
            rw(j, Pattern::RandRead, 4);
            size(j, 400);
            j.pattern.blockalign = Some(PerDirection::all(16 * K));
        }),
        ("rw=randread bs=4k size=400k percentage_random=50", &[400], Counts, |j| {
            rw(j, Pattern::RandRead, 4);
            size(j, 400);
            j.pattern.percentage_random = PerDirection::all(50);
        }),
        ("rw=randread bs=4k size=400k random_distribution=zipf:1.2", &[400], Counts, |j| {
            rw(j, Pattern::RandRead, 4);
            size(j, 400);
            let zipf = Distribution::Zipf { theta: 1.2, center: None };
            j.pattern.random_distribution = PerDirection::all(zipf);
        }),
        (
            "rw=randread bs=4k size=400k random_distribution=zoned:60/10:40/90",
            &[400],
            Counts,
            |j| {
                rw(j, Pattern::RandRead, 4);
                size(j, 400);
                let zones = [(60.0, 10.0), (40.0, 90.0)];
                let zones = zones.map(|(access_percent, size)| Zone { access_percent, size });
                j.pattern.random_distribution =
                    PerDirection::all(Distribution::Zoned(zones.into()));
            },
        ),
    ]);
}

/// With the random map, blocks are cut at visited ones. fio 3.33 comes to 8.6 KiB.
#[test]
fn a_pass_with_the_map_has_nearly_the_mix_of_sizes() {
    for (megabytes, seed) in [(64, 1), (16, 2)] {
        let mut job = job(Pattern::RandWrite, 4 * K);
        let sizes = [(4 * K, 60.0), (16 * K, 30.0), (64 * K, 10.0)];
        job.pattern.bs = PerDirection::all(BlockSize::Split(sizes.into()));
        job.pattern.randseed = seed;
        let bytes = megabytes << 20;
        let requests = all(&job, &room(bytes));
        let made: u64 = requests.iter().map(|request| u64::from(request.length)).sum();
        assert_eq!(made, bytes, "every block once");
        let mean = bytes as f64 / requests.len() as f64 / 1024.0;
        assert!((11.0..14.0).contains(&mean), "{mean} KiB of 13.6 KiB");
    }
}

#[test]
fn sizes_of_blocks_are_fios() {
    compare(&[
        ("rw=randread bsrange=4k-32k size=2m", &[2048], Bytes, |j| {
            rw(j, Pattern::RandRead, 4);
            size(j, 2048);
            j.pattern.bs = PerDirection::all(BlockSize::Range { low: 4 * K, high: 32 * K });
        }),
        ("rw=randwrite bssplit=4k/60:16k/30:64k/10 size=2m", &[2048], Bytes, |j| {
            rw(j, Pattern::RandWrite, 4);
            size(j, 2048);
            let sizes = [(4 * K, 60.0), (16 * K, 30.0), (64 * K, 10.0)];
            j.pattern.bs = PerDirection::all(BlockSize::Split(sizes.into()));
        }),
        ("rw=read bsrange=4k-32k size=2m", &[2048], Bytes, |j| {
            rw(j, Pattern::Read, 4);
            size(j, 2048);
            j.pattern.bs = PerDirection::all(BlockSize::Range { low: 4 * K, high: 32 * K });
        }),
        ("rw=randread bsrange=4k-32k size=2m norandommap", &[2048], NearlyBytes, |j| {
            rw(j, Pattern::RandRead, 4);
            size(j, 2048);
            j.pattern.bs = PerDirection::all(BlockSize::Range { low: 4 * K, high: 32 * K });
            j.pattern.norandommap = true;
        }),
        ("rw=rw bs=4k,16k,8k size=2m", &[4096], NearlyBytes, |j| {
            rw(j, Pattern::ReadWrite, 4);
            size(j, 2048);
            j.pattern.bs.write = BlockSize::Fixed(16 * K);
            j.pattern.bs.trim = BlockSize::Fixed(8 * K);
        }),
        ("rw=randrw bs=4k,16k size=2m norandommap", &[4096], NearlyBytes, |j| {
            rw(j, Pattern::RandRw, 4);
            size(j, 2048);
            j.pattern.bs.write = BlockSize::Fixed(16 * K);
            j.pattern.bs.trim = BlockSize::Fixed(16 * K);
            j.pattern.norandommap = true;
        }),
        ("rw=write bs=4k,16k size=200k", &[200], Order, |j| {
            rw(j, Pattern::Write, 16);
            size(j, 200);
            j.pattern.bs.read = BlockSize::Fixed(4 * K);
        }),
    ]);
}

#[test]
fn several_files_are_served_as_fio_does() {
    compare(&[
        ("rw=read bs=4k size=100k", &[0, 0, 0], Order, |j| {
            rw(j, Pattern::Read, 4);
            size(j, 100);
        }),
        ("rw=read bs=4k size=120k file_service_type=roundrobin:3", &[40; 3], Order, |j| {
            rw(j, Pattern::Read, 4);
            size(j, 120);
            j.files.file_service_ios = 3;
        }),
        ("rw=write bs=4k size=120k file_service_type=sequential", &[40; 3], Order, |j| {
            rw(j, Pattern::Write, 4);
            size(j, 120);
            j.files.file_service_type = FileService::Sequential;
        }),
        ("rw=read bs=4k size=120k openfiles=2", &[40; 3], Order, |j| {
            rw(j, Pattern::Read, 4);
            size(j, 120);
            j.files.openfiles = Some(2);
        }),
        ("rw=read bs=4k", &[20, 60, 0, 10], Order, |j| rw(j, Pattern::Read, 4)),
        ("rw=randread bs=4k size=120k", &[40; 3], Set, |j| {
            rw(j, Pattern::RandRead, 4);
            size(j, 120);
        }),
        ("rw=randread bs=4k size=160k file_service_type=random", &[40; 4], Set, |j| {
            rw(j, Pattern::RandRead, 4);
            size(j, 160);
            j.files.file_service_type = FileService::Random;
        }),
        ("rw=read bs=4k filesize=20k size=80k", &[0; 4], Order, |j| {
            rw(j, Pattern::Read, 4);
            size(j, 80);
            j.space.filesize = Some((20 * K, 20 * K));
        }),
        ("rw=read bs=4k filesize=20k size=80k loops=2", &[20; 4], Order, |j| {
            rw(j, Pattern::Read, 4);
            size(j, 80);
            j.space.filesize = Some((20 * K, 20 * K));
            j.space.loops = 2;
        }),
        ("rw=read bs=4k io_size=200k size=120k", &[40; 3], Order, |j| {
            rw(j, Pattern::Read, 4);
            size(j, 120);
            j.space.io_size = Some(Amount::Bytes(200 * K));
        }),
    ]);
}
