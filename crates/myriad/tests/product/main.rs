//! The whole product: `myriad serve` in front of a real MariaDB, asked by real clients and by a raw
//! one that chooses its packets.
//!
//! What a single crate can show is tested there; here is only what needs all of it. Each file is
//! about one subject; `support` holds the database, the front door and the clients.

#[cfg(test)]
mod admin_tls;
#[cfg(test)]
mod administration;
#[cfg(test)]
mod attributes;
#[cfg(test)]
mod binary;
#[cfg(test)]
mod buffers;
#[cfg(test)]
mod called;
#[cfg(test)]
mod carried;
#[cfg(test)]
mod carried_counts;
#[cfg(test)]
mod carried_settings;
#[cfg(test)]
mod challenge;
#[cfg(test)]
mod change_user;
#[cfg(test)]
mod command_line;
#[cfg(test)]
mod compression;
#[cfg(test)]
mod conditions;
#[cfg(test)]
mod crashes;
#[cfg(test)]
mod differential;
#[cfg(test)]
mod doctor;
#[cfg(test)]
mod drivers;
#[cfg(test)]
mod dump;
#[cfg(test)]
mod executions;
#[cfg(test)]
mod expired;
#[cfg(test)]
mod extended;
#[cfg(test)]
mod fairness;
#[cfg(test)]
mod farewells;
#[cfg(test)]
mod from_server;
#[cfg(test)]
mod hang_ups;
#[cfg(test)]
mod health;
#[cfg(test)]
mod idle_transactions;
#[cfg(test)]
mod init_connect;
#[cfg(test)]
mod kills;
#[cfg(test)]
mod kinds;
#[cfg(test)]
mod lanes;
#[cfg(test)]
mod last_gtid;
#[cfg(test)]
mod lifecycle;
#[cfg(test)]
mod load;
#[cfg(test)]
mod locks;
#[cfg(test)]
mod logins;
#[cfg(test)]
mod long;
#[cfg(test)]
mod misbehaviour;
#[cfg(test)]
mod outage;
#[cfg(test)]
mod outsiders;
#[cfg(test)]
mod packets;
#[cfg(test)]
mod pins;
#[cfg(test)]
mod plugins;
#[cfg(test)]
mod queue;
#[cfg(test)]
mod quotas;
#[cfg(test)]
mod relayed;
#[cfg(test)]
mod reload;
#[cfg(test)]
mod requires;
#[cfg(test)]
mod roles;
#[cfg(test)]
mod routines;
#[cfg(test)]
mod sequences;
#[cfg(test)]
mod session_state;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod sharing;
#[cfg(test)]
mod silence;
mod slow_client;
#[cfg(test)]
mod stored_objects;
#[cfg(test)]
mod stuck_settings;
#[cfg(test)]
mod suites;
#[cfg(test)]
mod support;
#[cfg(test)]
mod texts_by_name;
#[cfg(test)]
mod tls;
#[cfg(test)]
mod tls_of_monitor;
#[cfg(test)]
mod tracked;
#[cfg(test)]
mod unasked;
#[cfg(test)]
mod unseen;
#[cfg(test)]
mod unwritable;
#[cfg(test)]
mod uploads;
#[cfg(test)]
mod vanished;
#[cfg(test)]
mod variables;
#[cfg(test)]
mod vouching;
