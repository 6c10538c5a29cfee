//! Logins that what is known would refuse: the database is asked once, nobody is held up, and who waits is
//! bounded.

#[cfg(test)]
mod logins;
#[cfg(test)]
mod stage;
