//! Owner, group and mode of a file, copied to another.

use std::fs::{File, Metadata};

/// Owner, group and mode. Access control lists and extended attributes are not among them.
#[cfg(unix)]
#[derive(Clone, Copy, Debug)]
pub struct Rights {
    mode: u32,
    owner: u32,
    group: u32,
}

#[cfg(unix)]
impl Rights {
    /// Those of a file, by its metadata.
    pub fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        Self { mode: metadata.mode() & 0o7777, owner: metadata.uid(), group: metadata.gid() }
    }

    /// The permission bits, with set-user-ID, set-group-ID and the sticky bit.
    pub(crate) fn mode(&self) -> u32 {
        self.mode
    }

    /// Gives them to a file that nobody else can read yet, so that at no time anyone may do more with
    /// its contents than before; whether owner and group could be given, too.
    ///
    /// # Errors
    /// When the file would be open to more than these rights allow.
    pub fn give(&self, file: &File) -> std::io::Result<bool> {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
        let now = file.metadata()?;
        // A file that was given away could no longer be given a group.
        let group = now.gid() == self.group || fchown(file, None, Some(self.group)).is_ok();
        let owner = now.uid() == self.owner || fchown(file, Some(self.owner), None).is_ok();
        let mode = self.mode_for(owner, group);
        match file.set_permissions(std::fs::Permissions::from_mode(mode)) {
            // File systems without modes have none to keep.
            Err(_) if now.mode() & 0o777 & !mode == 0 => {}
            set => set?,
        }
        Ok(owner && group)
    }

    /// The mode for a file that has got the owner or the group, or has not.
    fn mode_for(&self, owner: bool, group: bool) -> u32 {
        let mut mode = self.mode;
        if !group {
            // Members of either group get what both the group and all others had.
            let common = (mode >> 3) & mode & 0o7;
            mode = (mode & !0o2077) | common << 3 | common;
        }
        if !owner {
            mode &= !0o4000;
        }
        mode
    }
}

/// Elsewhere, files inherit the rights of their folder.
#[cfg(not(unix))]
#[derive(Clone, Copy, Debug)]
pub struct Rights;

#[cfg(not(unix))]
impl Rights {
    /// Those of a file, by its metadata.
    pub fn of(_metadata: &Metadata) -> Self {
        Self
    }

    /// Nothing to give; always succeeds.
    ///
    /// # Errors
    /// None.
    pub fn give(&self, _file: &File) -> std::io::Result<bool> {
        Ok(true)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn nobody_gets_more_rights_with_another_owner_or_group() {
        for (mode, owner, group, expected) in [
            (0o640, true, true, 0o640),
            (0o640, true, false, 0o600),
            (0o644, true, false, 0o644),
            (0o664, false, false, 0o644),
            (0o604, true, false, 0o600),
            (0o6755, false, true, 0o2755),
            (0o6755, true, false, 0o4755),
        ] {
            let rights = Rights { mode, owner: 0, group: 0 };
            assert_eq!(rights.mode_for(owner, group), expected, "{mode:o} {owner} {group}");
        }
    }
}
