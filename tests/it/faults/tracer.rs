//! Runs a program and makes one of its calls that change files fail, write less, or be its last.
//!
//! A filter of system calls (seccomp) stops the program at these calls only, and this process, which traces it
//! (ptrace), checks whether the call concerns a file below the folder of the test. Only the program's own process
//! counts; its children, such as engines, are ignored.

use crate::common::prelude::*;
use libc::{c_int, c_long, c_void, pid_t, user_regs_struct};
use std::ffi::OsString;
use std::fs::File;
use std::io::{Error, Result};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Component;
use std::process::Command;

/// Seconds after which a program counts as hung.
const PATIENCE: u32 = 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The call fails once.
    Fail,
    /// The call fails, and so does everything that needs space from then on: the disk is full.
    Full,
    /// The call writes half of its data, which is allowed.
    Short,
    /// The call writes half of its data, and the process ends.
    Torn,
    /// The process ends before the call.
    End,
}

impl Fault {
    pub const ALL: [Self; 5] = [Self::Fail, Self::Full, Self::Short, Self::Torn, Self::End];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Full => "full",
            Self::Short => "short",
            Self::Torn => "torn",
            Self::End => "end",
        }
    }

    /// Returns true if the fault ends the process.
    pub fn kills(self) -> bool {
        matches!(self, Self::Torn | Self::End)
    }

    /// Returns true if the fault can affect a call; such calls are counted.
    pub fn befalls(self, call: &Call) -> bool {
        match self {
            Self::Fail | Self::End => true,
            Self::Full => call.kind.needs_room(),
            Self::Short | Self::Torn => call.halvable,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Write,
    Sync,
    Name,
    Folder,
    Remove,
    Allocate,
    Rights,
}

impl Kind {
    fn needs_room(self) -> bool {
        matches!(self, Self::Write | Self::Name | Self::Folder | Self::Allocate)
    }

    fn errno(self) -> c_int {
        match self {
            Self::Write | Self::Name | Self::Folder | Self::Allocate => libc::ENOSPC,
            Self::Sync | Self::Remove => libc::EIO,
            Self::Rights => libc::EPERM,
        }
    }
}

/// A call that changes files.
#[derive(Clone, Debug)]
pub struct Call {
    pub kind: Kind,
    pub name: &'static str,
    /// Path below the folder.
    pub path: PathBuf,
    /// True if half of it can be done.
    pub halvable: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Code(i32),
    Signal(i32),
}

pub struct Ran {
    pub end: End,
    pub err: String,
    /// Calls that counted.
    pub calls: Vec<Call>,
    pub hit: Option<Call>,
}

/// The calls that are examined: number, name, kind, and arguments that name files.
const CALLS: [(c_long, &str, Kind, Place); 34] = [
    (libc::SYS_write, "write", Kind::Write, Place::Fd(0)),
    (libc::SYS_pwrite64, "pwrite", Kind::Write, Place::Fd(0)),
    (libc::SYS_writev, "writev", Kind::Write, Place::Fd(0)),
    (libc::SYS_pwritev, "pwritev", Kind::Write, Place::Fd(0)),
    (libc::SYS_pwritev2, "pwritev2", Kind::Write, Place::Fd(0)),
    (libc::SYS_copy_file_range, "copy_file_range", Kind::Write, Place::Fd(2)),
    (libc::SYS_sendfile, "sendfile", Kind::Write, Place::Fd(0)),
    (libc::SYS_splice, "splice", Kind::Write, Place::Fd(2)),
    (libc::SYS_fsync, "fsync", Kind::Sync, Place::Fd(0)),
    (libc::SYS_fdatasync, "fdatasync", Kind::Sync, Place::Fd(0)),
    (libc::SYS_sync_file_range, "sync_file_range", Kind::Sync, Place::Fd(0)),
    (libc::SYS_ftruncate, "ftruncate", Kind::Allocate, Place::Fd(0)),
    (libc::SYS_fallocate, "fallocate", Kind::Allocate, Place::Fd(0)),
    (libc::SYS_truncate, "truncate", Kind::Allocate, Place::Path(0)),
    (libc::SYS_fchmod, "fchmod", Kind::Rights, Place::Fd(0)),
    (libc::SYS_fchown, "fchown", Kind::Rights, Place::Fd(0)),
    (libc::SYS_chmod, "chmod", Kind::Rights, Place::Path(0)),
    (libc::SYS_fchmodat, "fchmodat", Kind::Rights, Place::At(0, 1)),
    (libc::SYS_rename, "rename", Kind::Name, Place::Path(1)),
    (libc::SYS_renameat, "renameat", Kind::Name, Place::At(2, 3)),
    (libc::SYS_renameat2, "renameat2", Kind::Name, Place::At(2, 3)),
    (libc::SYS_link, "link", Kind::Name, Place::Path(1)),
    (libc::SYS_linkat, "linkat", Kind::Name, Place::At(2, 3)),
    (libc::SYS_symlink, "symlink", Kind::Name, Place::Path(1)),
    (libc::SYS_symlinkat, "symlinkat", Kind::Name, Place::At(1, 2)),
    (libc::SYS_unlink, "unlink", Kind::Remove, Place::Path(0)),
    (libc::SYS_unlinkat, "unlinkat", Kind::Remove, Place::At(0, 1)),
    (libc::SYS_rmdir, "rmdir", Kind::Remove, Place::Path(0)),
    (libc::SYS_mkdir, "mkdir", Kind::Folder, Place::Path(0)),
    (libc::SYS_mkdirat, "mkdirat", Kind::Folder, Place::At(0, 1)),
    (libc::SYS_creat, "creat", Kind::Name, Place::Path(0)),
    (libc::SYS_open, "open", Kind::Name, Place::Opened(None, 0, 1)),
    (libc::SYS_openat, "openat", Kind::Name, Place::Opened(Some(0), 1, 2)),
    (libc::SYS_openat2, "openat2", Kind::Name, Place::Opened(Some(0), 1, 2)),
];

/// Arguments of a call that name its file.
#[derive(Clone, Copy, Debug)]
enum Place {
    Fd(usize),
    Path(usize),
    /// A folder, and a path from there.
    At(usize, usize),
    /// The same, with flags that may create or truncate the file; otherwise the call is not counted.
    Opened(Option<usize>, usize, usize),
}

/// Checks that processes can be traced here.
pub fn is_possible() -> std::result::Result<(), String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let ran = run(Path::new("/bin/true"), &[], folder.path(), None);
    ran.map(drop).map_err(|e| format!("processes cannot be traced: {e}"))
}

