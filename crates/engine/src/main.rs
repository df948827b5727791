//! The engine of netstudy: a plan on standard input, records as JSON lines on standard output,
//! messages for people on standard error.

mod command;
mod pool;
mod writer;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Carries out the runs of a plan and writes what they gave as records.
#[derive(Parser)]
#[command(name = "netstudy-engine", version, about)]
struct Arguments {
    #[command(subcommand)]
    testbed: Testbed,
}

#[derive(Subcommand)]
enum Testbed {
    /// Simulates hosts, links and a switch in virtual time.
    #[command(
        after_help = "Example:\n  netstudy-engine sim --threads 2 < plan.json > records.jsonl"
    )]
    Sim(command::SimArguments),
}

fn main() -> ExitCode {
    let Testbed::Sim(arguments) = Arguments::parse().testbed;
    match command::simulate(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("netstudy-engine: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}
