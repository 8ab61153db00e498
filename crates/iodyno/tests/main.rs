//! Tests of the binary as one program: fifty separate ones would be linked and run one by one.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod accept;
mod accept_faults;
mod action;
mod architecture;
mod as_fio;
mod bad_input;
mod browser;
mod check;
mod common;
mod compare;
mod docs;
mod door;
mod endings;
mod engines;
mod examples;
mod explain;
mod export;
mod files_of_jobs;
mod fio_clients;
mod fio_results;
mod fit;
mod formats;
mod full_store;
mod glance;
mod hanging;
mod help_examples;
mod hostile;
mod import;
mod import_memory;
mod iolog;
mod layouts;
mod listen;
mod live;
mod live_page;
mod mistakes;
mod odd_machines;
mod outputs;
mod page;
mod pages;
mod plans;
mod plot;
mod postgres;
mod prepare;
mod record;
mod replay;
mod rounds;
mod rules;
mod run;
mod s3;
mod screens;
mod security;
mod shells;
mod stack;
mod stream;
mod suggestions;
mod sweep;
mod traces;
mod unprivileged;
mod verifying;

/// Files not listed above would not be run.
#[test]
fn every_file_is_a_module() {
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(module) = name.strip_suffix(".rs").filter(|module| *module != "main") else {
            continue;
        };
        assert!(include_str!("main.rs").contains(&format!("\nmod {module};\n")), "{name}");
    }
}
