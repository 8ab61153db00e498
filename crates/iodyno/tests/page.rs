//! `report` from end to end: the page in a real browser.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[allow(dead_code, reason = "it serves several tests")]
mod browser;
mod common;

use std::path::PathBuf;

use browser::Browser;
use common::{World, status, text};

/// A run of one mixed and one random read job, each half a second.
fn jobs(world: &World, name: &str) {
    let file = world.path("data");
    let file = format!("--filename={}", file.to_str().unwrap());
    let (mixed, rand) = (format!("--name={name}"), format!("--name={name} 2"));
    let run = world.run(&[
        "run",
        &mixed,
        &file,
        "--size=8m",
        "--rw=randrw",
        "--bs=4k",
        "--iodepth=4",
        "--ioengine=libaio",
        "--direct=1",
        "--runtime=500ms",
        "--time_based",
        &rand,
        "--stonewall",
        &file,
        "--size=8m",
        "--rw=randread",
        "--bs=16k",
        "--runtime=500ms",
        "--time_based",
    ]);
    status(&run, 0);
}

/// The page of these runs.
#[track_caller]
fn report(world: &World, runs: &[&str]) -> PathBuf {
    let page = world.path("report.html");
    let words = [&["report"], runs, &["-o", page.to_str().unwrap()]].concat();
    let reported = world.run(&words);
    status(&reported, 0);
    assert!(text(&reported.stdout).contains("report.html"), "it says where the page is");
    page
}

/// Brings every figure into view and waits until it is drawn.
fn draw_all(browser: &Browser) -> u64 {
    let figures =
        browser.run("return document.querySelectorAll('.chart').length").as_u64().unwrap();
    for n in 0..figures {
        let chart = format!("document.querySelectorAll('.chart')[{n}]");
        browser.run(&format!("{chart}.scrollIntoView({{block: 'center'}})"));
        browser.wait_for(&format!("{chart}.querySelector('svg path[d]')"));
    }
    figures
}

/// Where an element's middle is in the window: (x, y).
fn middle(browser: &Browser, element: &str) -> (f64, f64) {
    let at = browser.run(&format!(
        "const r = ({element}).getBoundingClientRect(); \
         return [r.x + r.width / 2, r.y + r.height / 2]"
    ));
    (at[0].as_f64().unwrap(), at[1].as_f64().unwrap())
}

#[test]
fn figures_are_drawn_and_answer_the_pointer() {
    let world = World::new();
    jobs(&world, "mixed");
    let page = report(&world, &["last"]);
    let browser = Browser::new();
    browser.open(&page, "");
    assert!(draw_all(&browser) >= 5, "the topology, each measurement over time, its latencies");
    // The first one of measurements: it has a line each for reads and writes.
    let chart = "[...document.querySelectorAll('.chart')]\
                 .find(one => one.textContent.includes('B/s)'))";
    browser.wait_for(chart);

    browser.run(&format!("{chart}.scrollIntoView({{block: 'center'}})"));
    let (x, y) = middle(&browser, chart);
    browser.point(x, y - 40.0, false);
    let tooltip = "[...document.querySelectorAll('.chart > div')].find(one => \
                   one.style.visibility !== 'hidden' && /write.*IOPS|write.*B.s/.test(one.textContent))";
    browser.wait_for(tooltip);

    let option = format!("echarts.getInstanceByDom({chart}).getOption()");
    let name = browser.run(&format!("return {option}.legend[0].data[1].name"));
    let entry =
        format!("[...{chart}.querySelectorAll('text')].find(one => one.textContent === {name})");
    let (x, y) = middle(&browser, &entry);
    browser.point(x, y, true);
    browser.wait_for(&format!("{option}.legend[0].selected[{name}] === false"));
    assert_eq!(browser.messages(), [""; 0], "the console is silent");
}

#[test]
fn the_page_is_light_or_dark_as_the_system_or_the_reader_likes() {
    let world = World::new();
    jobs(&world, "mixed");
    let page = report(&world, &["last"]);
    let browser = Browser::new();
    let ground = "getComputedStyle(document.body).backgroundColor";
    let title = "document.querySelector('.chart text').getAttribute('fill')";
    let colors = |scheme: &str| {
        browser.emulate(1200, 900, scheme);
        browser.open(&page, "");
        draw_all(&browser);
        browser.run(&format!("return [{ground}, {title}]"))
    };
    let (light, dark) = (colors("light"), colors("dark"));
    assert_ne!(light[0], dark[0], "the page's ground");
    assert_ne!(light[1], dark[1], "the figures' text");
    browser.run("document.getElementById('theme').click()");
    browser.wait_for(&format!("{ground} === {}", light[0]));
    browser.wait_for(&format!("{title} === {}", light[1]));

    // As narrow as a phone: the page itself never scrolls sideways.
    browser.emulate(400, 800, "light");
    browser.open(&page, "");
    draw_all(&browser);
    browser.wait_for("document.documentElement.scrollWidth <= 400");
    assert_eq!(browser.messages(), [""; 0], "the console is silent");
}

