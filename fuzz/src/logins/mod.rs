//! The connection phase of a client as the engine sees it, with TLS in front of it: whatever a client says, in whatever
//! order things happen, nobody is let in who has not proved to be an account.
//!
//! An input is a list of steps. What the client says is the input's, except where a step has it say what is right,
//! which no input can: nonces and secrets are a sum over the whole input, so that no answer fits another input.

mod accounts;
mod checker;
mod stage;

use crate::input::Input;
use stage::Stage;

/// Each step costs time; longer lists find nothing that shorter ones do not.
const STEPS: usize = 48;

/// The first byte says how the front door is set up, each step begins with one that says what happens.
pub fn check(data: &[u8]) {
    let mut input = Input::new(data);
    let mut stage = Stage::new(input.byte(), sum(data));
    for _ in 0..STEPS {
        if input.is_empty() {
            break;
        }
        step(&mut stage, &mut input);
    }
    stage.end();
}

fn step(stage: &mut Stage, input: &mut Input<'_>) {
    match input.byte() % 12 {
        0 | 1 => {
            let len = usize::from(input.byte());
            stage.says(input.bytes(len));
        }
        2 | 3 => {
            let len = usize::from(input.byte());
            stage.says_in_packet(input.bytes(len));
        }
        4 => stage.proves(input.byte()),
        5 => stage.changes_user(input.byte()),
        6 => stage.begins_tls(),
        7 => stage.claims(input.byte(), input.byte()),
        8 => stage.database_answers(input.byte()),
        9 => stage.accounts_change(input.byte()),
        10 => stage.time_passes(input.byte()),
        _ => stage.password_is_wrong(),
    }
}

/// A sum over the input, of no use to whoever made it (FNV-1a, drawn out).
fn sum(data: &[u8]) -> [u8; 32] {
    let fold = |sum: u64, &byte: &u8| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let mut sum = data.iter().fold(0xcbf2_9ce4_8422_2325, fold);
    std::array::from_fn(|_| {
        sum = fold(sum, &0xa5);
        (sum >> 32) as u8
    })
}
