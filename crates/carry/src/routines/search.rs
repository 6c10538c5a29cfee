//! From the routines that a statement calls to all that those call in turn, through what is known of them: what they do
//! together, or the one that is not known. Owns how far they are followed.

use std::hash::{DefaultHasher, Hash, Hasher};

use events::Timestamp;
use pool::KeyId;
use session::statement::{Body, Called, Mention};

use crate::routines::{Routine, Routines};

/// Routines that call each other are followed so deep.
const DEPTH_MAX: usize = 8;

/// So many routines are followed for one statement.
const FOLLOWED_MAX: u32 = 64;

/// A routine that nobody has asked about, or not lately.
pub struct Unasked<'a> {
    /// What it is found by.
    pub hash: u64,
    /// As it is called.
    pub called: Called<'a>,
    /// The schema that it is in.
    pub schema: &'a [u8],
}

/// Why it is not known what a statement leaves behind.
pub enum Hidden<'a> {
    /// Nobody has asked yet.
    Unasked(Unasked<'a>),
    /// It cannot be known.
    Unknown,
}

/// What a statement calls, followed through what is known.
pub struct Search<'a> {
    routines: &'a Routines,
    /// Who calls, and when.
    key: KeyId,
    now: Timestamp,
    left: u32,
    /// Those that are being followed.
    path: [u64; DEPTH_MAX],
    /// The user variables that the bodies mention are wanted.
    variables: Option<&'a mut Vec<Mention>>,
}

impl<'a> Search<'a> {
    /// Of a statement of this key's, now. Names of variables are added to `variables`.
    pub const fn new(
        (routines, key, now): (&'a Routines, KeyId, Timestamp),
        variables: Option<&'a mut Vec<Mention>>,
    ) -> Self {
        Self {
            routines,
            key,
            now,
            left: FOLLOWED_MAX,
            path: [0; DEPTH_MAX],
            variables,
        }
    }

    /// What all of these do together. `schema` is where they are called.
    pub fn follow(
        &mut self,
        calls: impl Iterator<Item = Called<'a>>,
        schema: Option<&'a [u8]>,
    ) -> Result<Body, Hidden<'a>> {
        self.follow_at(0, calls, schema)
    }

    fn follow_at(
        &mut self,
        depth: usize,
        calls: impl Iterator<Item = Called<'a>>,
        schema: Option<&'a [u8]>,
    ) -> Result<Body, Hidden<'a>> {
        let mut does = Body::default();
        for called in calls {
            let schema = called.schema.or(schema).filter(|schema| is_plain(schema));
            let schema = schema.ok_or(Hidden::Unknown)?;
            self.left = self.left.checked_sub(1).ok_or(Hidden::Unknown)?;
            let hash = self.hash(&called, schema);
            if self.path[..depth].contains(&hash) {
                // It calls itself, and does nothing else by that.
                continue;
            }
            *self.path.get_mut(depth).ok_or(Hidden::Unknown)? = hash;
            let known = self.routines.get(hash, self.now);
            let known = known.ok_or(Hidden::Unasked(Unasked {
                hash,
                called,
                schema,
            }))?;
            let looked = known.looked.as_ref().ok_or(Hidden::Unknown)?;
            if let Some(variables) = &mut self.variables {
                variables.extend(looked.variables.iter().map(|name| Mention {
                    name: name.clone(),
                    reads: true,
                    assigns: true,
                }));
            }
            let inner = looked.calls.iter().map(Routine::called);
            let inner = self.follow_at(depth + 1, inner, Some(schema))?;
            let mut body = looked.body;
            body.calls(&inner, false);
            does.calls(&body, called.is_function);
        }
        Ok(does)
    }

    fn hash(&self, called: &Called<'_>, schema: &[u8]) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.key, schema, called.name, called.is_function).hash(&mut hasher);
        hasher.finish()
    }
}

fn is_plain(name: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_$".contains(byte);
    name.iter().all(plain)
}
