//! The input and output of `groma dd`.
//!
//! An output is checked before it is opened, and again before anything is changed. Without
//! `--destroy` only files, pipes, sockets, terminals and devices that discard data are written to.
//! A block device is written to only while nothing else uses it.

use super::operands::{Job, Switch};
use anyhow::{Context, Result, bail};
use groma_harness::sys::opened::{self, Identity, Kind, Writing};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::path::Path;

/// The input or the output. Without a file it is `internal`: nothing is read or written.
pub(super) struct Side {
    pub(super) name: String,
    pub(super) file: Option<File>,
    /// Kind and identity of the file.
    identity: Option<Identity>,
    /// Whether the file is seekable.
    pub(super) seeks: bool,
    /// Held to keep others from using a block device that was inherited as an open descriptor.
    _alone: Option<File>,
}

impl Side {
    pub(super) fn input(job: &Job) -> Result<Side> {
        let name = format!("if={}", job.input.display());
        let file = match job.input.to_string_lossy().as_ref() {
            "internal" => None,
            "-" | "stdin" => Some(File::from(groma_harness::sys::io::duplicate(0).context("if=-")?)),
            _ => Some(opened::to_read(Path::new(&job.input), job.direct_input()).with_context(|| name.clone())?),
        };
        Side::of(name, file)
    }

    pub(super) fn output(job: &Job, destroy: bool, input: &Side) -> Result<Side> {
        let name = format!("of={}", job.output.display());
        let side = match job.output.to_string_lossy().as_ref() {
            "internal" => Side::of(name, None)?,
            "-" | "stdout" => {
                let file = File::from(groma_harness::sys::io::duplicate(1).context("of=-")?);
                let mut side = Side::of(name, Some(file))?;
                side.may_be_written(destroy)?;
                if let (Some(file), Some(Kind::Block)) = (&side.file, side.kind()) {
                    side._alone = Some(opened::alone(file.as_fd()).map_err(|e| not_opened(&side.name, e))?);
                }
                side
            }
            _ => {
                let path = Path::new(&job.output);
                let looked = look(&name, path, destroy)?;
                open_what_was_seen(job, name, path, looked, destroy)?
            }
        };
        if let (Some(from), Some(to)) = (&input.identity, &side.identity)
            && to.is_read_back_from(from)
        {
            bail!("{}: is the same file as {}: name another one to write to", side.name, input.name);
        }
        // Nothing has been changed before this.
        let keeps = [Switch::Append, Switch::Notrunc].iter().any(|s| job.has(*s)) || job.random.is_some();
        if let (Some(file), Some(Kind::Regular)) = (&side.file, side.kind())
            && job.output != "-"
            && job.output != "stdout"
            && !keeps
        {
            file.set_len(0).with_context(|| format!("{}: truncating", side.name))?;
        }
        Ok(Side { seeks: side.seeks && !job.has(Switch::Append), ..side })
    }

    fn of(name: String, file: Option<File>) -> Result<Side> {
        let identity = match &file {
            Some(file) => Some(Identity::of_open(file.as_fd()).with_context(|| name.clone())?),
            None => None,
        };
        let kind = identity.map(|identity| identity.kind);
        if kind == Some(Kind::Directory) {
            bail!("{name}: is a directory");
        }
        Ok(Side { name, file, identity, seeks: matches!(kind, Some(Kind::Regular | Kind::Block)), _alone: None })
    }

    fn kind(&self) -> Option<Kind> {
        self.identity.map(|identity| identity.kind)
    }

    fn len(&self) -> Result<u64> {
        let metadata = self.file.as_ref().map(File::metadata).transpose();
        Ok(metadata.with_context(|| self.name.clone())?.map_or(0, |metadata| metadata.len()))
    }

    fn may_be_written(&self, destroy: bool) -> Result<()> {
        self.kind().map_or(Ok(()), |kind| may_be_written(&self.name, kind, destroy))
    }

    /// Whether it is a file that is not seekable.
    pub(super) fn is_stream(&self) -> bool {
        self.file.is_some() && !self.seeks
    }

    /// Whether a transfer may wait for another process.
    pub(super) fn waits(&self) -> bool {
        !matches!(self.kind(), None | Some(Kind::Regular | Kind::Block | Kind::Sink))
    }