/// Runs a program in a folder, with a fault at the `n`-th call (from 1) that it can affect.
///
/// # Errors
/// If processes cannot be traced.
pub fn run(program: &Path, args: &[&str], folder: &Path, fault: Option<(Fault, usize)>) -> Result<Ran> {
    let folder = folder.canonicalize()?;
    let (out, err) = (tempfile::tempfile()?, tempfile::tempfile()?);
    let filter = filter();
    let mut command = Command::new(program);
    command.args(args).current_dir(&folder).stdin(Stdio::null());
    command.stdout(out).stderr(err.try_clone()?);
    for (name, value) in environment(&folder) {
        command.env(name, value);
    }
    // SAFETY: between fork and exec, only system calls are made, on memory allocated before.
    unsafe {
        command.pre_exec(move || {
            libc::alarm(PATIENCE);
            check(libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0))?;
            check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).into())?;
            let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
            let program = std::ptr::from_ref(&program);
            check(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, program, 0, 0).into())
        });
    }
    // The tracer below waits for it.
    let leader = command.spawn()?.id() as pid_t;
    let tracer = Tracer { leader, folder, fault, calls: Vec::new(), befallen: 0, hit: None };
    let (end, calls, hit) = tracer.follow()?;
    let mut bytes = vec![0; err.metadata()?.len() as usize];
    err.read_exact_at(&mut bytes, 0)?;
    Ok(Ran { end, err: String::from_utf8_lossy(&bytes).into_owned(), calls, hit })
}

/// Returns variables that keep all files of a program in the folder.
pub fn environment(folder: &Path) -> [(&'static str, PathBuf); 3] {
    [
        ("XDG_STATE_HOME", folder.join("state")),
        ("XDG_CACHE_HOME", folder.join("state")),
        ("TMPDIR", folder.join("tmp")),
    ]
}

fn check(result: c_long) -> Result<()> {
    if result == -1 { Err(Error::last_os_error()) } else { Ok(()) }
}

/// Returns a filter that stops a program at the calls of [`CALLS`].
fn filter() -> Vec<libc::sock_filter> {
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let give = |value| statement(libc::BPF_RET | libc::BPF_K, value);
    // The number of the call is the first word of the data.
    let mut filter = vec![statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0)];
    for (i, (number, ..)) in CALLS.iter().enumerate() {
        filter.push(libc::sock_filter {
            code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
            jt: (CALLS.len() - i) as u8,
            jf: 0,
            k: *number as u32,
        });
    }
    filter.push(give(libc::SECCOMP_RET_ALLOW));
    filter.push(give(libc::SECCOMP_RET_TRACE));
    filter
}

