//! Worlds with something particular in them.

#[cfg(test)]
mod tests {
    use sim::{Options, Scenario, run};

    #[test]
    fn idle_transactions_stop_nobody_for_longer_than_their_timeout() {
        let options = Options {
            scenario: Some(Scenario::IdleTransactions),
            ..Options::default()
        };
        for seed in 1..40 {
            let stats = run(seed, &options).unwrap_or_else(|failure| panic!("{failure}"));
            assert_eq!(stats.refused, 0, "seed {seed}: {stats:?}");
            assert!(stats.answers > 80, "seed {seed}: {stats:?}");
        }
    }
}
