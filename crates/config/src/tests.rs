//! Tests of the whole crate, from text to settings or messages.

mod bad;
mod documents;
mod good;
mod passwords;
