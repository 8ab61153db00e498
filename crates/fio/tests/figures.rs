//! Published figures, in files and tables.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use iodyno_fio::read::{Figures, figures};
use iodyno_model::{Direction, LinkState, Measurement, StatedBlocks};
use proptest::prelude::*;

fn read(text: &str) -> Figures {
    figures("x", text).unwrap()
}

fn bandwidth(of: &Measurement) -> f64 {
    of.total[0].bandwidth.unwrap().value
}

const FILE: &str = r#"
format = "iodyno.figures/1"
about = "a study"

[environment]
model = "970 EVO 500GB"
link = "gen3x4"
blocks = "trimmed"

[[figure]]
name = "sequential"
workload = "rw=read bs=128k iodepth=32 numjobs=4"
bandwidth = "3379 MB/s"

[[figure]]
workload = "rw=randwrite bs=4k iodepth=16"
iops = "81.4k"
latency = "196 us"
link = "gen2x4"
drives = 2
layer = "raid1"
behind = "2 x HBA gen3x8"
"#;

#[test]
fn environment_applies_to_all_rows() {
    let found = read(FILE);
    assert!(found.problems.is_empty(), "{:?}", found.problems);
    let [first, second] = found.rows.as_slice() else { panic!("{found:?}") };
    assert_eq!(first.measurement.name, "sequential");
    assert_eq!(first.measurement.workload.numjobs, Some(4));
    assert_eq!(first.measurement.total[0].direction, Direction::Read);
    assert_eq!(bandwidth(&first.measurement), 3379e6);
    let iops = first.measurement.total[0].iops.unwrap();
    assert!((iops.value - 3379e6 / 131_072.0).abs() < 1.0, "it follows from the block size");
    assert_eq!(first.stated.link, Some(LinkState { generation: 3, width: 4 }));
    assert_eq!(first.stated.blocks, Some(StatedBlocks::Trimmed));
    assert_eq!(second.stated.link, Some(LinkState { generation: 2, width: 4 }));
    assert_eq!(second.stated.model.as_deref(), Some("970 EVO 500GB"));
    assert_eq!((second.stated.drives, second.stated.layer.as_deref()), (Some(2), Some("raid1")));
    assert_eq!(second.stated.behind.as_ref().unwrap().count, 2);
    let writes = &second.measurement.total[0];
    assert_eq!(writes.direction, Direction::Write);
    assert_eq!(writes.latency_mean.unwrap().value, 196_000.0);
    assert!(writes.iops.unwrap().low() < 81_400.0, "what was rounded has bounds");
}

#[test]
fn tables_are_read_however_they_are_drawn() {
    let tables = [
        "rw,bs,iodepth,IOPS\nrandread,4k,32,343k\nread,4k,1,\"12,000\"\n",
        "rw;bs;iodepth;IOPS\nrandread;4k;32;343k\nread;4k;1;12000\n",
        "rw\tbs\tiodepth\tIOPS\nrandread\t4k\t32\t343k\nread\t4k\t1\t12k\n",
        "See:\n\n| rw | bs | QD | IOPS |\n|:---|---:|---|---|\n| randread | 4k | 32 | **343k** |\n| read | 4k | 1 | 12k |\n\nSo it is.\n",
        "rw         bs   depth   IOPS    remarks\nrandread   4k   32      343k    fine\nread       4k   1       12k     -\n",
    ];
    for table in tables {
        let found = read(table);
        assert!(found.problems.is_empty(), "{table}: {:?}", found.problems);
        let rates: Vec<f64> =
            found.rows.iter().map(|row| row.measurement.total[0].iops.unwrap().value).collect();
        assert_eq!(rates, [343e3, 12e3], "{table}");
        assert_eq!(found.rows[0].measurement.workload.iodepth, Some(32), "{table}");
    }
    let units = read("workload,BW (MB/s),lat (us)\nrw=read bs=1m,4400,85\n");
    assert_eq!(bandwidth(&units.rows[0].measurement), 4400e6);
    let unit = read("workload,MiB/s\nrw=write bs=1m,100\n");
    assert_eq!(bandwidth(&unit.rows[0].measurement), 104_857_600.0);
}

