//! The tests of this crate from outside, in one program: a module a file.

mod examples;
