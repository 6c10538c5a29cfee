//! Logins: what every client and driver is told, by plugin, way, source and password; what changes of passwords do
//! to very many sessions; and what becomes of logins while others only pretend to log in.

mod cells;
mod certificates;
mod crowd;
mod matrix;
mod passwords;
mod pretenders;
mod programs;
mod server;