struct Tracer {
    leader: pid_t,
    folder: PathBuf,
    fault: Option<(Fault, usize)>,
    calls: Vec<Call>,
    /// Number of calls that the fault could have affected.
    befallen: usize,
    hit: Option<Call>,
}

impl Tracer {
    /// Follows the program and all its children until the last one has ended.
    fn follow(mut self) -> Result<(End, Vec<Call>, Option<Call>)> {
        let mut end = None;
        // True once a thread was seen; a new one starts with a stop of its own.
        let mut known: BTreeMap<pid_t, ()> = BTreeMap::new();
        loop {
            let mut status = 0;
            // SAFETY: `status` is valid for writing. Only children and tracees of this thread are waited for, so that
            // tests do not take each other's processes.
            let thread = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
            if thread == -1 {
                let error = Error::last_os_error();
                match error.raw_os_error() {
                    Some(libc::EINTR) => continue,
                    Some(libc::ECHILD) => break,
                    _ => return Err(error),
                }
            }
            if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
                known.remove(&thread);
                if thread == self.leader {
                    end = Some(match libc::WIFEXITED(status) {
                        true => End::Code(libc::WEXITSTATUS(status)),
                        false => End::Signal(libc::WTERMSIG(status)),
                    });
                }
                continue;
            }
            let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
            if known.insert(thread, ()).is_none() {
                if thread == self.leader {
                    // It has just started.
                    let options = libc::PTRACE_O_TRACESECCOMP
                        | libc::PTRACE_O_TRACECLONE
                        | libc::PTRACE_O_TRACEFORK
                        | libc::PTRACE_O_TRACEVFORK
                        | libc::PTRACE_O_TRACEEXEC
                        | libc::PTRACE_O_TRACESYSGOOD
                        | libc::PTRACE_O_EXITKILL;
                    request(libc::PTRACE_SETOPTIONS, thread, options as usize)?;
                    go_on(thread, false, 0)?;
                    continue;
                }
                if signal == libc::SIGSTOP {
                    go_on(thread, false, 0)?;
                    continue;
                }
            }
            match (signal, event) {
                (libc::SIGTRAP, libc::PTRACE_EVENT_SECCOMP) => {
                    let to_its_end = self.at_call(thread)?;
                    go_on(thread, to_its_end, 0)?;
                }
                // The end of a call that was halved, and is the last.
                (signal, _) if signal == libc::SIGTRAP | 0x80 => {
                    self.kill()?;
                    go_on(thread, false, 0)?;
                }
                (libc::SIGTRAP, event) if event != 0 => go_on(thread, false, 0)?,
                (signal, _) => go_on(thread, false, signal)?,
            }
        }
        let end = end.ok_or_else(|| Error::other("the program was never seen to end"))?;
        if end == End::Signal(libc::SIGALRM) {
            return Err(Error::other("the program hangs"));
        }
        Ok((end, self.calls, self.hit))
    }

    fn kill(&self) -> Result<()> {
        // SAFETY: sends a signal to a child process that has not yet been waited for.
        check(unsafe { libc::kill(self.leader, libc::SIGKILL) }.into())
    }

    /// Handles a thread that is about to make a call; returns true to stop it at the end of the call.
    fn at_call(&mut self, thread: pid_t) -> Result<bool> {
        if !self.is_own(thread) {
            return Ok(false);
        }
        // SAFETY: all zeros are valid registers.
        let mut registers: user_regs_struct = unsafe { std::mem::zeroed() };
        request(libc::PTRACE_GETREGS, thread, (&raw mut registers).expose_provenance())?;
        let Some(call) = self.call_of(thread, &registers) else { return Ok(false) };
        self.calls.push(call.clone());
        let Some((fault, n)) = self.fault.filter(|(fault, _)| fault.befalls(&call)) else { return Ok(false) };
        self.befallen += 1;
        let is_hit = self.befallen == n || fault == Fault::Full && self.befallen > n;
        if !is_hit {
            return Ok(false);
        }
        let kind = call.kind;
        self.hit.get_or_insert(call);
        match fault {
            Fault::Fail | Fault::Full => {
                registers.orig_rax = u64::MAX;
                registers.rax = i64::from(-kind.errno()).cast_unsigned();
            }
            Fault::Short | Fault::Torn => halve(&mut registers),
            Fault::End => {
                self.kill()?;
                return Ok(false);
            }
        }
        request(libc::PTRACE_SETREGS, thread, (&raw mut registers).expose_provenance())?;
        Ok(fault == Fault::Torn)
    }

    /// Returns true if a thread belongs to the program itself, not to one of its children.
    fn is_own(&self, thread: pid_t) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
        let group = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
        group.is_some_and(|group| group.trim() == self.leader.to_string())
    }

    /// Returns the call, if it changes something below the folder.
    fn call_of(&self, thread: pid_t, registers: &user_regs_struct) -> Option<Call> {
        let number = registers.orig_rax as c_long;
        let (_, name, kind, place) = *CALLS.iter().find(|(known, ..)| *known == number)?;
        let argument = arguments(registers);
        let open = |fd: u64| std::fs::read_link(format!("/proc/{thread}/fd/{}", fd as i32)).ok();
        let from = |folder: Option<u64>| match folder {
            Some(fd) if fd as i32 != libc::AT_FDCWD => open(fd),
            _ => std::fs::read_link(format!("/proc/{thread}/cwd")).ok(),
        };
        let memory = File::open(format!("/proc/{thread}/mem")).ok()?;
        let at = |folder, address| Some(plain(&from(folder)?.join(text(&memory, address)?)));
        let path = match place {
            Place::Fd(fd) => open(argument[fd])?,
            Place::Path(path) => at(None, argument[path])?,
            Place::At(folder, path) => at(Some(argument[folder]), argument[path])?,
            Place::Opened(folder, path, flags) => {
                let mut flags = argument[flags];
                if number == libc::SYS_openat2 {
                    let mut word = [0; 8];
                    memory.read_exact_at(&mut word, flags).ok()?;
                    flags = u64::from_ne_bytes(word);
                }
                let flags = flags as c_int;
                let unnamed = flags & libc::O_TMPFILE == libc::O_TMPFILE;
                if flags & (libc::O_CREAT | libc::O_TRUNC) == 0 && !unnamed {
                    return None;
                }
                at(folder.map(|folder| argument[folder]), argument[path])?
            }
        };
        let path = path.strip_prefix(&self.folder).ok()?.to_path_buf();
        let mut halved = *registers;
        halve(&mut halved);
        Some(Call { kind, name, path, halvable: kind == Kind::Write && arguments(&halved) != argument })
    }
}

