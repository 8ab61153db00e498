//! Tests `--listen`: the served content, and attacks on the server.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::common::listening::Listening;
use crate::common::{World, eventually, json, status, text};

/// Sends `request` and reads the whole answer.
fn ask(at: &str, request: &str) -> String {
    let mut socket = TcpStream::connect(at).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // The server may refuse before the whole request is sent.
    let _ = socket.write_all(request.as_bytes());
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    text(&answer)
}

fn get(at: &str, path: &str) -> String {
    ask(at, &format!("GET {path} HTTP/1.1\r\nHost: {at}\r\n\r\n"))
}

#[test]
fn what_is_measured_is_served_and_nothing_else() {
    let world = World::new();
    let iodyno = Listening::new(&world, 6);
    let at = iodyno.address.as_str();
    eventually("a second is shown", || get(at, "/metrics").contains("iodyno_live_ios_total{"));
    let metrics = get(at, "/metrics");
    let (head, metrics) = metrics.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains("Content-Type: application/openmetrics-text; version=1.0.0"), "{head}");
    assert!(metrics.ends_with("# EOF\n") && metrics.contains("_bucket{target="), "{metrics}");
    assert!(metrics.contains("le=\"+Inf\""), "{metrics}");

    let page = get(at, "/");
    let (head, body) = page.split_once("\r\n\r\n").unwrap();
    for header in ["default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'", "nosniff"]
    {
        assert!(head.contains(header), "{header}: {head}");
    }
    assert!(!head.contains("unsafe") && body.starts_with("<!doctype html>"), "{head}");
    let (head, body) = ask(at, &format!("HEAD / HTTP/1.1\r\nHost: {at}\r\n\r\n"))
        .split_once("\r\n\r\n")
        .map(|(head, body)| (head.to_owned(), body.to_owned()))
        .unwrap();
    assert!(head.contains("Content-Length: 1") && body.is_empty(), "{head}");
    let figures = get(at, "/figures");
    let figures = json(figures.split_once("\r\n\r\n").unwrap().1.as_bytes());
    assert_eq!(figures["figures"].as_array().unwrap().len(), 2, "over time, and latencies");

    for path in ["/../../etc/passwd", "/%2e%2e/etc/passwd", "//etc/passwd", "/etc", "*"] {
        assert!(get(at, path).starts_with("HTTP/1.1 404"), "{path}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT"] {
        let body = "Content-Length: 4\r\n\r\nstop";
        let answer = ask(at, &format!("{method} /metrics HTTP/1.1\r\nHost: {at}\r\n{body}"));
        assert!(answer.starts_with("HTTP/1.1 405"), "{method}: {answer}");
    }
    for host in ["evil.example", "127.0.0.1.evil.example:80", "", "localhost\r\nHost: evil.example"]
    {
        let answer = ask(at, &format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 403"), "{host}: {}", &answer[..60.min(answer.len())]);
    }
    // The stream starts with the running measurement and ends with the run. A page that waits for
    // the end then gets the last figures.
    let address = at.to_owned();
    let page = std::thread::spawn(move || get(&address, "/end"));
    let address = at.to_owned();
    let head = std::thread::spawn(move || {
        ask(&address, &format!("HEAD /end HTTP/1.1\r\nHost: {address}\r\n\r\n"))
    });
    let stream = get(at, "/stream");
    let last = page.join().unwrap();
    let head = head.join().unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    let last = json(last.split_once("\r\n\r\n").unwrap().1.as_bytes());
    assert!(last["is_over"] == true && last["state"] == "done", "{last}");
    assert_eq!(last["done"].as_array().unwrap().len(), 2, "reads and writes: {last}");
    let lines: Vec<_> =
        stream.split_once("\r\n\r\n").unwrap().1.lines().map(|one| json(one.as_bytes())).collect();
    let types: Vec<&str> = lines.iter().map(|one| one["type"].as_str().unwrap()).collect();
    assert_eq!(types[..3], ["run_start", "measurement_start", "second"]);
    assert_eq!(types[types.len() - 2..], ["measurement_end", "run_end"]);
    let output = iodyno.end();
    status(&output, 0);
    assert!(text(&output.stdout).contains("IOPS"));
}

#[test]
fn attacks_take_neither_the_page_nor_the_measurement() {
    let world = World::new();
    let iodyno = Listening::new(&world, 8);
    let at = iodyno.address.as_str();
    // Slow clients: more than the limit, each with part of a request.
    let mut slow: Vec<TcpStream> = (0..80)
        .map(|_| {
            let mut socket = TcpStream::connect(at).unwrap();
            let _ = socket.write_all(b"GET / HTTP/1.1\r\nX: ");
            socket
        })
        .collect();
    assert!(get(at, "/metrics").starts_with("HTTP/1.1 200"), "others are answered all the same");
    // Long requests: one long header, many headers, and one without an end.
    for headers in [
        format!("X: {}\r\n\r\n", "x".repeat(100_000)),
        format!("{}\r\n", "X: y\r\n".repeat(500)),
        "x".repeat(1 << 20),
    ] {
        let answer = ask(at, &format!("GET / HTTP/1.1\r\nHost: {at}\r\n{headers}"));
        let refused = ["HTTP/1.1 431", "HTTP/1.1 400"];
        assert!(refused.iter().any(|status| answer.starts_with(status)), "{answer}");
    }
    for garbage in ["\0\0\0\0\r\n\r\n", "\u{16}\u{3}\u{1} hello", "GET\r\n\r\n"] {
        let answer = ask(at, garbage);
        assert!(answer.starts_with("HTTP/1.1 400"), "{garbage:?}: {answer}");
    }
    // Readers that take nothing: only a few are admitted.
    let streams: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut socket = TcpStream::connect(at).unwrap();
            let request = format!("GET /stream HTTP/1.1\r\nHost: {at}\r\n\r\n");
            socket.write_all(request.as_bytes()).unwrap();
            socket
        })
        .collect();
    eventually("the stream is full", || get(at, "/stream").starts_with("HTTP/1.1 503"));
    // Clients that never finish their request are closed.
    let last = slow.last_mut().unwrap();
    last.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let ended = last.read(&mut [0; 64]);
    assert!(ended.is_err() || ended.is_ok_and(|read| read == 0), "without an answer");
    drop(streams);
    assert!(get(at, "/metrics").starts_with("HTTP/1.1 200"));
    let output = iodyno.end();
    status(&output, 0);
    let document = json(&world.run(&["show", "last", "--json"]).stdout);
    let of = &document["measurements"][0];
    assert_eq!(of["end"], "time");
    assert!(of["duration_ns"].as_u64().unwrap() >= 7_900_000_000, "{}", of["duration_ns"]);
}
