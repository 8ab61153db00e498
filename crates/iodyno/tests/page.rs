//! Tests `report` end to end, with the page in a real browser.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::browser::Browser;
use crate::common::{World, json, says, status, text};

/// Runs a mixed and a random read job, half a second each.
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

/// Writes the page of these runs.
#[track_caller]
fn report(world: &World, runs: &[&str]) -> PathBuf {
    let page = world.path("report.html");
    let words = [&["report"], runs, &["-o", page.to_str().unwrap()]].concat();
    let reported = world.run(&words);
    status(&reported, 0);
    assert!(text(&reported.stdout).contains("report.html"), "it says where the page is");
    page
}

/// Unfolds all sections.
fn unfold(browser: &Browser) {
    browser.run("if (document.querySelector('details:not(.data):not([open])')) unfold.click()");
}

/// Scrolls to every figure, folded ones included, and waits until it is drawn; returns their
/// number.
fn draw_all(browser: &Browser) -> u64 {
    unfold(browser);
    let figures =
        browser.run("return document.querySelectorAll('.chart').length").as_u64().unwrap();
    for n in 0..figures {
        let chart = format!("document.querySelectorAll('.chart')[{n}]");
        browser.run(&format!("{chart}.scrollIntoView({{block: 'center'}})"));
        browser.wait_for(&format!("{chart}.querySelector('svg path[d]')"));
    }
    figures
}

/// Centre of an element in the window: (x, y).
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
    // The first figure of measurements, with a line each for reads and writes.
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

    // On a phone's width the page itself does not scroll sideways.
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
    unfold(&browser);
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
fn names_cannot_inject_script() {
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
fn a_page_of_a_hundred_measurements_draws_no_more_than_one_of_ten() {
    let world = World::new();
    let browser = Browser::new();
    // Number of measurements, of figures, and of figures drawn when the page opens.
    let opened = |drives: usize| {
        let drives: Vec<PathBuf> =
            (0..drives).map(|n| world.sparse(&format!("drive{n}"), 1 << 30)).collect();
        let drives: Vec<&str> = drives.iter().map(|path| path.to_str().unwrap()).collect();
        let words = [&["check"], &drives[..], &["--generator", "simulated"]].concat();
        status(&world.run(&words), 0);
        browser.open(&report(&world, &["last"]), "");
        browser.wait_for("performance.getEntriesByName('first figure').length");
        ["measurement", "chart", "chart svg"].map(|class| {
            let count = format!("return document.querySelectorAll('.{class}').length");
            browser.run(&count).as_u64().unwrap()
        })
    };
    let (few, many) = (opened(3), opened(34));
    assert!(many[0] >= 100 && many[0] > 8 * few[0], "{few:?} {many:?}");
    assert!(many[1] > few[1] && many[2] >= 1, "{few:?} {many:?}");
    assert!(many[2] <= few[2], "only what is in view: {few:?} {many:?}");
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
    says(&world.run(&onto), 2, "--force");
    assert!(std::fs::read_to_string(&thesis).unwrap().contains("thesis"));
    status(&world.run(&[&onto[..], &["--force"]].concat()), 0);
    assert!(!std::fs::read_to_string(&thesis).unwrap().contains("thesis"));
    let folder = world.directory("folder");
    status(&world.run(&["report", "a", "-o", folder.to_str().unwrap()]), 2);
    std::fs::write(world.path("notes.json"), "{}").unwrap();
    says(&world.run(&["report", world.path("notes.json").to_str().unwrap()]), 2, "notes.json");
    says(&world.run(&["report", "nothing-of-this-name"]), 2, "nothing-of-this-name");
}

/// Pages of every kind: (kind, page).
fn pages(world: &World) -> Vec<(&'static str, PathBuf)> {
    let page = |what: &'static str, runs: &[&str]| {
        let page = world.path(&format!("{what}.html"));
        let sheet = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/datasheet.toml");
        let sheet = ["--datasheet", sheet.to_str().unwrap(), "-o", page.to_str().unwrap()];
        status(&world.run(&[&["report"], runs, &sheet].concat()), 0);
        (what, page)
    };
    let data = world.sparse("target", 1 << 30);
    let data = data.to_str().unwrap();
    let simulated = ["--generator", "simulated"];
    let explain = ["explain", data, "rw=randread", "bs=4k", "iodepth=64", "--name", "why"];
    status(&world.run(&[&explain[..], &simulated].concat()), 0);
    jobs(world, "job");
    let run = page("run", &["last"]);
    let depths = "--grid=iodepth=1,4,16";
    let sweep = ["sweep", "--set", "rw=randread", "--set", "size=8m", depths, "--grid=numjobs=1,2"];
    let short = ["--target", data, "--max-time", "200ms", "--name", "grid"];
    let swept = world.run(&[&sweep[..], &short].concat());
    assert!(matches!(swept.status.code(), Some(0 | 4)), "{}", text(&swept.stderr));
    let lab = laboratory(world, "lab");
    let twin = laboratory(world, "twin");
    vec![
        page("check", &[&lab]),
        page("explain", &["why"]),
        run,
        page("sweep", &["grid"]),
        page("compare", &["grid", "grid"]),
        page("fleet", &[&lab, &twin]),
    ]
}

