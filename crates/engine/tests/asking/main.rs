//! Logins that what is known would refuse: the database is asked once, nobody is held up, and who waits is
//! bounded. And those who do not belong: who fails is made to wait or turned away, and load balancers are believed.

#[cfg(test)]
mod account_statements;
#[cfg(test)]
mod alike;
#[cfg(test)]
mod beginnings;
#[cfg(test)]
mod buffering;
#[cfg(test)]
mod expired;
#[cfg(test)]
mod logins;
#[cfg(test)]
mod long_commands;
#[cfg(test)]
mod nobody;
#[cfg(test)]
mod outsiders;
#[cfg(test)]
mod panics;
#[cfg(test)]
mod relays;
#[cfg(test)]
mod session_memory;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod steady;
#[cfg(test)]
mod told;
#[cfg(test)]
mod unasked;
