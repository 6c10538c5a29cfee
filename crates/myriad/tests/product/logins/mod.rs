//! Logins: what every client and driver is told, by plugin, way, source and password; what changes of passwords do
//! to very many sessions; what becomes of logins while others only pretend to log in;
//! and that those who are refused are all refused alike.

mod cells;
mod certificates;
mod crowd;
mod matrix;
mod passwords;
mod pretenders;
mod programs;
mod refusals;
mod server;