/// The check of the laboratory's seven drives, from a host of this name.
fn laboratory(world: &World, name: &str) -> String {
    let captured = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/captured/lab.json.gz");
    let plain = Command::new("gzip").args(["-dc", captured]).output().unwrap();
    let mut run = json(&plain.stdout);
    run["host"]["hostname"] = name.into();
    run["id"] = name.into();
    let file = world.path(&format!("{name}.json"));
    std::fs::write(&file, run.to_string()).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn pages_fit_do_not_shift_and_are_accessible() {
    let world = World::new();
    let browser = Browser::new();
    for (what, page) in pages(&world) {
        for (width, scheme) in [(360, "light"), (390, "dark"), (1600, "light")] {
            browser.emulate(width, 900, scheme);
            browser.open(&page, "");
            let place = format!("{what} at {width}");
            // Figures in view are drawn; a fleet's figure is folded.
            browser.wait_for(
                "[...document.querySelectorAll('.chart')].every(one => !one.clientWidth || \
                 one.getBoundingClientRect().top > innerHeight || one.querySelector('svg path[d]'))",
            );
            // Scrolls down as a reader would, frame by frame.
            let shifted = browser.run(
                "return new Promise(async done => { \
                   let sum = 0; \
                   const add = list => list.forEach(one => { if (!one.hadRecentInput) sum += one.value; }); \
                   const seen = new PerformanceObserver(list => add(list.getEntries())); \
                   seen.observe({type: 'layout-shift', buffered: true}); \
                   const frame = () => new Promise(requestAnimationFrame); \
                   for (let y = 0; y < document.body.scrollHeight; y += 600) { scrollTo(0, y); await frame(); await frame(); } \
                   await frame(); add(seen.takeRecords()); done(sum); })",
            );
            assert!(shifted.as_f64().unwrap() < 0.01, "{place}: the layout shifted by {shifted}");
            browser.wait_for(&format!("document.documentElement.scrollWidth <= {width}"));
            // As opened in the light scheme, and unfolded in the dark one.
            if width == 390 {
                unfold(&browser);
                browser.wait_for(&format!("document.documentElement.scrollWidth <= {width}"));
            }
            if width < 1600 {
                assert_eq!(browser.violations(), [""; 0], "{place}");
            }
        }
        let levels = browser.run(
            "return [...document.querySelectorAll('h1,h2,h3,h4,h5')].map(one => +one.tagName[1])",
        );
        let levels: Vec<u64> =
            levels.as_array().unwrap().iter().map(|one| one.as_u64().unwrap()).collect();
        assert_eq!(
            (levels[0], levels.iter().filter(|level| **level == 1).count()),
            (1, 1),
            "{what}"
        );
        assert!(levels.windows(2).all(|two| two[1] <= two[0] + 1), "{what}: {levels:?}");
        assert_eq!(browser.messages(), [""; 0], "{what}: the console is silent");
    }
}

#[test]
fn a_check_prints_on_two_sheets() {
    let world = World::new();
    let lab = laboratory(&world, "lab");
    let page = report(&world, &[&lab]);
    let browser = Browser::new();
    browser.open(&page, "");
    let sheets = || {
        let (mut decode, pdf) = (Command::new("base64"), world.path("page.pdf"));
        std::fs::write(&pdf, browser.print()).unwrap();
        let pdf = decode.arg("-d").arg(&pdf).output().unwrap().stdout;
        let text = String::from_utf8_lossy(&pdf);
        text.matches("/Type /Page").count() - text.matches("/Type /Pages").count()
    };
    assert!((1..=2).contains(&sheets()));
    unfold(&browser);
    assert!(sheets() > 4, "what is unfolded is printed");
}

#[test]
fn a_figure_is_read_by_keyboard_and_as_a_table() {
    let world = World::new();
    jobs(&world, "job");
    let browser = Browser::new();
    browser.open(&report(&world, &["last"]), "");
    let chart = "document.querySelector('.chart')";
    browser.wait_for(&format!("{chart}.querySelector('svg path[d]')"));
    let focused = format!("document.activeElement === {chart}");
    for _ in 0..30 {
        if browser.run(&format!("return {focused}")) == true {
            break;
        }
        browser.press("\u{e004}");
    }
    assert_eq!(browser.run(&format!("return {focused}")), true, "Tab leads to it");
    browser.press("\u{e014}");
    let tip = "[...document.querySelectorAll('.chart > div:not(:has(svg))')].some(one => \
               one.style.visibility !== 'hidden' && /IOPS|B.s/.test(one.textContent))";
    browser.wait_for(tip);
    browser.press("\u{e00c}");
    browser.wait_for(&format!("!({tip})"));
    browser.run("document.querySelector('.data > summary').click()");
    browser.wait_for("document.querySelectorAll('.data[open] tbody tr').length > 3");
    // Seconds in which the machine was busy with other work may lack a value.
    let cells = "document.querySelectorAll('.data[open] tbody tr td:nth-child(2)')";
    browser.wait_for(&format!("[...{cells}].some(one => /IOPS$/.test(one.textContent))"));
    assert_eq!(browser.messages(), [""; 0], "the console is silent");
}
