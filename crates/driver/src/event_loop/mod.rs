//! The event loop as far as it is the same over epoll and over io_uring: accepting, connecting,
//! what is to be sent, closing, what the handler is told in which order, and what follows when it panics.
//!
//! [`turn`] is the loop; [`effects`] is what the handler sees of it. What differs is a
//! [`Multiplexer`]; [`epoll`](crate::epoll) and [`uring`](crate::uring) have one each.

mod accept;
mod close;
mod connect;
mod effects;
mod multiplexer;
mod notice;
mod receive;
mod send;
mod tell;
mod turn;

pub(crate) use effects::Effects;
pub(crate) use multiplexer::Multiplexer;
pub(crate) use tell::{About, tell};
pub(crate) use turn::Loop;
