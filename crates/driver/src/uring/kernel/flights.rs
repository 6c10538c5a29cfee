//! Outboxes that the kernel is reading from. They stay here until it says that it is done.

use events::Handle;

use crate::outbox::Outbox;

/// The sends in flight of one ring, by number.
#[derive(Default)]
pub(super) struct Flights {
    flights: Vec<Option<Flight>>,
    free: Vec<u32>,
}

/// One send in flight.
pub(super) struct Flight {
    pub(super) handle: Handle,
    pub(super) outbox: Box<Outbox>,
}

impl Flights {
    /// The number of a flight that begins.
    pub(super) fn begin(&mut self, flight: Flight) -> u32 {
        if let Some(number) = self.free.pop() {
            self.flights[number as usize] = Some(flight);
            return number;
        }
        self.flights.push(Some(flight));
        self.flights.len() as u32 - 1
    }

    /// A flight that lasts.
    pub(super) fn get(&self, number: u32) -> Option<&Flight> {
        self.flights.get(number as usize)?.as_ref()
    }

    /// The same, for its bookkeeping; the bytes must be left alone.
    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut Flight> {
        self.flights.get_mut(number as usize)?.as_mut()
    }

    /// The flight has ended.
    pub(super) fn end(&mut self, number: u32) -> Option<Flight> {
        let flight = self.flights.get_mut(number as usize)?.take()?;
        self.free.push(number);
        Some(flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flight(handle: u64) -> Flight {
        Flight {
            handle: Handle(handle),
            outbox: Box::default(),
        }
    }

    #[test]
    fn numbers_are_used_again_and_name_one_flight_at_a_time() {
        let mut flights = Flights::default();
        assert_eq!(
            (flights.begin(flight(10)), flights.begin(flight(11))),
            (0, 1)
        );
        assert_eq!(flights.end(0).map(|flight| flight.handle), Some(Handle(10)));
        assert!(flights.end(0).is_none() && flights.get(0).is_none());
        assert_eq!(flights.begin(flight(12)), 0);
        assert_eq!(flights.get(0).map(|flight| flight.handle), Some(Handle(12)));
        assert!(flights.get(9).is_none());
    }
}
