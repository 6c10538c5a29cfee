//! What the tests are made of: a database, a front door before it, and clients of either.

mod answer;
mod certificates;
mod churn;
mod client;
mod database;
mod documents;
mod far_peer;
mod front_door;
mod gateway;
mod numbers;
mod packed;
mod programs;
mod secure;
mod server;
mod shell;
mod stream;
mod tls;
mod wait;

pub(crate) use answer::{Answer, Outcome, Packet, Part, Shape};
pub(crate) use certificates::{Pair, authority, authority_and_client};
pub(crate) use churn::{Stop, amid_churn};
pub(crate) use client::{Client, Login, USUAL};
pub(crate) use database::{Address, Database, folder, own_database};
pub(crate) use documents::differences;
pub(crate) use far_peer::FarPeer;
pub(crate) use front_door::FrontDoor;
pub(crate) use gateway::Gateway;
pub(crate) use numbers::{Numbers, number};
pub(crate) use packed::{PackedClient, packed};
pub(crate) use programs::{Output, finish, installed, program, run};
pub(crate) use secure::{Secure, database_with};
pub(crate) use server::{Server, Tool, cached, server_file};
pub(crate) use shell::Shell;
pub(crate) use wait::{LIMIT, eventually, in_time};
