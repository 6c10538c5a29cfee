//! Rules that are broken on purpose: some seed must notice, and call it by its name.

#[cfg(test)]
mod tests {
    use sim::{Options, Rule, Sabotage, Scenario, run};

    const SEEDS: u64 = 6_000;

    /// Runs until a seed fails by breaking one of `expected`. What is sabotaged may show in other
    /// ways as well.
    fn assert_noticed(sabotage: Sabotage, expected: &[Rule]) {
        assert_noticed_in(None, sabotage, expected);
    }

    /// The same in worlds of a scenario.
    fn assert_noticed_in(scenario: Option<Scenario>, sabotage: Sabotage, expected: &[Rule]) {
        let options = Options {
            scenario,
            sabotage: Some(sabotage),
            ..Options::default()
        };
        let failures = (1..=SEEDS).filter_map(|seed| run(seed, &options).err());
        let mut rules = failures.map(|failure| failure.broken.rule);
        assert!(
            rules.any(|rule| expected.contains(&rule)),
            "no seed noticed"
        );
    }

    #[test]
    fn a_schema_that_is_not_restored() {
        assert_noticed(Sabotage::LoseSchema, &[Rule::State, Rule::Answer]);
    }

    #[test]
    fn variables_that_are_not_restored() {
        assert_noticed(Sabotage::LoseVariables, &[Rule::State]);
    }

    #[test]
    fn a_backend_that_is_not_cleaned() {
        assert_noticed(Sabotage::LoseReset, &[Rule::State]);
    }

    #[test]
    fn a_transaction_that_is_left_behind() {
        assert_noticed(
            Sabotage::HideTransactions,
            &[Rule::Moved, Rule::State, Rule::Answer],
        );
    }

    #[test]
    fn a_write_that_runs_twice() {
        assert_noticed(Sabotage::RepeatWrites, &[Rule::Once]);
    }

    #[test]
    fn an_insert_id_that_is_not_restored() {
        assert_noticed(Sabotage::LoseInsertId, &[Rule::Answer]);
    }

    #[test]
    fn user_variables_that_are_not_read_back() {
        assert_noticed(Sabotage::LoseUserVariables, &[Rule::State, Rule::Answer]);
    }

    #[test]
    fn variables_that_are_not_told_and_not_asked_for() {
        assert_noticed(Sabotage::LoseUntold, &[Rule::State]);
    }

    #[test]
    fn a_late_kill_that_no_ping_takes() {
        assert_noticed(Sabotage::PingMissesKill, &[Rule::Reason]);
    }

    #[test]
    fn a_row_count_of_somebody_else() {
        assert_noticed(Sabotage::StrangersCounts, &[Rule::Answer]);
    }

    #[test]
    fn rows_that_were_counted_and_are_not_asked_for() {
        assert_noticed(Sabotage::LoseFoundRows, &[Rule::Answer]);
    }

    #[test]
    fn warnings_of_somebody_else() {
        assert_noticed(Sabotage::KeepWarnings, &[Rule::Answer]);
    }

    #[test]
    fn a_global_variable_that_others_do_not_hear_of() {
        assert_noticed(Sabotage::LoseGlobalNews, &[Rule::State]);
    }

    #[test]
    fn a_statement_that_is_prepared_in_another_schema() {
        assert_noticed(Sabotage::LoseBinding, &[Rule::State, Rule::Answer]);
    }

    #[test]
    fn a_prepared_statement_that_is_taken_for_another() {
        assert_noticed(Sabotage::SwapStatements, &[Rule::State, Rule::Answer]);
    }

    #[test]
    fn a_text_of_somebody_else() {
        assert_noticed_in(Some(Scenario::Texts), Sabotage::LeaveTexts, &[Rule::State]);
    }

    #[test]
    fn a_half_of_a_file() {
        assert_noticed(Sabotage::HalfFile, &[Rule::Abandoned]);
    }

    #[test]
    fn a_lane_whose_answers_come_in_another_order() {
        let expected = [Rule::Answer, Rule::Protocol, Rule::Moved, Rule::State];
        assert_noticed_in(Some(Scenario::Readers), Sabotage::ReorderLanes, &expected);
    }

    #[test]
    fn a_late_kill_that_hits_the_next_in_a_lane() {
        assert_noticed_in(
            Some(Scenario::Readers),
            Sabotage::PingMissesKill,
            &[Rule::Reason],
        );
    }

    #[test]
    fn a_view_that_is_read_in_a_lane() {
        assert_noticed_in(Some(Scenario::Readers), Sabotage::HideViews, &[Rule::Once]);
    }

    #[test]
    fn warnings_of_a_read_that_is_repeated() {
        assert_noticed_in(
            Some(Scenario::Readers),
            Sabotage::LoseRepeated,
            &[Rule::Answer],
        );
    }

    #[test]
    fn a_limit_that_is_one_too_high() {
        assert_noticed_in(
            Some(Scenario::Quotas),
            Sabotage::RaiseLimits,
            &[Rule::Quota],
        );
    }

    #[test]
    fn a_queue_that_is_served_from_its_end() {
        assert_noticed_in(
            Some(Scenario::Quotas),
            Sabotage::NewestFirst,
            &[Rule::Quota],
        );
    }

    #[test]
    fn a_wake_up_that_is_lost() {
        assert_noticed_in(
            Some(Scenario::Quotas),
            Sabotage::LoseWakeUps,
            &[Rule::Liveness],
        );
    }

    #[test]
    fn limits_that_are_lowered_to_no_effect() {
        assert_noticed_in(
            Some(Scenario::ChangingQuotas),
            Sabotage::KeepLimits,
            &[Rule::Quota],
        );
    }

    #[test]
    fn limits_that_workers_do_not_hear_of() {
        assert_noticed_in(
            Some(Scenario::ChangingQuotas),
            Sabotage::LoseRules,
            &[Rule::Liveness],
        );
    }

    #[test]
    fn an_answer_that_goes_to_somebody_else() {
        assert_noticed(Sabotage::SwapAnswers, &[Rule::Answer, Rule::Protocol]);
    }
}
