//! The tests of this crate from outside, in one program: a module a file.

mod contention;
mod database_faults;
mod existing_database;
mod faults;
mod operations;
mod support;
