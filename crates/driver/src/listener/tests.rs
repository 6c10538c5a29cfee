//! Binding, with real sockets and files.

use std::net::TcpStream;
use std::os::unix::net::{UnixListener, UnixStream};

use super::*;

fn tcp(address: &str) -> Address {
    Address::Tcp(address.parse().unwrap())
}

fn tcp_of(address: &Address) -> SocketAddr {
    match address {
        Address::Tcp(address) => *address,
        Address::Unix(path) => panic!("not a TCP address: {}", path.display()),
    }
}

fn bind(address: &Address) -> Result<Listeners, BindError> {
    Listeners::bind(std::slice::from_ref(address), 16)
}

#[test]
fn port_zero_is_read_back_for_each_family() {
    let listeners = Listeners::bind(&[tcp("127.0.0.1:0"), tcp("[::1]:0")], 16).unwrap();
    for address in listeners.local_addresses() {
        assert_ne!(tcp_of(&address).port(), 0);
        TcpStream::connect(tcp_of(&address)).unwrap();
    }
}

#[test]
fn both_families_share_a_port() {
    let v6 = bind(&tcp("[::]:0")).unwrap();
    let port = tcp_of(&v6.local_addresses()[0]).port();
    bind(&tcp(&format!("0.0.0.0:{port}"))).unwrap();
}

#[test]
fn a_taken_port_is_said_to_be_in_use() {
    let first = bind(&tcp("127.0.0.1:0")).unwrap();
    let error = bind(&first.local_addresses()[0]).err().unwrap();
    assert!(matches!(error, BindError::InUse { .. }), "{error}");
}

#[test]
fn a_foreign_address_is_a_system_error() {
    let error = bind(&tcp("192.0.2.1:0")).err().unwrap();
    assert!(matches!(error, BindError::System { .. }), "{error}");
}

#[test]
fn a_socket_file_is_open_to_all_and_removed_at_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let listeners = bind(&Address::Unix(path.clone())).unwrap();
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o777
    );
    let clone = listeners.clone();
    drop(listeners);
    UnixStream::connect(&path).unwrap();
    drop(clone);
    assert!(!path.exists());
}

#[test]
fn a_stale_socket_file_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let _listeners = bind(&Address::Unix(path.clone())).unwrap();
    UnixStream::connect(&path).unwrap();
}

#[test]
fn a_live_socket_file_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let _live = UnixListener::bind(&path).unwrap();
    let error = bind(&Address::Unix(path.clone())).err().unwrap();
    assert!(matches!(error, BindError::InUse { .. }), "{error}");
    UnixStream::connect(&path).unwrap();
}

#[test]
fn a_file_that_is_no_socket_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("precious");
    fs::write(&path, "data").unwrap();
    let error = bind(&Address::Unix(path.clone())).err().unwrap();
    assert!(matches!(error, BindError::NotSocket { .. }), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"data");
}

#[test]
fn a_successors_socket_file_survives() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let first = bind(&Address::Unix(path.clone())).unwrap();
    fs::rename(&path, directory.path().join("moved")).unwrap();
    let _second = bind(&Address::Unix(path.clone())).unwrap();
    drop(first);
    UnixStream::connect(&path).unwrap();
}

#[test]
fn one_bad_address_undoes_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let good = directory.path().join("socket");
    let bad = directory.path().join("missing/socket");
    let bound = Listeners::bind(&[Address::Unix(good.clone()), Address::Unix(bad)], 16);
    assert!(bound.is_err() && !good.exists());
}
