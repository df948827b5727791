//! The engine of netstudy: a plan on standard input, records as JSON lines on standard output,
//! messages for people on standard error.

mod command;
mod host_command;
mod panics;
mod pool;
mod switch_command;
mod version;
mod writer;

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Runs the plan and writes the records of its runs.
#[derive(Parser)]
#[command(name = "netstudy-engine", version = version::VERSION.as_str(), about)]
struct Arguments {
    #[command(subcommand)]
    testbed: Testbed,
}

#[derive(Subcommand)]
enum Testbed {
    /// Simulates hosts, links and a switch in virtual time.
    #[command(
        after_help = "Example:\n  netstudy-engine sim --threads 2 < plan.jsonl > records.jsonl"
    )]
    Sim(command::SimArguments),
    /// Generates the real traffic of one host: reads a plan and commands, writes records.
    #[command(after_help = "The first line on standard input is the plan; each further one is a \
command. When standard input ends, so does the agent.")]
    Agent(host_command::ChildArguments),
    /// Represents a host: starts agents, passes their lines on, and ends them when the controller is
    /// gone.
    #[command(
        after_help = "Standard input and output carry lines of the form NAME<TAB>LINE. When \
standard input ends, or the controller writes nothing for the time of the lease, all that was \
started ends too."
    )]
    Host(host_command::HostArguments),
    /// Kills the host's process if that one stands still.
    #[command(hide = true)]
    Guard(host_command::GuardArguments),
    /// Forwards frames between interfaces with a switch of the simulator, in real time.
    #[command(after_help = "The first line on standard input is the plan; each further one is a \
command. When standard input ends, so does the switch.")]
    Switch,
    /// Polls the ports of a switch by SNMP at an interval.
    #[command(after_help = "The first line on standard input is the plan, with community or \
passwords; each further one is a command. When standard input ends, so does the poller.")]
    Snmp,
    /// Serves an online brokerage over HTTP: the application server of transactional studies.
    #[command(after_help = "The first line on standard input is the plan, with the database's \
password; each further one is a command. When standard input ends, so does the server.")]
    Brokerage,
}

fn main() -> ExitCode {
    let testbed = Arguments::parse().testbed;
    if !matches!(testbed, Testbed::Sim(_)) {
        panics::end_the_process();
    }
    match testbed {
        Testbed::Sim(arguments) => {
            ended(command::simulate(&arguments), command::Failure::exit_code)
        }
        Testbed::Switch => ended(switch_command::switch(), netstudy_switch::Failure::exit_code),
        Testbed::Snmp => {
            let input = io::BufReader::new(io::stdin());
            ended(
                netstudy_snmp::poll(input, io::stdout().lock()),
                netstudy_snmp::Failure::exit_code,
            )
        }
        Testbed::Brokerage => {
            let input = io::BufReader::new(io::stdin());
            ended(
                netstudy_brokerage::run(input, io::stdout().lock()),
                netstudy_brokerage::Failure::exit_code,
            )
        }
        Testbed::Agent(arguments) => host_command::agent(&arguments),
        Testbed::Host(arguments) => host_command::host(&arguments),
        Testbed::Guard(arguments) => host_command::guard(&arguments),
    }
}

/// Turns a failure into a message for people on standard error, and an exit code for the program
/// that started the engine.
fn ended<F: Display>(result: Result<(), F>, exit_code: fn(&F) -> u8) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Not by eprintln!, which panics if the reader has gone away.
            let _ = writeln!(io::stderr(), "netstudy-engine: {failure}");
            ExitCode::from(exit_code(&failure))
        }
    }
}
