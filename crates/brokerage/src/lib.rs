//! The application server of studies with transactions: an online brokerage with ten operations. It
//! answers with HTML pages or JSON, and stores its data in PostgreSQL or embedded SQLite.
//!
//! A request passes through four layers, each of which uses only the layers below it:
//!
//! - [`web`]: HTTP connections, sessions and pages;
//! - [`pool`]: database connections, each of which runs one job at a time;
//! - [`operations`]: the reads and writes of each operation, the same code for both databases;
//! - [`database`]: the statements, on a connection to either database.
//!
//! [`control`] reads the plan and commands from the controller, and writes records.

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
