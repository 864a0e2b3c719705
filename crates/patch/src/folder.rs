//! Folders and files that are opened without following links.
//!
//! A source tree may come from anyone, so that any name in it may be a link, a pipe or a giant. A
//! [`Folder`] is an open handle; what is below it is reached name by name, and a link on the way is an
//! error. Files are read if they are regular and of a sane size. Only paths that the user has typed are
//! opened as the system does it.

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};

use gputexel_files::{Error, Result};

/// The largest file that is read, in bytes: sources with networks in them have some megabytes.
const MAX_BYTES: u64 = 64 << 20;

/// An open folder.
#[derive(Debug)]
pub(super) struct Folder {
    dir: Dir,
    path: PathBuf,
}

/// A file as it was found.
#[derive(Debug)]
pub(super) struct Found {
    pub bytes: Vec<u8>,
    pub rights: Permissions,
    /// Nobody may write to it.
    pub read_only: bool,
    /// How many other names it has: hard links.
    pub other_names: u64,
}

impl Folder {
    /// Opens a folder that the user has named, or one that such a path was resolved to.
    pub fn open(path: &Path) -> Result<Self> {
        let dir = Dir::open_ambient_dir(path, ambient_authority()).map_err(|e| Error::io(path, e))?;
        Ok(Self { dir, path: path.to_path_buf() })
    }

    /// The path for messages, and by which it is known again.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A folder below this one; none of the names on the way may be a link.
    pub fn below(&self, relative: &Path) -> Result<Self> {
        let mut folder = Self {
            dir: self.dir.try_clone().map_err(|e| Error::io(&self.path, e))?,
            path: self.path.clone(),
        };
        for part in relative.components() {
            let Component::Normal(name) = part else {
                return Err(Error::input(self.path.join(relative), "is not a path below a folder"));
            };
            let dir = folder.dir.open_dir_nofollow(name).map_err(|e| folder.refusal(name, e))?;
            let path = folder.path.join(name);
            folder = Self { dir, path };
        }
        Ok(folder)
    }

    /// As [`below`](Self::below), made if need be.
    pub fn make(&self, relative: &Path) -> Result<Self> {
        let mut folder = self.below(Path::new(""))?;
        for name in relative.components() {
            folder.create_folder(name.as_os_str())?;
            folder = folder.below(Path::new(name.as_os_str()))?;
        }
        Ok(folder)
    }

    /// Makes a folder; false if something of that name is there.
    pub fn create_folder(&self, name: impl AsRef<OsStr>) -> Result<bool> {
        match self.dir.create_dir(name.as_ref()) {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(e) => Err(Error::io(self.path.join(name.as_ref()), e)),
        }
    }

    /// Whether anything has that name, be it a link that leads nowhere.
    pub fn has(&self, name: impl AsRef<OsStr>) -> Result<bool> {
        match self.dir.symlink_metadata(name.as_ref()) {
            Ok(_) => Ok(true),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
            Err(e) => Err(Error::io(self.path.join(name.as_ref()), e)),
        }
    }

    /// Refuses anything but a regular file of that name, such as a link or a pipe; it may be missing.
    pub fn check_regular(&self, name: &str) -> Result<()> {
        match self.dir.symlink_metadata(name) {
            Ok(metadata) if metadata.is_file() => Ok(()),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
            Ok(_) => Err(self.refusal(OsStr::new(name), ErrorKind::IsADirectory.into())),
            Err(e) => Err(Error::io(self.path.join(name), e)),
        }
    }

    /// The names of what is no regular file: folders, and links in their place.
    pub fn folder_names(&self) -> Result<Vec<String>> {
        let read = || -> std::io::Result<Vec<String>> {
            let mut names = Vec::new();
            for entry in self.dir.entries()? {
                let entry = entry?;
                if !entry.file_type()?.is_file() {
                    names.extend(entry.file_name().into_string());
                }
            }
            Ok(names)
        };
        read().map_err(|e| Error::io(&self.path, e))
    }

    /// The names of everything.
    pub fn names(&self) -> std::io::Result<Vec<std::ffi::OsString>> {
        self.dir.entries()?.map(|entry| Ok(entry?.file_name())).collect()
    }

    /// The bytes of a regular file; none if there is no such name.
    pub fn read(&self, name: impl AsRef<OsStr>) -> Result<Option<Vec<u8>>> {
        Ok(self.find(name)?.map(|found| found.bytes))
    }

    /// A regular file; none if there is no such name.
    pub fn find(&self, name: impl AsRef<OsStr>) -> Result<Option<Found>> {
        let (name, path) = (name.as_ref(), self.path.join(name.as_ref()));
        let mut options = OpenOptions::new();
        // A pipe without a writer would be waited for.
        options.read(true).follow(FollowSymlinks::No).nonblock(true);
        let file = match self.dir.open_with(name, &options) {
            Ok(file) => file.into_std(),
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(self.refusal(name, e)),
        };
        let bytes = read_whole(&file, &path)?;
        let metadata = file.metadata().map_err(|e| Error::io(&path, e))?;
        Ok(Some(Found {
            bytes,
            rights: metadata.permissions(),
            read_only: metadata.permissions().readonly(),
            other_names: other_names(&metadata),
        }))
    }

