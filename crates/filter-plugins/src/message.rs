//! The messages between a program and the host of a plugin, over a socket: the host's standard input.
//!
//! All numbers are little-endian. A request has these parts:
//!
//! | part | type |
//! |---|---|
//! | the operation ([`Operation`]) | `u8` |
//! | the number of parameters, at most [`MOST_PARAMS`] | `u32` |
//! | the parameters | `u32` each |
//! | the length of the data | `u64` |
//! | the data | bytes |
//!
//! A reply has a status (`u8`: 0 is success), the length (`u64`) and the bytes of the result or of a message.
//! The input ends when the program needs the host no longer.

use std::io::{self, Read, Write};

/// The most parameters of a filter. Larger numbers in a request are damage.
pub const MOST_PARAMS: usize = 1 << 20;
/// The longest message of an error.
pub const LONGEST_MESSAGE: usize = 64 << 10;

/// The operations of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Operation {
    /// Returns a JSON object: the number `id`, the texts `name` and `codec` (or null), and the truth values
    /// `encode` and `decode`.
    Describe = 1,
    /// Encodes the data with the parameters.
    Encode = 2,
    /// Decodes the data with the parameters.
    Decode = 3,
    /// Returns the parameters, `u32` each, of the codec description in the data.
    ToParams = 4,
    /// Returns the codec description of the parameters.
    ToJson = 5,
}

impl Operation {
    fn of(byte: u8) -> Option<Self> {
        let all = [Self::Describe, Self::Encode, Self::Decode, Self::ToParams, Self::ToJson];
        all.into_iter().find(|operation| *operation as u8 == byte)
    }
}

/// Writes a request.
///
/// # Errors
/// Those of `to`.
pub fn send(to: &mut impl Write, operation: Operation, params: &[u32], data: &[u8]) -> io::Result<()> {
    let count = u32::try_from(params.len()).ok().filter(|&count| count as usize <= MOST_PARAMS);
    let count = count.ok_or_else(|| io::Error::other(format!("{} parameters of a filter", params.len())))?;
    let mut head = vec![operation as u8];
    head.extend(count.to_le_bytes());
    params.iter().for_each(|param| head.extend(param.to_le_bytes()));
    head.extend((data.len() as u64).to_le_bytes());
    to.write_all(&head)?;
    to.write_all(data)?;
    to.flush()
}

/// A request without its data, which follow.
#[derive(Debug)]
pub struct RequestHead {
    /// The operation.
    pub operation: Operation,
    /// The parameters.
    pub params: Vec<u32>,
    /// The length of the data in bytes.
    pub len: usize,
}

/// Reads a request up to its data. `None`: the input has ended.
///
/// # Errors
/// Those of `from`, and `InvalidData` for anything but a request.
pub fn receive(from: &mut impl Read) -> io::Result<Option<RequestHead>> {
    let mut operation = [0];
    if from.read(&mut operation)? == 0 {
        return Ok(None);
    }
    let damaged = |part: &str| io::Error::new(io::ErrorKind::InvalidData, format!("a request with {part}"));
    let operation = Operation::of(operation[0]).ok_or_else(|| damaged("an unknown operation"))?;
    let count = u32::from_le_bytes(bytes(from)?) as usize;
    if count > MOST_PARAMS {
        return Err(damaged("too many parameters"));
    }
    let params = (0..count).map(|_| bytes(from).map(u32::from_le_bytes)).collect::<io::Result<_>>()?;
    let len = usize::try_from(u64::from_le_bytes(bytes(from)?)).map_err(|_| damaged("too many data"))?;
    Ok(Some(RequestHead { operation, params, len }))
}

/// Writes a reply: the result, or the message of an error.
///
/// # Errors
/// Those of `to`.
pub fn reply(to: &mut impl Write, result: Result<&[u8], &str>) -> io::Result<()> {
    let (status, bytes) = match result {
        Ok(bytes) => (0_u8, bytes),
        Err(message) => (1, &message.as_bytes()[..message.len().min(LONGEST_MESSAGE)]),
    };
    to.write_all(&[status])?;
    to.write_all(&(bytes.len() as u64).to_le_bytes())?;
    to.write_all(bytes)?;
    to.flush()
}

/// Reads the status and the length of a reply: whether it is a result, and the number of bytes that follow.
///
/// # Errors
/// Those of `from`, and `InvalidData` for anything but a reply.
pub fn receive_reply(from: &mut impl Read) -> io::Result<(bool, u64)> {
    let [status] = bytes(from)?;
    if status > 1 {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a reply with the status {status}")));
    }
    Ok((status == 0, u64::from_le_bytes(bytes(from)?)))
}

fn bytes<const N: usize>(from: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_replies_come_back() {
        for operation in [Operation::Describe, Operation::Encode, Operation::ToJson] {
            let mut sent = Vec::new();
            send(&mut sent, operation, &[7, u32::MAX], b"chunk").unwrap();
            let mut rest = sent.as_slice();
            let head = receive(&mut rest).unwrap().unwrap();
            assert_eq!((head.operation, head.params, head.len), (operation, vec![7, u32::MAX], 5));
            assert_eq!(rest, b"chunk");
        }
        let mut sent = Vec::new();
        reply(&mut sent, Err("no memory")).unwrap();
        let mut rest = sent.as_slice();
        assert_eq!(receive_reply(&mut rest).unwrap(), (false, 9));
        assert_eq!(rest, b"no memory");
    }

    #[test]
    fn damage_is_an_error() {
        assert!(receive(&mut [].as_slice()).unwrap().is_none());
        for damaged in [&[9][..], &[1, 0, 0], &[2, 255, 255, 255, 255], &[3, 1, 0, 0, 0, 5]] {
            receive(&mut &*damaged).unwrap_err();
        }
        receive_reply(&mut [2, 0, 0, 0, 0, 0, 0, 0, 0].as_slice()).unwrap_err();
        receive_reply(&mut [0, 1].as_slice()).unwrap_err();
    }
}