    pub(super) fn sync(&self) -> Result<(), String> {
        self.file.as_ref().map_or(Ok(()), |f| f.sync_all().map_err(|e| format!("{}: fsync: {e}", self.name)))
    }
}

/// Refuses to write to a device that keeps its data unless `destroy` is set.
fn may_be_written(name: &str, kind: Kind, destroy: bool) -> Result<()> {
    match kind {
        Kind::Regular | Kind::Fifo | Kind::Socket | Kind::Terminal | Kind::Sink => Ok(()),
        Kind::Directory => bail!("{name}: is a directory"),
        Kind::Block | Kind::Character if destroy => Ok(()),
        Kind::Block => bail!("{name}: is a block device whose contents would be lost (--destroy if that is meant)"),
        Kind::Character => {
            bail!("{name}: is a character device that may keep or act on what it is given (--destroy if that is meant)")
        }
    }
}

/// Checks the output before it is opened; `None` if it does not exist yet.
fn look(name: &str, path: &Path, destroy: bool) -> Result<Option<Identity>> {
    match Identity::of_path(path) {
        Ok(identity) => may_be_written(name, identity.kind, destroy).map(|()| Some(identity)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e).with_context(|| name.to_owned()),
    }
}

/// Opens the output, and checks that it is still the file that [`look`] saw.
fn open_what_was_seen(job: &Job, name: String, path: &Path, looked: Option<Identity>, destroy: bool) -> Result<Side> {
    let kind = looked.map(|identity| identity.kind);
    let how = Writing {
        create: looked.is_none() && !job.has(Switch::Nocreate),
        append: job.has(Switch::Append),
        direct: job.direct_output(),
        sync: job.has(Switch::Osync),
        alone: kind == Some(Kind::Block),
        wait: false,
    };
    let file = match opened::to_write(path, how) {
        Err(e) if kind == Some(Kind::Fifo) && opened::nobody_reads(&e) => {
            warn!("{name}: waiting for a reader of this FIFO");
            opened::to_write(path, Writing { wait: true, ..how })
        }
        opened => opened,
    };
    let side = Side::of(name.clone(), Some(file.map_err(|e| not_opened(&name, e))?))?;
    side.may_be_written(destroy)?;
    let same = match (looked, side.identity) {
        (Some(looked), Some(opened)) => looked.is(&opened),
        // It did not exist, so it was just created and must be empty.
        (None, Some(opened)) => opened.kind == Kind::Regular && side.len()? == 0,
        (_, None) => false,
    };
    if !same {
        bail!("{name}: was replaced by something else while it was opened: nothing was written, try again");
    }
    Ok(side)
}

/// The error of an output that cannot be opened.
fn not_opened(name: &str, error: io::Error) -> anyhow::Error {
    match error.kind() {
        ErrorKind::ResourceBusy => {
            anyhow::anyhow!("{name}: is mounted or in use: unmount it or end what uses it first")
        }
        _ => anyhow::Error::new(error).context(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_replaced_before_it_is_opened_is_not_written_to() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().expect("a temporary directory");
        let [name, meant, victim] = ["name", "meant", "victim"].map(|file| dir.path().join(file));
        let job = Job::parse(&[format!("of={}", name.display()), "count=1".to_owned()]).expect("it can be read");
        let open = |looked| open_what_was_seen(&job, "of=name".to_owned(), &name, looked, false);
        let look = || look("of=name", &name, false).expect("it may be written to");
        let refused = |opened: Result<Side>| {
            let error = opened.map(|side| side.name).expect_err("it is something else now").to_string();
            assert!(error.starts_with("of=name: was replaced"), "{error}");
            assert_eq!(std::fs::read(&victim).expect("the victim"), b"kept");
        };
        std::fs::write(&meant, "old").expect("a file");
        std::fs::write(&victim, "kept").expect("a file");
        symlink(&meant, &name).expect("a link");
        let looked = look();
        assert!(open(looked).is_ok());
        std::fs::remove_file(&name).expect("it goes");
        symlink(&victim, &name).expect("a link");
        refused(open(looked));
        // A file that did not exist at first must be empty.
        std::fs::remove_file(&name).expect("it goes");
        let looked = look();
        std::fs::hard_link(&victim, &name).expect("a link");
        refused(open(looked));
    }
}
