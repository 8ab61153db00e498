//! A running job that is served on a port of its own.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Output, Stdio};

use super::World;

/// A job that reads and writes a file, with `--listen`.
pub(crate) struct Listening {
    child: Child,
    stderr: BufReader<ChildStderr>,
    /// `127.0.0.1:34567`.
    pub(crate) address: String,
}

impl Listening {
    /// Starts a job of this many seconds.
    pub(crate) fn new(world: &World, seconds: u32) -> Self {
        let job = "run --name=mixed --filename=data --size=8m --rw=randrw --bs=4k --ioengine=psync \
            --time_based --listen 0";
        let mut child = world
            .command()
            .current_dir(world.path(""))
            .args(job.split_ascii_whitespace())
            .arg(format!("--runtime={seconds}"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let address = loop {
            let mut line = String::new();
            assert!(stderr.read_line(&mut line).unwrap() > 0, "it says where it listens");
            if let Some((_, rest)) = line.split_once("live page: http://") {
                break rest.split('/').next().unwrap().to_owned();
            }
        };
        Self { child, stderr, address }
    }

    /// Waits for the end of the run.
    pub(crate) fn end(mut self) -> Output {
        let mut said = Vec::new();
        self.stderr.read_to_end(&mut said).unwrap();
        let output = self.child.wait_with_output().unwrap();
        Output { stderr: said, ..output }
    }
}
