//! What a panic of the engine ends: one run in the simulator, the whole process elsewhere.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::process;

thread_local! {
    /// What the last panic said inside [`caught`] on this thread; none: outside of it.
    static SAID: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Ends the process upon a panic of any thread, after the usual message: an agent or a switch of which a
/// thread is missing must not go on as if it were whole.
pub(crate) fn end_the_process() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        usual(info);
        process::abort();
    }));
}

/// Keeps what panics say inside [`caught`] from standard error; it is in the result there.
pub(crate) fn keep_quiet_where_caught() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let kept = SAID.with_borrow_mut(|said| {
            said.as_mut().map(|said| *said = info.to_string().replace('\n', " ")).is_some()
        });
        if !kept {
            usual(info);
        }
    }));
}

/// What `act` gives, or of its panic the place and the message: "panicked at src/x.rs:1:2: why".
pub(crate) fn caught<T>(act: impl FnOnce() -> T) -> Result<T, String> {
    SAID.set(Some(String::new()));
    // What `act` may leave broken is dropped with it.
    let result = panic::catch_unwind(AssertUnwindSafe(act));
    let said = SAID.take().unwrap_or_default();
    result.map_err(|_| said)
}
