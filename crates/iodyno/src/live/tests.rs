//! Tests the view as cells: scenes from messages, drawn at several sizes.

use iodyno_campaign::{Event, OtherIo, Progress};
use iodyno_model::{Drive, Fact, Host, Namespace, Temperature};
use ratatui_core::backend::TestBackend;

use super::sampler::Sample;
use super::*;

const CAPS: TerminalCaps = TerminalCaps { ascii: false, color: false };

fn progress() -> Progress<'static> {
    Progress {
        target: "nvme0n1",
        step: "rand-read",
        iops: 142_000.0,
        bytes_per_s: 582e6,
        elapsed_ns: 3_200_000_000,
        most_ns: 60_000_000_000,
        left_ns: 600_000_000_000,
        goal: Some(iodyno_campaign::Goal { half_width: 0.01, level: 0.95 }),
        ..Progress::default()
    }
}

/// A drive that is read for 40 s, and an idle one.
fn scene() -> Scene {
    let mut scene = Scene::new("check", None);
    let namespace = Namespace { name: "nvme0n1".into(), ..Namespace::default() };
    let warm = Temperature { composite_c: 41.85, warning_c: None, critical_c: None };
    let drive = Drive {
        name: "nvme0".into(),
        namespaces: vec![namespace],
        temperature: Fact::Read(warm),
        ..Drive::default()
    };
    let block = iodyno_model::BlockDevice { name: "nvme0n1".into(), ..Default::default() };
    let host = Host { drives: vec![drive], blocks: vec![block], ..Host::default() };
    scene.take(Message::Host(Box::new(host)));
    for second in 0..40 {
        let mut latency = iodyno_model::Histogram::default();
        (0..1000).for_each(|n| latency.record(60_000 + n * 90));
        let io = |target: &str, ios: u64| TargetIo {
            target: target.into(),
            device: Some(target.into()),
            ios,
            bytes: ios * 4096,
            latency: latency.clone(),
            ..TargetIo::default()
        };
        let mut all = vec![io("nvme0n1", 100_000 + second * 1000)];
        if second < 20 {
            all.insert(0, io("/mnt/data", 5000));
        }
        scene.take(Message::TargetIo(all, 1_000_000_000));
        let other = OtherIo { iops: 1200.0, bytes_per_s: 5e6 };
        let others = vec![("nvme0n1".to_owned(), other)];
        scene.second(Sample { busiest: Some(0.43), others }, second + 1);
    }
    let event = Event::Progress(progress());
    scene.take(Message::Activity(Activity::of(&event).unwrap()));
    let noise = |n: u64| 142_000.0 + (n * 7919 % 1000) as f64;
    scene.take(Message::Progress {
        step: "rand-read".into(),
        target: "nvme0n1".into(),
        rate: [142_000.0, 582e6],
        goal: progress().goal,
        rates: (0, (0..200).map(noise).collect()),
        temperature_c: None,
    });
    scene.take(Message::Said("nvme1: not measured: busy".into()));
    scene
}

fn drawn(scene: &Scene, caps: TerminalCaps, (width, height): (u16, u16)) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| view::run(scene, caps, frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..height).map(|y| line(y).trim_end().to_owned()).collect()
}

#[test]
fn a_screen_of_80_columns() {
    let lines = drawn(&scene(), CAPS, (80, 24));
    let expected = [
        "iodyno check                                                                0:40",
        "nvme0n1  rand-read",
        "until its rate is known to ± 1.0 % (95 %)",
        "",
        "all   ██░░░░░░░░░░░░░░░░░░░░░░░░  at most 10 min left",
        "this  █░░░░░░░░░░░░░░░░░░░░░░░░░  3.2 of 60.0 s  582 MB/s  142k IOPS",
        "known                          █  to ± 0.0 %, goal ± 1.0 %",
        "",
        "TARGET     IOPS      RATE     P50     P99  LAST MINUTE                      TEMP",
        "nvme0n1    139k  569 MB/s  105 us  150 us  ▇▇▇▇▇▇▇▇▇▇▇▇██████████████████  42 °C",
        "/mnt/data                                  ██████████",
        "",
        "busiest thread: 43 % of a CPU   other processes on nvme0n1: 1200 IOPS, 5 MB/s",
        "nvme1: not measured: busy",
    ];
    assert_eq!(lines[..expected.len()], expected, "\n{}", lines.join("\n"));
    assert!(lines[expected.len()..23].iter().all(String::is_empty), "{}", lines.join("\n"));
    assert_eq!(lines[23], "q or Ctrl-C ends it and keeps the results");
}

#[test]
fn every_size_shows_what_matters() {
    let scene = scene();
    for size in [(40, 10), (60, 20), (80, 24), (160, 50), (300, 100), (5, 2)] {
        for ascii in [false, true] {
            let lines = drawn(&scene, TerminalCaps { ascii, ..CAPS }, size);
            let all = lines.join("\n");
            assert!(!ascii || all.replace(['±', '°', '\n'], "").is_ascii(), "{all}");
            if size.0 < 40 {
                continue;
            }
            for words in ["nvme0n1  rand-read", "139k", "569 MB/s", "150 us", "q or Ctrl-C ends"] {
                assert!(all.contains(words), "{words} at {size:?}:\n{all}");
            }
            let is_wide = size.0 >= 120;
            assert_eq!(all.contains("LATENCY  over the last minute"), is_wide, "{all}");
            assert_eq!(all.contains("and 1 more"), size.1 <= 10, "{all}");
        }
    }
}

#[test]
fn what_is_not_known_is_not_drawn() {
    let mut scene = Scene::new("check", None);
    scene.take(Message::Activity(Activity::of(&Event::Looking).unwrap()));
    let lines = drawn(&scene, CAPS, (80, 24));
    let shown: Vec<&String> = lines.iter().filter(|line| !line.is_empty()).collect();
    assert_eq!(shown[1], "checking for other users of the drives (1 s)");
    assert_eq!(shown.len(), 3, "{shown:?}");
}

#[test]
fn a_line_says_the_same() {
    let activity = Activity::of(&Event::Progress(progress())).unwrap();
    assert_eq!(
        activity.line(),
        "nvme0n1  rand-read  582 MB/s  142k IOPS  3.2 of 60.0 s  10 min left"
    );
    let work = Progress { most_ns: 0, work_bytes: Some(1 << 30), goal: None, ..progress() };
    let activity =
        Activity::of(&Event::Progress(Progress { done_bytes: 1 << 29, ..work })).unwrap();
    assert_eq!((activity.share, activity.why.as_str()), (Some(0.5), "until 1 GiB are done"));
}
