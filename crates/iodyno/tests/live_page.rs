//! Tests the page of `--listen` in a real browser.

use crate::browser::Browser;
use crate::common::listening::Listening;
use crate::common::{World, status};

#[test]
fn figures_appear_and_follow_the_measurement() {
    let world = World::new();
    // A browser may take long to start.
    let browser = Browser::new();
    let iodyno = Listening::new(&world, 25);
    browser.emulate(390, 800, "light");
    browser.open_url(&format!("http://{}/", iodyno.address));
    browser.wait_for("document.querySelectorAll('.chart svg path[d]').length > 10");
    let points = "Math.max(...echarts.getInstanceByDom(document.querySelector('.chart'))\
                  .getOption().series.map(one => one.data.length))";
    browser.wait_for(&format!("{points} >= 2"));
    let now = browser.run(&format!("return {points}")).as_u64().unwrap();
    browser.wait_for(&format!("{points} >= {}", now + 2));
    let state = "document.getElementById('state').textContent";
    browser.wait_for(&format!("{state}.startsWith('measuring')"));
    browser.wait_for("document.documentElement.scrollWidth <= 390");
    browser.wait_for("[...document.querySelectorAll('.chart')].every(one => one.ariaLabel)");
    browser.emulate(1200, 900, "dark");
    let title = "document.querySelector('.chart text').getAttribute('fill')";
    browser.wait_for(&format!("{title} === '#e6e8eb'"));
    assert_eq!(browser.messages(), [""; 0], "the console is silent");
    // The page shows the end: waiting pages are notified.
    browser.wait_for(&format!("{state}.startsWith('done')"));
    let rows = browser.run("return document.querySelectorAll('#done tr').length");
    assert_eq!(rows, 2, "a row for reads and one for writes");
    status(&iodyno.end(), 0);
}