    /// A file to hold a lock on, made if need be; what it holds stays.
    pub fn lock_file(&self, name: &str) -> Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).follow(FollowSymlinks::No).nonblock(true);
        let file = self.dir.open_with(name, &options).map_err(|e| self.refusal(OsStr::new(name), e))?;
        Ok(file.into_std())
    }

    /// Writes and syncs a new file, replacing any of that name, with the rights of another or, by
    /// default, those that the user's mask leaves; whether it has got the owner and group it should have.
    pub fn write(&self, name: impl AsRef<OsStr>, bytes: &[u8], rights: Option<&Permissions>) -> Result<bool> {
        let name = name.as_ref();
        self.remove(name)?;
        let write = || -> std::io::Result<bool> {
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).follow(FollowSymlinks::No);
            #[cfg(unix)]
            if rights.is_some() {
                use cap_std::fs::OpenOptionsExt as _;
                options.mode(0o600);
            }
            let mut file = self.dir.open_with(name, &options)?.into_std();
            file.write_all(bytes)?;
            let kept =
                rights.map_or(Ok(true), |rights| file.set_permissions(rights.clone()).map(|()| true))?;
            file.sync_all()?;
            Ok(kept)
        };
        write().map_err(|e| Error::io(self.path.join(name), e))
    }

    /// As [`write`](Self::write), so that either the old or the new file is there at any time.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let new = format!("{name}.new");
        let replaced = self.write(&new, bytes, None).and_then(|_| self.rename(&new, name));
        if replaced.is_err() {
            let _ = self.remove(&new);
        }
        replaced.and_then(|()| self.sync())
    }

    /// Gives a file another name, which may be taken.
    pub fn rename(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) -> Result<()> {
        let done = self.dir.rename(from.as_ref(), &self.dir, to.as_ref());
        done.map_err(|e| Error::io(self.path.join(to.as_ref()), e))
    }

    /// Removes a file or a link, if it is there.
    pub fn remove(&self, name: impl AsRef<OsStr>) -> Result<()> {
        match self.dir.remove_file(name.as_ref()) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(Error::io(self.path.join(name.as_ref()), e)),
            _ => Ok(()),
        }
    }

    /// Removes a folder with all that is in it; links in it are removed, not followed.
    pub fn remove_folder(&self, name: impl AsRef<OsStr>) -> Result<()> {
        match self.dir.remove_dir_all(name.as_ref()) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(Error::io(self.path.join(name.as_ref()), e)),
            _ => Ok(()),
        }
    }

    /// Removes a folder if nothing is in it.
    pub fn remove_empty(&self, name: impl AsRef<OsStr>) {
        let _ = self.dir.remove_dir(name.as_ref());
    }

    /// Lets names survive a power cut.
    #[cfg(unix)]
    pub fn sync(&self) -> Result<()> {
        let synced = self.dir.open(".").and_then(|folder| folder.sync_all());
        synced.map_err(|e| Error::io(&self.path, e))
    }

    /// Elsewhere, folders cannot be synced.
    #[cfg(not(unix))]
    pub fn sync(&self) -> Result<()> {
        Ok(())
    }

    /// Why a name was not opened.
    fn refusal(&self, name: &OsStr, e: std::io::Error) -> Error {
        let path = self.path.join(name);
        match self.dir.symlink_metadata(name) {
            Ok(metadata) if metadata.is_symlink() => {
                Error::input(path, "is a link, and links are not followed here")
            }
            Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => {
                Error::input(path, "is not a regular file")
            }
            _ => Error::io(path, e),
        }
    }
}

/// The place of a file that is to be replaced.
#[derive(Debug)]
pub(super) struct FilePlace {
    pub folder: Folder,
    pub name: std::ffi::OsString,
}

impl FilePlace {
    /// Of a path below a tree, relative or not, or of one elsewhere; none if its folder is not there.
    pub fn of(tree: &Folder, path: &Path) -> Result<Option<Self>> {
        let relative = if path.is_relative() { Ok(path) } else { path.strip_prefix(tree.path()) };
        let (parent, name) = (|path: &Path| path.parent().map(Path::to_path_buf), path.file_name());
        let Some(name) = name else { return Err(Error::input(path, "is not the path of a file")) };
        let folder = match relative {
            Ok(relative) => tree.below(&parent(relative).unwrap_or_default()),
            Err(_) => Folder::open(&parent(path).unwrap_or_default()),
        };
        match folder {
            Ok(folder) => Ok(Some(Self { folder, name: name.to_os_string() })),
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The file; none if it is not there.
    pub fn find(&self) -> Result<Option<Found>> {
        self.folder.find(&self.name)
    }

    /// The name of a new file until it takes the place of the old one.
    pub fn staged(&self) -> String {
        format!(".{}.gputexel-new", self.name.to_string_lossy())
    }
}

/// The bytes of a file that the user has named; links are followed.
///
/// # Errors
/// [`Error::Io`]; [`Error::Input`] for what is no regular file, and for giants.
pub(super) fn read_file(path: &Path) -> Result<Vec<u8>> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    }
    let file = options.open(path).map_err(|e| Error::io(path, e))?;
    read_whole(&file, path)
}

fn read_whole(file: &File, path: &Path) -> Result<Vec<u8>> {
    let metadata = file.metadata().map_err(|e| Error::io(path, e))?;
    // Reading a folder fails with the system's own words.
    if !metadata.is_file() && !metadata.is_dir() {
        return Err(Error::input(path, "is not a regular file"));
    }
    let mut bytes = Vec::new();
    if metadata.len() <= MAX_BYTES {
        bytes.reserve(metadata.len() as usize);
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|e| Error::io(path, e))?;
    }
    if metadata.len().max(bytes.len() as u64) > MAX_BYTES {
        return Err(Error::input(path, format!("has more than {} MiB", MAX_BYTES >> 20)));
    }
    Ok(bytes)
}

#[cfg(unix)]
fn other_names(metadata: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(metadata).saturating_sub(1)
}

/// Elsewhere, the standard library does not tell.
#[cfg(not(unix))]
fn other_names(_metadata: &std::fs::Metadata) -> u64 {
    0
}
