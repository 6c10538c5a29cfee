//! What follows a session from backend to backend besides what its state lists, how it is learned, and what
//! cannot follow. Owns no data: each file here owns one kind.

pub(crate) mod effect;
pub(crate) mod globals;
pub(crate) mod holdings;
pub(crate) mod insert_id;
pub(crate) mod last_gtid;
pub(crate) mod leftovers;
pub(crate) mod pin_log;
pub(crate) mod read_back;
pub(crate) mod refused;
pub(crate) mod retrack;
pub(crate) mod roles;
pub(crate) mod routines;
pub(crate) mod schemas;
pub(crate) mod sequences;
pub(crate) mod session_memory;
pub(crate) mod stored_objects;
pub(crate) mod told;
pub(crate) mod track_filter;
pub(crate) mod track_lists;
pub(crate) mod tracking;
pub(crate) mod trust;
pub(crate) mod untold;
pub(crate) mod user_variables;
pub(crate) mod views;
