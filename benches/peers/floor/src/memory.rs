//! Shared memory in huge pages, and measures of the process: peak memory and time.

/// Memory that threads share. Each writes a separate part.
pub struct Shared {
    start: *mut u8,
    len: usize,
}

// SAFETY: it is only an address. The caller of `slice` guarantees separate parts.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// Returns new memory of zeros, in huge pages if the system has them. It is never freed.
    pub fn huge(len: usize) -> Self {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new anonymous mapping does not touch existing memory.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, access, kind, -1, 0) };
        assert_ne!(start, libc::MAP_FAILED, "no memory");
        // SAFETY: the range is the mapping's own; advice changes no content.
        unsafe { libc::madvise(start, len, libc::MADV_HUGEPAGE) };
        Self { start: start.cast(), len }
    }

    /// Makes the system provide the memory of a part now, before its first use.
    pub fn take(&self, at: usize, len: usize) {
        assert!(at <= self.len && len <= self.len - at, "inside");
        // SAFETY: the part is inside the mapping, and its contents stay. If the call fails, the first use
        // provides the memory.
        unsafe { libc::madvise(self.start.add(at).cast(), len, libc::MADV_POPULATE_WRITE) };
    }

    /// Returns a part of it.
    ///
    /// # Safety
    /// Two overlapping slices must not exist at the same time.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn slice(&self, at: usize, len: usize) -> &mut [u8] {
        assert!(at <= self.len && len <= self.len - at, "inside");
        // SAFETY: the part is inside the mapping, which is initialised and never freed. The caller excludes
        // overlaps.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(at), len) }
    }
}

/// Zero bytes that start at a cache line. File reads into such memory are fastest:
/// docs/design/004-fast-paths.md explains the alignment of an allocator's large blocks.
pub struct Scratch {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl Scratch {
    /// Makes `len` bytes.
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

/// Returns the peak memory of the process.
pub fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Returns the time of a system clock, for instance of the CPU time of all threads.
pub fn seconds_of(clock: libc::clockid_t) -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
