//! The application server of the transactional studies: an online brokerage with ten operations, HTML
//! pages and a JSON face, over PostgreSQL or embedded SQLite.
//!
//! A request goes through four layers, each of which knows only those below it:
//!
//! - [`web`]: HTTP connections, sessions and pages;
//! - [`pool`]: connections to the database, which take one job at a time each;
//! - [`operations`]: the reads and writes of each operation, written once for any database;
//! - [`database`]: the statements, on a connection of either kind.
//!
//! [`control`] obeys the process's controller: a plan and commands come in, records go out.

mod answer;
mod application;
mod books;
mod control;
mod counters;
mod database;
mod failure;
mod job;
mod market;
mod operations;
mod pool;
mod population;
mod problem;
mod rows;
mod web;

pub use control::run;
pub use failure::Failure;
