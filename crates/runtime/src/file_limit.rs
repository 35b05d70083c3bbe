//! [`open_file_limit`]: the number of files that this process may open. (Linux; `unsafe`.)

use std::mem::MaybeUninit;

/// Returns the number of files that this process may have open; `None` without a limit, or if the system
/// does not tell.
pub fn open_file_limit() -> Option<u64> {
    let mut limit = MaybeUninit::<libc::rlimit>::uninit();
    // SAFETY: the call fills the memory of one limit, and answers 0 only then.
    let limit = unsafe {
        match libc::getrlimit(libc::RLIMIT_NOFILE, limit.as_mut_ptr()) {
            0 => limit.assume_init(),
            _ => return None,
        }
    };
    (limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_limit_that_the_system_shows() {
        let text = std::fs::read_to_string("/proc/self/limits").unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
        let shown = line.split_whitespace().next().unwrap();
        assert_eq!(open_file_limit().map_or("unlimited".to_owned(), |limit| limit.to_string()), shown);
    }
}
