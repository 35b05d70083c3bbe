//! [`run`] starts a child, watches its file system calls and makes one of them fail.
//!
//! The child waits until `ptrace` has seized it, so it needs no special build, and the system calls are real.
//! Only calls on files below one folder count.
//!
//! Source: ptrace(2); the numbers and arguments of calls on x86-64.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::errno::Errno;
use nix::libc::{self, c_long, user_regs_struct};
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// The fault that an operation receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The operation proceeds normally.
    None,
    /// The child is killed before it.
    Kill,
    /// Half of the bytes are written, then the child is killed. Operations that write nothing behave as with
    /// `Kill`.
    Tear,
    /// Half of the bytes are written, and the call reports this number.
    Short,
    /// The call fails once with this error number.
    Fail(i32),
    /// From this operation on, every call that needs space fails with `ENOSPC`.
    Full,
}

impl Fault {
    /// Whether only operations that change stored data count. Between two such operations a killed process
    /// leaves the same state.
    fn of_changes(self) -> bool {
        matches!(self, Self::Kill | Self::Tear | Self::Short | Self::Full)
    }
}

/// A system call.
#[derive(Debug, Clone)]
pub struct Operation {
    pub call: &'static str,
    /// The path relative to the folder.
    pub path: String,
    pub changes: bool,
}

/// The result of a run.
#[derive(Debug)]
pub struct Ended {
    /// All operations of the child, in order.
    pub operations: Vec<Operation>,
    /// The operation that received the fault; `None` if the child ended first.
    pub hit: Option<Operation>,
    /// Lines of its standard output.
    pub lines: Vec<String>,
    /// Its error output.
    pub complaints: String,
    /// Whether the child exited with success.
    pub good: bool,
}

/// The way in which the arguments of a call name files.
#[derive(Clone, Copy)]
enum Names {
    /// The argument with this index is a descriptor.
    Fd(usize),
    /// The argument is a path.
    Path(usize),
    /// The argument is a directory descriptor, and the next argument is a path below it.
    At(usize),
    /// Two paths.
    Two(usize, usize),
    /// Two pairs of directory descriptor and path.
    TwoAt(usize, usize),
}

use Names::{At, Fd, Path as PathAt, Two, TwoAt};

/// Calls that change stored data.
const CHANGES: &[(c_long, &str, Names)] = &[
    (libc::SYS_write, "write", Fd(0)),
    (libc::SYS_pwrite64, "pwrite", Fd(0)),
    (libc::SYS_writev, "writev", Fd(0)),
    (libc::SYS_pwritev, "pwritev", Fd(0)),
    (libc::SYS_pwritev2, "pwritev2", Fd(0)),
    (libc::SYS_copy_file_range, "copy_file_range", Fd(2)),
    (libc::SYS_sendfile, "sendfile", Fd(0)),
    (libc::SYS_splice, "splice", Fd(2)),
    (libc::SYS_ftruncate, "ftruncate", Fd(0)),
    (libc::SYS_truncate, "truncate", PathAt(0)),
    (libc::SYS_fallocate, "fallocate", Fd(0)),
    (libc::SYS_fsync, "fsync", Fd(0)),
    (libc::SYS_fdatasync, "fdatasync", Fd(0)),
    (libc::SYS_sync_file_range, "sync_file_range", Fd(0)),
    (libc::SYS_creat, "creat", PathAt(0)),
    (libc::SYS_mkdir, "mkdir", PathAt(0)),
    (libc::SYS_mkdirat, "mkdirat", At(0)),
    (libc::SYS_mknod, "mknod", PathAt(0)),
    (libc::SYS_mknodat, "mknodat", At(0)),
    (libc::SYS_rmdir, "rmdir", PathAt(0)),
    (libc::SYS_unlink, "unlink", PathAt(0)),
    (libc::SYS_unlinkat, "unlinkat", At(0)),
    (libc::SYS_rename, "rename", Two(0, 1)),
    (libc::SYS_renameat, "renameat", TwoAt(0, 2)),
    (libc::SYS_renameat2, "renameat2", TwoAt(0, 2)),
    (libc::SYS_link, "link", Two(0, 1)),
    (libc::SYS_linkat, "linkat", TwoAt(0, 2)),
    (libc::SYS_symlink, "symlink", PathAt(1)),
    (libc::SYS_symlinkat, "symlinkat", At(1)),
    (libc::SYS_chmod, "chmod", PathAt(0)),
    (libc::SYS_fchmod, "fchmod", Fd(0)),
    (libc::SYS_fchmodat, "fchmodat", At(0)),
    (libc::SYS_chown, "chown", PathAt(0)),
    (libc::SYS_fchown, "fchown", Fd(0)),
    (libc::SYS_fchownat, "fchownat", At(0)),
    (libc::SYS_utimensat, "utimensat", At(0)),
    (libc::SYS_setxattr, "setxattr", PathAt(0)),
    (libc::SYS_fsetxattr, "fsetxattr", Fd(0)),
];

