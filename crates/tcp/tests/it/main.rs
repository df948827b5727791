//! The tests of this crate from outside, in one program: a module a file.
#![expect(
    clippy::duplicate_mod,
    reason = "conversations are held under several TCPs, each with a template of its own"
)]

mod bbr;
mod conversations;
mod conversations_linux;
mod conversations_linux6;
mod fuzz_connection;
mod lab;
mod square_root_law;
mod twins;