#[test]
fn on_paper_everything_is_drawn() {
    let world = World::new();
    jobs(&world, "mixed");
    let page = report(&world, &["last"]);
    let browser = Browser::new();
    browser.open(&page, "");
    let drawn = "document.querySelectorAll('.chart svg').length";
    let figures = browser.run("return document.querySelectorAll('.chart').length");
    assert!(
        browser.run(&format!("return {drawn}")).as_u64() < figures.as_u64(),
        "not all is in view"
    );
    let pdf = browser.print();
    // "%PDF-" in base64.
    assert!(pdf.starts_with("JVBERi0"), "{}", &pdf[..20]);
    assert_eq!(browser.run(&format!("return {drawn}")), figures);
    assert_eq!(browser.messages(), [""; 0], "the console is silent");
}

#[test]
fn names_do_nothing_but_stand_there() {
    let world = World::new();
    let tags =
        "</script><script>document.title='theirs'</script><img src=x onerror=alert(1)>\"'&amp;";
    jobs(&world, &format!("{tags}{}", "very-long-".repeat(50)));
    let page = report(&world, &["last"]);
    let browser = Browser::new();
    browser.emulate(400, 800, "light");
    browser.open(&page, "");
    draw_all(&browser);
    let seen = browser.run(
        "return [document.title, document.querySelectorAll('img').length, \
         document.querySelector('.measurement h3').textContent.length > 500]",
    );
    assert!(!seen[0].as_str().unwrap().contains("theirs"), "{seen}");
    assert_eq!((seen[1].as_u64(), seen[2].as_bool()), (Some(0), Some(true)), "{seen}");
    browser.wait_for("document.documentElement.scrollWidth <= 400");
    assert_eq!(browser.messages(), [""; 0], "the console is silent");
}

#[test]
fn a_hundred_measurements_open_within_two_seconds() {
    let world = World::new();
    let drives: Vec<PathBuf> =
        (0..34).map(|n| world.sparse(&format!("drive{n}"), 1 << 30)).collect();
    let drives: Vec<&str> = drives.iter().map(|path| path.to_str().unwrap()).collect();
    let words = [&["check"], &drives[..], &["--generator", "simulated"]].concat();
    status(&world.run(&words), 0);
    let page = report(&world, &["last"]);
    let browser = Browser::new();
    let opened = || {
        // At the first measurement, where figures are in view.
        browser.open(&page, "run-1-1");
        browser.wait_for("performance.getEntriesByName('first figure').length");
        let said = browser.run(
            "return [document.querySelectorAll('.measurement').length, \
             performance.getEntriesByName('first figure')[0].startTime, \
             performance.getEntriesByType('navigation')[0].domComplete]",
        );
        assert!(said[0].as_u64().unwrap() >= 100, "{said}");
        said[1].as_f64().unwrap().max(said[2].as_f64().unwrap())
    };
    // What else the machine does may hold up one of two.
    let (first, second) = (opened(), opened());
    assert!(first.min(second) < 2000.0, "opened within {first} and {second} ms");
    assert_eq!(browser.messages(), [""; 0], "the console is silent");
}

#[test]
fn only_a_report_is_overwritten() {
    let world = World::new();
    let drive = world.sparse("drive", 1 << 30);
    let check = ["check", drive.to_str().unwrap(), "--generator", "simulated", "--name", "a"];
    status(&world.run(&check), 0);
    report(&world, &["a"]);
    report(&world, &["last"]);
    let thesis = world.path("thesis.html");
    std::fs::write(&thesis, "<!doctype html><title>thesis</title>").unwrap();
    let onto = ["report", "a", "-o", thesis.to_str().unwrap()];
    let refused = world.run(&onto);
    status(&refused, 2);
    assert!(text(&refused.stderr).contains("--force"), "{}", text(&refused.stderr));
    assert!(std::fs::read_to_string(&thesis).unwrap().contains("thesis"));
    status(&world.run(&[&onto[..], &["--force"]].concat()), 0);
    assert!(!std::fs::read_to_string(&thesis).unwrap().contains("thesis"));
    let folder = world.directory("folder");
    status(&world.run(&["report", "a", "-o", folder.to_str().unwrap()]), 2);
    std::fs::write(world.path("notes.json"), "{}").unwrap();
    let unread = world.run(&["report", world.path("notes.json").to_str().unwrap()]);
    status(&unread, 2);
    assert!(text(&unread.stderr).contains("notes.json"), "{}", text(&unread.stderr));
    let missing = world.run(&["report", "nothing-of-this-name"]);
    status(&missing, 2);
    assert!(text(&missing.stderr).contains("nothing-of-this-name"));
}
