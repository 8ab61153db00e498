//! Jobs that issue the same I/Os as fio, in the same order.

use super::fio::{Equal::*, K, compare, rw, size};
use crate::{Amount, IoEngine, Pattern, Sequencer};

#[test]
fn sequences_are_fios() {
    compare(&[
        ("rw=read bs=64k size=1m", &[1024], Order, |j| {
            rw(j, Pattern::Read, 64);
            size(j, 1024);
        }),
        // The short tail: fio exceeds size if the file is larger ...
        ("rw=read bs=64k size=200k", &[1024], Order, |j| {
            rw(j, Pattern::Read, 64);
            size(j, 200);
        }),
        // ... and skips it if not.
        ("rw=read bs=64k", &[200], Order, |j| rw(j, Pattern::Read, 64)),
        ("rw=read bs=64k size=200k loops=3", &[200], Order, |j| {
            rw(j, Pattern::Read, 64);
            size(j, 200);
            j.space.loops = 3;
        }),
        ("rw=write bs=4k size=100k io_size=30k", &[0], Order, |j| {
            rw(j, Pattern::Write, 4);
            size(j, 100);
            j.space.io_size = Some(Amount::Bytes(30 * K));
        }),
        ("rw=write bs=4k size=40k io_size=100k", &[40], Order, |j| {
            rw(j, Pattern::Write, 4);
            size(j, 40);
            j.space.io_size = Some(Amount::Bytes(100 * K));
        }),
        ("rw=read bs=4k size=40k io_size=100k loops=2", &[40], Order, |j| {
            rw(j, Pattern::Read, 4);
            size(j, 40);
            j.space.io_size = Some(Amount::Bytes(100 * K));
            j.space.loops = 2;
        }),
        ("rw=read bs=4k io_size=50%", &[100], Order, |j| {
            rw(j, Pattern::Read, 4);
            j.space.io_size = Some(Amount::Percent(50.0));
        }),
        ("rw=read bs=4k size=30%", &[1000], Order, |j| {
            rw(j, Pattern::Read, 4);
            j.space.size = Some(Amount::Percent(30.0));
        }),
        ("rw=read bs=4k offset=33%", &[1000], Order, |j| {
            rw(j, Pattern::Read, 4);
            j.space.offset = Amount::Percent(33.0);
        }),
        ("rw=read bs=4k offset=33% offset_align=64k size=50%", &[1000], Order, |j| {
            rw(j, Pattern::Read, 4);
            j.space.offset = Amount::Percent(33.0);
            j.space.offset_align = 64 * K;
            j.space.size = Some(Amount::Percent(50.0));
        }),
        ("rw=read bs=4k offset=10k size=50k", &[1000], Order, |j| {
            rw(j, Pattern::Read, 4);
            j.space.offset = Amount::Bytes(10 * K);
            size(j, 50);
        }),
        ("rw=read bs=4k number_ios=7 size=100k", &[100], Order, |j| {
            rw(j, Pattern::Read, 4);
            size(j, 100);
            j.space.number_ios = Some(7);
        }),
        ("rw=read bs=4k number_ios=40 size=100k loops=2", &[100], Order, |j| {
            rw(j, Pattern::Read, 4);
            size(j, 100);
            j.space.number_ios = Some(40);
            j.space.loops = 2;
        }),
        ("rw=trimwrite bs=4k size=100k", &[100], Order, |j| {
            rw(j, Pattern::TrimWrite, 4);
            size(j, 100);
        }),
        ("rw=trimwrite bs=4k size=100k loops=2", &[100], Order, |j| {
            rw(j, Pattern::TrimWrite, 4);
            size(j, 100);
            j.space.loops = 2;
        }),
        ("rw=trimwrite bs=4k size=100k number_ios=5", &[100], Order, |j| {
            rw(j, Pattern::TrimWrite, 4);
            size(j, 100);
            j.space.number_ios = Some(5);
        }),
        ("rw=read:4k bs=4k loops=2 ioengine=libaio", &[100], Order, |j| {
            rw(j, Pattern::Read, 4);
            j.pattern.rw_step = Some(4096);
            j.space.loops = 2;
            j.engine.ioengine = IoEngine::Libaio;
        }),
        ("rw=read:4k bs=4k loops=2", &[116], Order, |j| {
            rw(j, Pattern::Read, 4);
            j.pattern.rw_step = Some(4096);
            j.space.loops = 2;
        }),
        ("rw=trim bs=8k size=100k", &[100], Order, |j| {
            rw(j, Pattern::Trim, 8);
            size(j, 100);
        }),
    ]);
}

#[test]
fn steps_and_zones_are_fios() {
    compare(&[
        ("rw=read:4k bs=4k size=100k", &[100], Order, |j| {
            rw(j, Pattern::Read, 4);
            size(j, 100);
            j.pattern.rw_step = Some(4096);
        }),
        ("rw=read:12k bs=4k size=100k offset=8k", &[200], Order, |j| {
            rw(j, Pattern::Read, 4);
            size(j, 100);
            j.space.offset = Amount::Bytes(8 * K);
            j.pattern.rw_step = Some(12 * 1024);
        }),
        ("rw=read:-8k bs=4k size=100k", &[100], Order, |j| {
            rw(j, Pattern::Read, 4);
            size(j, 100);
            j.pattern.rw_step = Some(-8192);
        }),
        ("rw=write:-8k bs=4k size=40k offset=16k", &[100], Order, |j| {
            rw(j, Pattern::Write, 4);
            size(j, 40);
            j.space.offset = Amount::Bytes(16 * K);
            j.pattern.rw_step = Some(-8192);
        }),
        ("rw=randread:8 bs=4k size=400k", &[400], Counts, |j| {
            rw(j, Pattern::RandRead, 4);
            size(j, 400);
            j.pattern.rw_step = Some(8);
        }),
        ("rw=randread:8 bs=4k size=400k rw_sequencer=identical", &[400], Counts, |j| {
            rw(j, Pattern::RandRead, 4);
            size(j, 400);
            j.pattern.rw_step = Some(8);
            j.pattern.rw_sequencer = Sequencer::Identical;
        }),
        (
            "rw=read bs=4k size=400k zonemode=strided zonesize=16k zonerange=40k zoneskip=8k",
            &[400],
            Order,
            |j| {
                rw(j, Pattern::Read, 4);
                size(j, 400);
                j.pattern.zonemode = crate::ZoneMode::Strided;
                j.pattern.zonesize = Some(16 * K);
                j.pattern.zonerange = Some(40 * K);
                j.pattern.zoneskip = 8 * K;
            },
        ),
        (
            "rw=read bs=4k size=400k io_size=100k zonemode=strided zonesize=16k zonerange=8k",
            &[400],
            Order,
            |j| {
                rw(j, Pattern::Read, 4);
                size(j, 400);
                j.space.io_size = Some(Amount::Bytes(100 * K));
                j.pattern.zonemode = crate::ZoneMode::Strided;
                j.pattern.zonesize = Some(16 * K);
                j.pattern.zonerange = Some(8 * K);
            },
        ),
        (
            "rw=randread bs=4k size=400k zonemode=strided zonesize=16k zonerange=16k zoneskip=4k",
            &[400],
            Set,
            |j| {
                rw(j, Pattern::RandRead, 4);
                size(j, 400);
                j.pattern.zonemode = crate::ZoneMode::Strided;
                j.pattern.zonesize = Some(16 * K);
                j.pattern.zonerange = Some(16 * K);
                j.pattern.zoneskip = 4 * K;
            },
        ),
    ]);
}
