//! Accepting connections of those who look after a front door: what both listeners have in common.

use std::io;
use std::time::Duration;

use rustix::io::Errno;
use tokio::net::{TcpListener, TcpStream};

/// How long nothing is accepted after the process ran out of descriptors or the like.
const BACK_OFF: Duration = Duration::from_millis(100);

/// Hands each connection of a listener to `admit`. Ends only if the listener fails for good.
pub(crate) async fn receive(listener: &TcpListener, mut admit: impl FnMut(TcpStream)) -> io::Error {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => admit(stream),
            Err(error) if is_final(&error) => return error,
            Err(error) => {
                tracing::warn!(%error, "connection of an administrator could not be accepted");
                tokio::time::sleep(BACK_OFF).await;
            }
        }
    }
}

/// Whether trying again cannot help: the listener is no listening socket.
fn is_final(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::BADF | Errno::INVAL | Errno::NOTSOCK)
    )
}
