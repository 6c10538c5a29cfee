//! Standard output and error of a command that somebody waits for, such as `myriad doctor`. What a front door has to
//! say while it serves goes through an [`Outlet`](crate::Outlet) instead.

use std::fmt;
use std::io::{self, Write};

use thiserror::Error;

use crate::descriptor::Descriptor;

/// Why a command could not say something on standard output.
#[derive(Debug, Error)]
pub enum Unsaid {
    /// The reader has gone, as `head` does: the command ends, and nothing is wrong.
    #[error("the reader of standard output has gone")]
    ReaderGone,
    /// The disk is full, for example.
    #[error("cannot write to standard output: {0}")]
    Failed(io::Error),
}

/// Writes to standard output.
///
/// # Errors
///
/// Not all of it could be written.
pub fn say(text: fmt::Arguments<'_>) -> Result<(), Unsaid> {
    let written = Descriptor(io::stdout()).write_all(text.to_string().as_bytes());
    written.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Unsaid::ReaderGone,
        _ => Unsaid::Failed(error),
    })
}

/// Writes to standard error. That this fails can be told nowhere.
pub fn complain(text: fmt::Arguments<'_>) {
    let _nobody_hears = Descriptor(io::stderr()).write_all(text.to_string().as_bytes());
}
