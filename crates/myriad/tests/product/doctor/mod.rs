//! `myriad doctor`: what it says, and that what it predicts is what `myriad load` then runs into.
//!
//! Predictions are tried on limits that are made for the test: of a child, of a network namespace, of
//! a control group. No setting of the machine is changed. Where the machine does not let a test make
//! its limit, the test says why and passes.

mod command;
mod database;
mod group;
mod limits;
mod namespace;
mod ports;

use std::process::Command;

use serde_json::Value;

use crate::support::{Output, run};

/// The product with a subcommand.
fn myriad(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_myriad"));
    command.args(arguments);
    command
}

/// The same, behind the words of a wrapper such as `nsenter …`.
fn wrapped(wrapper: &[&str], arguments: &[&str]) -> Command {
    let mut command = Command::new(wrapper[0]);
    command
        .args(&wrapper[1..])
        .arg(env!("CARGO_BIN_EXE_myriad"))
        .args(arguments);
    command
}

/// What the doctor reports as JSON.
fn report(command: &mut Command) -> Value {
    let output = run(command.arg("--json"), "");
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// The check that the doctor expects to be hit first, and at how many connections.
fn first_limit(report: &Value) -> (String, u64) {
    let first = &report["first_limit"];
    let check = first["check"].as_str().unwrap().to_owned();
    (check, first["connections"].as_u64().unwrap())
}

/// The number behind some words of a message.
fn number_after(output: &Output, words: &str) -> u64 {
    let text = &output.stderr;
    let (_, rest) = text
        .split_once(words)
        .unwrap_or_else(|| panic!("no {words:?} in {output:?}"));
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

fn assert_agree(predicted: u64, met: u64, tolerance: u64) {
    println!("predicted: {predicted}, met: {met}");
    assert!(
        predicted.abs_diff(met) <= tolerance,
        "predicted: {predicted}, met: {met}"
    );
}
