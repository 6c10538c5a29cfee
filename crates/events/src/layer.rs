//! What a layer between a driver and a handler need not write: it tells each event on.

/// The methods of a [`Handler`](crate::Handler) in front of another one, by name: those that a layer has nothing of its own
/// to do for. Each is told on through `self.tell((io, now), |handler, effects| …)`, which says what becomes of
/// the handler's effects; `self.handler()` is asked what there is to ask.
#[macro_export]
macro_rules! tell_on {
    ($($event:ident),+ $(,)?) => {
        $($crate::tell_on_one!($event);)+
    };
}

/// One of them.
#[doc(hidden)]
#[macro_export]
macro_rules! tell_on_one {
    (accepted) => {
        fn accepted<I: $crate::Io<Self::Mail>>(
            &mut self,
            io: &mut I,
            handle: $crate::Handle,
            peer: $crate::Peer,
            nonce: [u8; 32],
            now: $crate::Timestamp,
        ) -> $crate::Tag {
            self.tell((io, now), |handler, effects| {
                handler.accepted(effects, handle, peer, nonce, now)
            })
        }
    };
    (connected) => {
        fn connected<I: $crate::Io<Self::Mail>>(
            &mut self,
            io: &mut I,
            tag: $crate::Tag,
            now: $crate::Timestamp,
        ) {
            self.tell((io, now), |handler, effects| {
                handler.connected(effects, tag, now);
            });
        }
    };
    (connect_failed) => {
        fn connect_failed<I: $crate::Io<Self::Mail>>(
            &mut self,
            io: &mut I,
            tag: $crate::Tag,
            error: $crate::ConnectError,
            now: $crate::Timestamp,
        ) {
            self.tell((io, now), |handler, effects| {
                handler.connect_failed(effects, tag, error, now);
            });
        }
    };
    (tls_established) => {
        fn tls_established<I: $crate::Io<Self::Mail>>(
            &mut self,
            io: &mut I,
            tag: $crate::Tag,
            facts: $crate::TlsFacts,
            now: $crate::Timestamp,
        ) {
            self.tell((io, now), |handler, effects| {
                handler.tls_established(effects, tag, facts, now);
            });
        }
    };
    (drained) => {
        fn drained<I: $crate::Io<Self::Mail>>(
            &mut self,
            io: &mut I,
            tag: $crate::Tag,
            now: $crate::Timestamp,
        ) {
            self.tell((io, now), |handler, effects| {
                handler.drained(effects, tag, now);
            });
        }
    };
    (hung_up) => {
        fn hung_up<I: $crate::Io<Self::Mail>>(
            &mut self,
            io: &mut I,
            tag: $crate::Tag,
            how: $crate::HangUp,
            now: $crate::Timestamp,
        ) {
            self.tell((io, now), |handler, effects| {
                handler.hung_up(effects, tag, how, now);
            });
        }
    };
    (mail) => {
        fn mail<I: $crate::Io<Self::Mail>>(
            &mut self,
            io: &mut I,
            mail: Self::Mail,
            now: $crate::Timestamp,
        ) {
            self.tell((io, now), |handler, effects| {
                handler.mail(effects, mail, now);
            });
        }
    };
    (timer) => {
        fn timer<I: $crate::Io<Self::Mail>>(&mut self, io: &mut I, now: $crate::Timestamp) {
            self.tell((io, now), |handler, effects| handler.timer(effects, now));
        }
    };
    (next_timer) => {
        fn next_timer(&self) -> Option<$crate::Timestamp> {
            self.handler().next_timer()
        }
    };
    (turn_ended) => {
        fn turn_ended<I: $crate::Io<Self::Mail>>(&mut self, io: &mut I, now: $crate::Timestamp) {
            self.tell((io, now), |handler, effects| {
                handler.turn_ended(effects, now);
            });
        }
    };
    (finished) => {
        fn finished(&self) -> bool {
            self.handler().finished()
        }
    };
}
