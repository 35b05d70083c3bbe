//! Memory in huge pages that threads share, and what the process used.

/// Memory whose parts threads write, each its own.
pub struct Shared {
    start: *mut u8,
    len: usize,
}

// SAFETY: it is but an address; whoever takes a slice answers for it.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// Fresh memory, zero, in huge pages if the system has them. It is never given back.
    pub fn huge(len: usize) -> Self {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new anonymous mapping touches nothing that is there.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, access, kind, -1, 0) };
        assert_ne!(start, libc::MAP_FAILED, "no memory");
        // SAFETY: the range is the mapping's own; advice changes no content.
        unsafe { libc::madvise(start, len, libc::MADV_HUGEPAGE) };
        Self { start: start.cast(), len }
    }

    /// Has the system give the memory of a part now rather than when it is used.
    pub fn take(&self, at: usize, len: usize) {
        assert!(at <= self.len && len <= self.len - at, "inside");
        // SAFETY: inside the mapping; contents stay. Where the system cannot do it, memory comes with its
        // use.
        unsafe { libc::madvise(self.start.add(at).cast(), len, libc::MADV_POPULATE_WRITE) };
    }

    /// A part of it.
    ///
    /// # Safety
    /// No two slices that overlap live at a time.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn slice(&self, at: usize, len: usize) -> &mut [u8] {
        assert!(at <= self.len && len <= self.len - at, "inside");
        // SAFETY: inside the mapping, which lives for ever and is initialised; the caller excludes overlaps.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(at), len) }
    }
}

/// Zero bytes that begin with a line of the cache, as files are best read to: see how an allocator's large
/// pieces begin in docs/design/004-fast-paths.md.
pub struct Scratch {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl Scratch {
    /// So many bytes.
    pub fn new(len: usize) -> Self {
        const LINE: usize = 64;
        let memory = vec![0; len + LINE];
        let start = memory.as_ptr().align_offset(LINE);
        assert!(start <= LINE, "bytes can be aligned");
        Self { memory, start, len }
    }
}

impl std::ops::Deref for Scratch {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.start..][..self.len]
    }
}

impl std::ops::DerefMut for Scratch {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..][..self.len]
    }
}

/// The most memory the process ever held.
pub fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// What a clock of the system says, as that of the processor time of all threads.
pub fn seconds_of(clock: libc::clockid_t) -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