/// Calls that only query, and calls that open files. Opening changes data only if it creates a file.
const QUESTIONS: &[(c_long, &str, Names)] = &[
    (libc::SYS_open, "open", PathAt(0)),
    (libc::SYS_openat, "openat", At(0)),
    (libc::SYS_openat2, "openat2", At(0)),
    (libc::SYS_read, "read", Fd(0)),
    (libc::SYS_pread64, "pread", Fd(0)),
    (libc::SYS_readv, "readv", Fd(0)),
    (libc::SYS_preadv, "preadv", Fd(0)),
    (libc::SYS_preadv2, "preadv2", Fd(0)),
    (libc::SYS_mmap, "mmap", Fd(4)),
    (libc::SYS_lseek, "lseek", Fd(0)),
    (libc::SYS_flock, "flock", Fd(0)),
    (libc::SYS_fcntl, "lock", Fd(0)),
    (libc::SYS_getdents64, "getdents", Fd(0)),
    (libc::SYS_stat, "stat", PathAt(0)),
    (libc::SYS_lstat, "lstat", PathAt(0)),
    (libc::SYS_fstat, "fstat", Fd(0)),
    (libc::SYS_newfstatat, "fstatat", At(0)),
    (libc::SYS_statx, "statx", At(0)),
    (libc::SYS_statfs, "statfs", PathAt(0)),
    (libc::SYS_fstatfs, "fstatfs", Fd(0)),
    (libc::SYS_access, "access", PathAt(0)),
    (libc::SYS_faccessat, "faccessat", At(0)),
    (libc::SYS_faccessat2, "faccessat2", At(0)),
    (libc::SYS_readlink, "readlink", PathAt(0)),
    (libc::SYS_readlinkat, "readlinkat", At(0)),
];

/// Calls that need disk space.
const GROWING: &[&str] = &[
    "write",
    "pwrite",
    "writev",
    "pwritev",
    "pwritev2",
    "copy_file_range",
    "fallocate",
    "mkdir",
    "mkdirat",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "open",
    "openat",
    "openat2",
    "creat",
    "symlink",
    "symlinkat",
];

/// The action when a call returns.
enum Then {
    Nothing,
    Kill,
    Answer(i32),
}

/// Starts `command`, waits for its line `@ready`, and sends it a line so that it continues. Injects `fault`
/// at operation `at` (from 0) below the folder.
pub fn run(command: &mut Command, folder: &Path, fault: Fault, at: usize) -> Ended {
    let mut child = command
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a child");
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    while !line.ends_with("@ready\n") {
        line.clear();
        assert!(out.read_line(&mut line).expect("a pipe") > 0, "the child ended before it was ready");
    }
    let tracer = Tracer { leader: Pid::from_raw(child.id() as i32), folder: folder.to_owned(), fault, at };
    seize(tracer.leader);
    child.stdin.take().expect("a pipe").write_all(b"go\n").expect("a child that listens");
    let (operations, hit, good) = tracer.watch(&mut child);
    let lines = out.lines().map_while(Result::ok).collect();
    let mut complaints = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut complaints).expect("text");
    Ended { operations, hit, lines, complaints, good }
}

