//! What to do about an error that was met, in one sentence. What errors mean stands in the doctor's
//! table; here is only what is no error with a number.

use crate::tally::ErrorNumber;

/// The fix for an error that is met often.
pub(crate) fn explain(number: ErrorNumber) -> Option<&'static str> {
    match number {
        ErrorNumber::Err(number) => doctor::explain_server(number).map(|entry| entry.brief),
        ErrorNumber::Os(errno) => doctor::explain_os(errno).map(|entry| entry.brief),
        ErrorNumber::ClosedAtLogin => Some(
            "the target closed connections before their login was complete: it is being stopped, \
             or has a limit of connections that are logging in; lower --connect-concurrency",
        ),
    }
}

/// What it means that connections were lost after their login.
pub(crate) const LOST: &str = "the target closed connections that were logged in: it was stopped or killed, ran out of \
     memory, or wait_timeout was over; look into its log";

/// What it means that a unix socket's queue was full.
pub(crate) fn full() -> Option<String> {
    explain(ErrorNumber::Os(EAGAIN)).map(str::to_owned)
}

/// What a unix socket says whose queue is full.
const EAGAIN: i32 = 11;
