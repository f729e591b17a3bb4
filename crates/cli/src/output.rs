//! The file that a command writes: whole, or not at all.
//!
//! Everything goes to a temporary file in the same folder, which takes the place of the output by one rename. Until
//! then an existing output is as it was; whatever fails before removes the temporary file.

use std::{
    fs::{self, File, Permissions},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use crate::failure::{Failure, OutputProblem};

/// A place that a file can be written to.
#[derive(Debug)]
pub(super) struct Destination {
    /// The path as the user says it.
    named: PathBuf,
    /// The file itself, behind any symbolic link.
    path: PathBuf,
    /// The permissions of the file that will be replaced.
    permissions: Option<Permissions>,
}

impl Destination {
    /// Checks that a file can be written here, before any work is done for it.
    pub(super) fn check(named: &Path) -> Result<Self, Failure> {
        let refused = |problem| Failure::Output { path: named.to_owned(), problem };
        let destination = Self::resolve(named).map_err(refused)?;
        destination.temporary().map_err(refused)?;
        Ok(destination)
    }

    fn resolve(named: &Path) -> Result<Self, OutputProblem> {
        let (path, permissions) = match fs::metadata(named) {
            Ok(metadata) if metadata.is_dir() => return Err(OutputProblem::Directory),
            Ok(metadata) if !metadata.is_file() => return Err(OutputProblem::Special),
            Ok(metadata) if metadata.permissions().readonly() => {
                return Err(OutputProblem::ReadOnly);
            }
            Ok(metadata) => (fs::canonicalize(named)?, Some(metadata.permissions())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (named.to_owned(), None),
            Err(error) => return Err(error.into()),
        };
        if path.file_name().is_none() {
            return Err(OutputProblem::Directory);
        }
        Ok(Self { named: named.to_owned(), path, permissions })
    }

    /// Writes the file.
    pub(super) fn write(
        self,
        content: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
    ) -> Result<(), Failure> {
        self.try_write(content)
            .map_err(|problem| Failure::Output { path: self.named.clone(), problem })
    }

    fn try_write(
        &self,
        content: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
    ) -> Result<(), OutputProblem> {
        let temporary = self.temporary()?;
        let mut writer = BufWriter::with_capacity(1 << 16, temporary.as_file());
        content(&mut writer)?;
        writer.flush()?;
        drop(writer);
        if let Some(permissions) = &self.permissions {
            temporary.as_file().set_permissions(permissions.clone())?;
        }
        // A rename that outlives a power cut must not point to elements that did not.
        temporary.as_file().sync_all()?;
        temporary.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }

    /// A new file beside the output, removed when dropped.
    fn temporary(&self) -> Result<NamedTempFile, OutputProblem> {
        let folder = match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".tenferro-").suffix(".tmp");
        permit_readers(&mut builder);
        builder.tempfile_in(folder).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => OutputProblem::NoFolder,
            // The name of the temporary file, which the error has beside its cause, would only confuse.
            kind => match error.raw_os_error() {
                Some(code) => OutputProblem::System(io::Error::from_raw_os_error(code)),
                None => OutputProblem::System(io::Error::from(kind)),
            },
        })
    }
}

/// Gives the file the permissions of an ordinary new one: for all, less what the process's umask takes off.
#[cfg(unix)]
fn permit_readers(builder: &mut tempfile::Builder<'_, '_>) {
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
}

/// Files of other systems inherit the permissions of their folder.
#[cfg(not(unix))]
fn permit_readers(_builder: &mut tempfile::Builder<'_, '_>) {}
