//! A file that a client sends for LOAD DATA LOCAL: in packets of any size, in its own time, or not to
//! its end.

use wire::write_packet;

use super::profile::Exit;
use super::{Client, Request, Surroundings};
use crate::failure::Broken;

/// What is left of a file.
pub(crate) struct Upload {
    /// The packets, the last first.
    packets: Vec<Vec<u8>>,
    sequence_id: u8,
}

impl Client {
    /// The front door asks for the file of the oldest command.
    pub(super) fn begin_upload(&mut self, around: &mut Surroundings<'_>) -> Result<(), Broken> {
        let Some(Request::Load(rows)) = self.waiting.front().map(|sent| &sent.request) else {
            return Ok(());
        };
        let content: String = rows
            .iter()
            .map(|(key, value)| format!("{key}={value}\n"))
            .collect();
        let size = self.rng.usize(1..20);
        let mut packets = vec![Vec::new()];
        packets.extend(content.as_bytes().chunks(size).rev().map(<[u8]>::to_vec));
        self.upload = Some(Upload {
            packets,
            sequence_id: 2,
        });
        if self.hangs_up_next {
            // Some of it is under way by then.
            return self.send_some(around);
        }
        self.go_on_uploading(around)
    }

    /// Sends what comes next, and plans the rest.
    pub(super) fn go_on_uploading(&mut self, around: &mut Surroundings<'_>) -> Result<(), Broken> {
        // Those who would say goodbye do not.
        if self.profile.exit != Exit::Quit && self.rng.u8(0..12) == 0 {
            return self.hang_up(around);
        }
        self.send_some(around)?;
        if self.upload.is_some() {
            let us = self.rng.u64(0..=self.profile.think_us);
            self.plan(around, us);
        }
        Ok(())
    }

    fn send_some(&mut self, around: &mut Surroundings<'_>) -> Result<(), Broken> {
        let Some(mut upload) = self.upload.take() else {
            return Ok(());
        };
        let mut out = Vec::new();
        for _ in 0..self.rng.usize(1..5) {
            let Some(packet) = upload.packets.pop() else {
                break;
            };
            upload.sequence_id = write_packet(&mut out, upload.sequence_id, &packet);
        }
        self.send_bytes(around, &out);
        if !upload.packets.is_empty() {
            self.upload = Some(upload);
        } else if let Some(reader) = &mut self.reader {
            reader.file_sent(upload.sequence_id.wrapping_sub(1));
        }
        Ok(())
    }
}
