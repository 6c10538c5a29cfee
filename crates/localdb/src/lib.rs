//! localdb