#[test]
fn errors_have_lines_and_the_rest_is_read() {
    let found = read("rw,bs,iops\nread,4k,fast\nread,4k,10k\nwalk,4k,10k\n");
    assert_eq!(found.rows.len(), 1);
    let told: Vec<String> = found.problems.iter().map(ToString::to_string).collect();
    assert!(told[0].starts_with("x:2: iops: `fast`"), "{told:?}");
    assert!(told[1].starts_with("x:4: rw=walk"), "{told:?}");
    let typo = read(&FILE.replace("[[figure]]\nname", "[[figrue]]\nname"));
    assert!(typo.rows.is_empty() && typo.problems[0].what.contains("figrue"), "{typo:?}");
    let unit = read(&FILE.replace("3379 MB/s", "3379"));
    assert_eq!(unit.problems[0].line, Some(10), "{:?}", unit.problems);
    assert!(unit.problems[0].what.contains("unit"));
    let later = read(&FILE.replace("figures/1", "figures/1.5"));
    assert!(later.problems[0].what.contains("figures/1.5"), "{later:?}");
}

#[test]
fn the_sides_of_a_mix_have_their_own_columns() {
    let found = read(
        "rw      bs  QD  engine  layout    read IOPS  write IOPS  IOPS   read us  p99 read (ms)  drive\n\
         randrw  4k  8   libaio  md0+xfs   70k        30k         100k   90       1.5            P5600 3.2TB\n\
         randrd  4k  8   libaio  md0+xfs   70k        -           -      90       -              P5600 3.2TB\n\
         read    4k  8   libaio  md0+ext4  -          30k         -      -        -              P5600 3.2TB\n\
         read    4k  8   libaio  md0+ext4  -          -           30k    -        -              P5600 3.2TB\n",
    );
    let wrong: Vec<Option<usize>> = found.problems.iter().map(|one| one.line).collect();
    assert_eq!(wrong, [Some(3), Some(4)], "{:?}", found.problems);
    let [mix, plain] = found.rows.as_slice() else { panic!("{found:?}") };
    let [reads, writes] = mix.measurement.total.as_slice() else { panic!("{mix:?}") };
    assert_eq!((reads.direction, writes.direction), (Direction::Read, Direction::Write));
    assert_eq!((reads.iops.unwrap().value, writes.iops.unwrap().value), (70e3, 30e3));
    assert_eq!(writes.bandwidth.unwrap().value, 30e3 * 4096.0);
    assert_eq!((reads.latency_mean.unwrap().value, writes.latency_mean), (90_000.0, None));
    assert_eq!(reads.stated.as_ref().unwrap().total.percentile(99.0).unwrap().value, 1.5e6);
    assert_eq!(mix.stated.model.as_deref(), Some("P5600 3.2TB"));
    assert_eq!(mix.measurement.workload.options["layout"], "md0+xfs");
    assert_eq!(plain.measurement.total[0].direction, Direction::Read);
    let file = "format = \"iodyno.figures/1\"\n[[figure]]\nworkload = \"rw=randrw bs=4k\"\n\
                read_bandwidth = \"300 MB/s\"\nwrite_bandwidth = \"100 MB/s\"\n";
    let of: Vec<f64> =
        read(file).rows[0].measurement.total.iter().map(|of| of.bandwidth.unwrap().value).collect();
    assert_eq!(of, [300e6, 100e6]);
}

#[test]
fn other_texts_are_no_figures() {
    for text in ["", "hello", "a,b,c\n1,2,3\n", "rw,bs\nread,4k\n", "iops,bandwidth\n1,2\n"] {
        assert_eq!(figures("x", text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in "(?s).{0,300}", at in 0_usize..400) {
        let _ = figures("x", &text);
        let mut cut: String = FILE.chars().take(at).collect();
        cut.push_str(&text);
        let _ = figures("x", &cut);
        let _ = figures("x", &format!("| rw | iops |\n|{text}|\n{text} | 5k"));
    }
}
