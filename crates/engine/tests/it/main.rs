//! The tests of this crate from outside that keep to times, in one program. The others, `loaded`, take all
//! processors for a while: agents would be late beside them.

mod agent;
mod process;
mod switch;
