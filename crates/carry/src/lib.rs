//! What follows a session from backend to backend, one file per thing: what a session keeps of it, what is on a backend,
//! what answers say of it, and the rules of all that.
//!
//! Pure. It knows packets (`wire`) and what statements do (`session`), and neither clients nor backends: `engine` has the
//! things brought, asked for and learned, in the files of its room `follow` that have the same names.

pub mod conditions;
pub mod diagnostics;
pub mod digests;
pub mod effect;
pub mod ending;
pub mod errors;
pub mod holdings;
pub mod last_gtid;
pub mod leftovers;
pub mod locks;
pub mod outbound;
pub mod packet;
pub mod pin_log;
pub mod prepared;
pub mod retrack;
pub mod rewrite;
pub mod roles;
pub mod routines;
pub mod schemas;
pub mod sequences;
pub mod session_memory;
pub mod stored_objects;
pub mod tables;
pub mod told;
pub mod track_filter;
pub mod track_lists;
pub mod tracking;
pub mod trust;
pub mod untold;
pub mod user_variables;
pub mod victim;
pub mod views;