/// Watches all present and future threads of a process.
fn seize(leader: Pid) {
    let options = Options::PTRACE_O_TRACESYSGOOD | Options::PTRACE_O_TRACECLONE | Options::PTRACE_O_EXITKILL;
    for task in fs::read_dir(format!("/proc/{leader}/task")).expect("a process that waits") {
        let name = task.expect("a thread").file_name();
        let thread = Pid::from_raw(name.to_str().and_then(|name| name.parse().ok()).expect("a number"));
        ptrace::seize(thread, options).expect("a child may be watched by its parent");
        ptrace::interrupt(thread).expect("it is watched");
    }
}

struct Tracer {
    leader: Pid,
    folder: PathBuf,
    fault: Fault,
    at: usize,
}

impl Tracer {
    fn watch(&self, child: &mut Child) -> (Vec<Operation>, Option<Operation>, bool) {
        let (mut operations, mut hit) = (Vec::new(), None);
        // The pending action of each thread that is inside a call.
        let mut inside: HashMap<Pid, Then> = HashMap::new();
        // The child's threads are in its process group. The tracer ignores other children of this process.
        let group = Pid::from_raw(-self.leader.as_raw());
        loop {
            match waitpid(group, Some(WaitPidFlag::__WALL)) {
                Ok(WaitStatus::PtraceSyscall(thread)) => {
                    let Ok(mut regs) = ptrace::getregs(thread) else { continue };
                    match inside.remove(&thread) {
                        None => {
                            let then = self.entered(thread, &mut regs, &mut operations, &mut hit, child);
                            inside.insert(thread, then);
                        }
                        Some(Then::Nothing) => {}
                        Some(Then::Kill) => child.kill().expect("SIGKILL"),
                        Some(Then::Answer(errno)) => {
                            regs.rax = (-i64::from(errno)).cast_unsigned();
                            ptrace::setregs(thread, regs).expect("it stands still");
                        }
                    }
                    go_on(thread, None);
                }
                Ok(WaitStatus::PtraceEvent(thread, ..)) => go_on(thread, None),
                Ok(WaitStatus::Stopped(thread, signal)) => go_on(thread, Some(signal)),
                Ok(WaitStatus::Exited(thread, code)) if thread == self.leader => {
                    return (operations, hit, code == 0);
                }
                Ok(WaitStatus::Signaled(thread, ..)) if thread == self.leader => {
                    return (operations, hit, false);
                }
                Ok(_) | Err(Errno::EINTR) => {}
                Err(errno) => panic!("waiting for {}: {errno}", self.leader),
            }
        }
    }

    fn entered(
        &self,
        thread: Pid,
        regs: &mut user_regs_struct,
        operations: &mut Vec<Operation>,
        hit: &mut Option<Operation>,
        child: &mut Child,
    ) -> Then {
        let Some(operation) = self.operation(thread, regs) else { return Then::Nothing };
        let count = operations.iter().filter(|past| past.changes || !self.fault.of_changes()).count();
        let counts = operation.changes || !self.fault.of_changes();
        operations.push(operation.clone());
        let grows = GROWING.contains(&operation.call) && operation.changes;
        let mut meets = counts && count == self.at;
        if self.fault == Fault::Full {
            meets = grows && count >= self.at;
        }
        if !meets || self.fault == Fault::None {
            return Then::Nothing;
        }
        if hit.is_none() {
            *hit = Some(operation.clone());
        }
        let writes = matches!(operation.call, "write" | "pwrite") && regs.rdx > 1;
        match self.fault {
            Fault::Kill => child.kill().expect("SIGKILL"),
            Fault::Tear if !writes => child.kill().expect("SIGKILL"),
            Fault::Tear | Fault::Short if writes => {
                regs.rdx /= 2;
                ptrace::setregs(thread, *regs).expect("it stands still");
                if self.fault == Fault::Tear {
                    return Then::Kill;
                }
            }
            Fault::Fail(errno) => return refuse(thread, regs, errno),
            Fault::Full => return refuse(thread, regs, libc::ENOSPC),
            Fault::None | Fault::Tear | Fault::Short => {}
        }
        Then::Nothing
    }