fn arguments(registers: &user_regs_struct) -> [u64; 6] {
    [registers.rdi, registers.rsi, registers.rdx, registers.r10, registers.r8, registers.r9]
}

/// Halves the number of bytes, or of memory segments if there is more than one.
fn halve(registers: &mut user_regs_struct) {
    let length = match registers.orig_rax as c_long {
        libc::SYS_copy_file_range | libc::SYS_splice => &mut registers.r8,
        libc::SYS_sendfile => &mut registers.r10,
        _ => &mut registers.rdx,
    };
    if *length > 1 {
        *length /= 2;
    }
}

/// Removes `.` and `..` from a path, without following links.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

/// Reads a path from the memory of a process.
fn text(memory: &File, address: u64) -> Option<PathBuf> {
    let mut bytes = Vec::new();
    while bytes.len() < libc::PATH_MAX as usize {
        // Not beyond the page: the next one may not exist.
        let here = address + bytes.len() as u64;
        let mut piece = vec![0; 256.min(4096 - here as usize % 4096)];
        memory.read_exact_at(&mut piece, here).ok()?;
        if let Some(end) = piece.iter().position(|byte| *byte == 0) {
            bytes.extend(&piece[..end]);
            return Some(PathBuf::from(OsString::from_vec(bytes)));
        }
        bytes.extend(piece);
    }
    None
}

/// Sends a request about a stopped thread that this one traces.
fn request(what: libc::c_uint, thread: pid_t, data: usize) -> Result<()> {
    let data = std::ptr::with_exposed_provenance_mut::<c_void>(data);
    // SAFETY: `data` is what the request takes: options, a signal, or valid registers.
    let result = unsafe { libc::ptrace(what, thread, 0, data) };
    match check(result) {
        // It was killed meanwhile, which will be seen at its end.
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        result => result,
    }
}

/// Resumes a stopped thread, until the end of its call if `to_its_end`.
fn go_on(thread: pid_t, to_its_end: bool, signal: c_int) -> Result<()> {
    let how = if to_its_end { libc::PTRACE_SYSCALL } else { libc::PTRACE_CONT };
    request(how, thread, signal as usize)
}
