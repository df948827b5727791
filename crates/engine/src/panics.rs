//! What happens on a panic: in the simulator only one run ends, elsewhere the whole process.
//!
//! The release is compiled without unwinding, which makes the processing of packets some per cent
//! faster. As a consequence, a thread cannot continue after a panic: the panic hook reports the
//! panic, and the thread waits in the hook until the process ends.

use std::cell::RefCell;
use std::panic;
use std::process;

/// A function that the panic hook calls on the thread that panics. The argument is a text with the
/// place and the message of the panic: "panicked at src/x.rs:1:2: why".
type LastWords = Box<dyn FnOnce(String)>;

thread_local! {
    static LAST_WORDS: RefCell<Option<LastWords>> = const { RefCell::new(None) };
}

/// Makes a panic of any thread print the usual message and end the process, because an agent or a
/// switch must not go on with a thread missing.
pub(crate) fn end_the_process() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        usual(info);
        process::abort();
    }));
}

/// Installs a panic hook. On a thread that has registered [`last_words`] the hook calls that function and
/// prints nothing; on any other thread it prints the usual message.
pub(crate) fn rest_where_there_are_last_words() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let Some(last_words) = LAST_WORDS.take() else { return usual(info) };
        last_words(info.to_string().replace('\n', " "));
        // With unwinding, as in the fast build, the thread ends by itself. Without, it is parked
        // inside the hook. The hook cannot be replaced while it runs, so no thread may wait for a
        // parked one.
        #[cfg(panic = "abort")]
        loop {
            std::thread::park();
        }
    }));
}

/// Registers the function that the panic hook calls if this thread panics. It replaces a function
/// that was registered earlier.
pub(crate) fn last_words(say: impl FnOnce(String) + 'static) {
    LAST_WORDS.set(Some(Box::new(say)));
}
