//! The tests of this crate from outside that depend on timing, in one program. The others, `loaded`, occupy all
//! CPUs for a while, which would make agents late.

mod agent;
mod host;
#[path = "../../../probe/tests/it/isolated.rs"]
mod isolated;
mod process;
mod switch;
