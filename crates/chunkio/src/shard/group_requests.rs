//! [`group_requests`]: groups the chunks of a shard into requests.
//!
//! Near chunks share a request up to a limit. A large chunk with memory of its own is read alone, directly
//! into it.

use nczarr_storage::batch::CoalescedRanges;

/// The largest gap between two chunks, in bytes, that one request reads; for local and for remote storage.
const GAP: u64 = 4 << 10;
const REMOTE_GAP: u64 = 512 << 10;

/// The maximum size of a request, unless one chunk is larger. Locally, the bytes fit the processor's cache.
/// Remotely, repeating a failed request stays cheap.
const SPAN: u64 = 1 << 20;
const LEAST_SPAN: u64 = 64 << 10;
const REMOTE_SPAN: u64 = 16 << 20;

/// The limits of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestReach {
    remote: bool,
    span: u64,
}

/// The wanted bytes of one chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct WantedBytes {
    /// The caller's number of the chunk.
    pub(super) item: usize,
    pub(super) from: u64,
    pub(super) to: u64,
    /// Whether the ticket has memory for it.
    pub(super) has_place: bool,
}

/// The content of one request.
#[derive(Debug)]
pub(super) enum RequestGroup {
    /// One chunk, into its memory.
    Alone(WantedBytes),
    /// Chunks sorted by offset, and the joined ranges.
    Near(Vec<usize>, CoalescedRanges),
}

impl RequestReach {
    /// Creates the limits for a read of `sum` bytes by this number of threads.
    pub(super) fn new(remote: bool, sum: u64, threads: usize) -> Self {
        let span =
            if remote { REMOTE_SPAN } else { (sum / (2 * threads.max(1) as u64)).clamp(LEAST_SPAN, SPAN) };
        Self { remote, span }
    }

    fn stretches(self) -> CoalescedRanges {
        CoalescedRanges::new(if self.remote { REMOTE_GAP } else { GAP })
    }

    /// Whether a separate request costs less than a copy of the bytes.
    fn is_alone(self, wanted: &WantedBytes) -> bool {
        !self.remote && wanted.has_place && wanted.to - wanted.from >= LEAST_SPAN
    }
}

/// Calls `request` for each request of one shard, by offset. `wanted` is sorted afterwards.
pub(super) fn group_requests(
    wanted: &mut [WantedBytes],
    reach: RequestReach,
    mut request: impl FnMut(RequestGroup),
) {
    wanted.sort_unstable_by_key(|wanted| (wanted.from, wanted.to));
    let (mut items, mut stretches) = (Vec::new(), reach.stretches());
    for wanted in wanted.iter() {
        if reach.is_alone(wanted) {
            request(RequestGroup::Alone(*wanted));
            continue;
        }
        let WantedBytes { item, from, to, .. } = *wanted;
        let full = stretches.bytes_with(from, to) > reach.span || (reach.remote && !stretches.is_near(from));
        if full && !items.is_empty() {
            let stretches = std::mem::replace(&mut stretches, reach.stretches());
            request(RequestGroup::Near(std::mem::take(&mut items), stretches));
        }
        items.push(item);
        stretches.add(from, to);
    }
    if !items.is_empty() {
        request(RequestGroup::Near(items, stretches));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The chunks of a request and its byte ranges.
    type Requests = (Vec<usize>, Vec<(u64, u64)>);

    fn requests(ranges: &[(u64, u64, bool)], reach: RequestReach) -> Vec<Requests> {
        let wanted = |(item, &(from, to, has_place))| WantedBytes { item, from, to, has_place };
        let mut wanted: Vec<WantedBytes> = ranges.iter().enumerate().map(wanted).collect();
        let mut list = Vec::new();
        group_requests(&mut wanted, reach, |request| {
            list.push(match request {
                RequestGroup::Alone(WantedBytes { item, from, to, .. }) => (vec![item], vec![(from, to)]),
                RequestGroup::Near(items, stretches) => (items, stretches.as_slice().to_vec()),
            });
        });
        list
    }

    #[test]
    fn near_chunks_are_read_together_and_large_ones_into_their_place() {
        const K: u64 = 1 << 10;
        let local = RequestReach::new(false, 0, 1);
        let near =
            [(8 * K, 12 * K, true), (0, 4 * K, false), (13 * K, 20 * K, false), (100 * K, 101 * K, false)];
        assert_eq!(requests(&near, local), [(vec![1, 0, 2, 3], vec![(0, 20 * K), (100 * K, 101 * K)])]);
        let large =
            [(0, 64 * K, true), (64 * K, 65 * K, true), (65 * K, 129 * K, true), (129 * K, 130 * K, false)];
        let alone: Vec<Vec<usize>> = requests(&large, local).into_iter().map(|(items, _)| items).collect();
        assert_eq!(alone, [vec![0], vec![2], vec![1, 3]]);
        // A remote map fetches all near chunks in one request and the far ones in another.
        let remote = RequestReach::new(true, 0, 1);
        assert_eq!(requests(&large, remote), [(vec![0, 1, 2, 3], vec![(0, 130 * K)])]);
        let far = [(0, K, false), (600 * K, 601 * K, false), (700 * K, 701 * K, false)];
        let apart = [(vec![0], vec![(0, K)]), (vec![1, 2], vec![(600 * K, 701 * K)])];
        assert_eq!(requests(&far, remote), apart);
        // These chunks exceed the bytes that one request should bring.
        let many: Vec<(u64, u64, bool)> = (0..8).map(|at| (at * 32 * K, (at + 1) * 32 * K, false)).collect();
        assert_eq!(requests(&many, local).len(), 4);
        assert_eq!(requests(&many, RequestReach::new(false, 1 << 30, 2)).len(), 1);
    }
}
