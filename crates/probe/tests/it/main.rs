//! The tests of this crate from outside, in one program: a module a file.

mod growth;
mod isolated;
mod kernel;
mod namespace;
mod parse;
mod reference;
