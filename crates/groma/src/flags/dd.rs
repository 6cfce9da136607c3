//! What `groma dd` takes.

use clap::Args;
use std::ffi::OsString;

pub(super) const HELP: &str = "Operands:
  if=FILE of=FILE   input and output; '-' is a standard stream, 'internal' (the default) transfers nothing
  bs=SIZE           bytes of a block [64K]
  count=N move=SIZE time=TIME   how many blocks, how many bytes, how long, at most
  skip=N start=SIZE skip N blocks of input and output; add SIZE bytes to every offset
  rand=SIZE norepeat=1 seed=N   random blocks within SIZE bytes; none twice
  opat=1 ipat=1 mismatch=N      write a pattern (each 8-byte word is its offset); check it; end after N mismatches
  direct=1 idirect=1 odirect=1 osync=1 fsync=1   past the page cache; each write synced; all synced before the clock stops
  append=1 notrunc=1 nocreate=1   how of= is opened
  hist=1 json=1     latencies as a histogram; statistics as JSON (both on standard error)

Examples:
  groma dd of=data bs=1M count=256 opat=1 fsync=1   write a pattern
  groma dd if=data bs=1M ipat=1 direct=1            check it, from the disk
  groma dd if=data bs=4K rand=256M count=10000 direct=1 hist=1

Exit code 4: a transfer failed, or a block did not hold the pattern.";

#[derive(Debug, Args)]
pub(crate) struct DdArgs {
    /// Operands: if=disk.img bs=64K count=100 direct=1
    #[arg(required = true, value_name = "NAME=VALUE")]
    pub(crate) operands: Vec<OsString>,
    /// Allow of= to be a device that keeps what is written; its contents are lost
    #[arg(long)]
    pub(crate) destroy: bool,
}