    /// Returns the operation of a call if it concerns the folder.
    fn operation(&self, thread: Pid, regs: &user_regs_struct) -> Option<Operation> {
        let number = regs.orig_rax.cast_signed();
        let arguments = [regs.rdi, regs.rsi, regs.rdx, regs.r10, regs.r8, regs.r9];
        let named =
            |table: &[(c_long, &'static str, Names)]| table.iter().find(|call| call.0 == number).copied();
        let (changes, (_, call, names)) = match named(CHANGES) {
            Some(found) => (true, found),
            None => (false, named(QUESTIONS)?),
        };
        let locks = [libc::F_OFD_SETLK, libc::F_OFD_SETLKW, libc::F_SETLK, libc::F_SETLKW];
        if call == "lock" && !locks.iter().any(|&lock| lock as u64 == regs.rsi) {
            return None;
        }
        let making = (libc::O_CREAT | libc::O_TRUNC) as u64;
        let makes =
            |flags: u64| flags & making != 0 || flags & libc::O_TMPFILE as u64 == libc::O_TMPFILE as u64;
        let changes = changes
            || match call {
                "open" => makes(regs.rsi),
                "openat" => makes(regs.rdx),
                "openat2" => makes(
                    memory(thread, regs.rdx, 8).first_chunk().map_or(0, |flags| u64::from_le_bytes(*flags)),
                ),
                _ => false,
            };
        let found = match names {
            Fd(fd) => vec![of_fd(thread, arguments[fd])?],
            PathAt(path) => vec![of_path(thread, libc::AT_FDCWD as u64, arguments[path])?],
            At(dir) => vec![of_path(thread, arguments[dir], arguments[dir + 1])?],
            Two(old, new) => [old, new]
                .iter()
                .filter_map(|&path| of_path(thread, libc::AT_FDCWD as u64, arguments[path]))
                .collect(),
            TwoAt(old, new) => [old, new]
                .iter()
                .filter_map(|&dir| of_path(thread, arguments[dir], arguments[dir + 1]))
                .collect(),
        };
        let inside = found.iter().rev().find_map(|path| path.strip_prefix(&self.folder).ok())?;
        Some(Operation { call, path: inside.display().to_string(), changes })
    }
}

/// Resumes a thread until its next call or its end.
fn go_on(thread: Pid, signal: Option<Signal>) {
    match ptrace::syscall(thread, signal) {
        // The thread was killed in the meantime.
        Ok(()) | Err(Errno::ESRCH) => {}
        Err(errno) => panic!("thread {thread}: {errno}"),
    }
}

/// Replaces a call by an invalid one, so that it does nothing and returns an error.
fn refuse(thread: Pid, regs: &mut user_regs_struct, errno: i32) -> Then {
    regs.orig_rax = u64::MAX;
    ptrace::setregs(thread, *regs).expect("it stands still");
    Then::Answer(errno)
}

fn of_fd(thread: Pid, fd: u64) -> Option<PathBuf> {
    let fd = fd as i32;
    let link =
        if fd == libc::AT_FDCWD { format!("/proc/{thread}/cwd") } else { format!("/proc/{thread}/fd/{fd}") };
    fs::read_link(link).ok()
}

fn of_path(thread: Pid, dir: u64, path: u64) -> Option<PathBuf> {
    let text = memory(thread, path, libc::PATH_MAX as usize);
    let text = String::from_utf8_lossy(text.split(|&byte| byte == 0).next()?).into_owned();
    if text.starts_with('/') {
        return Some(text.into());
    }
    let dir = of_fd(thread, dir)?;
    Some(if text.is_empty() || text == "." { dir } else { dir.join(text) })
}

/// Reads up to `most` bytes of a thread's memory. Returns fewer if fewer are readable.
fn memory(thread: Pid, at: u64, most: usize) -> Vec<u8> {
    let mut bytes = vec![0; most];
    let read =
        fs::File::open(format!("/proc/{thread}/mem")).and_then(|memory| memory.read_at(&mut bytes, at));
    bytes.truncate(read.unwrap_or(0));
    bytes
}
