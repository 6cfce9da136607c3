//! What `groma dd` takes.

use clap::Args;
use std::ffi::OsString;

pub(super) const HELP: &str = "Operands:
  if=FILE of=FILE
      input and output; '-' is a standard stream, 'internal' (the default)
      transfers nothing
  bs=SIZE                         bytes of a block [64K]
  count=N move=SIZE time=TIME     at most so many blocks, bytes, or so long
  skip=N                          skip N blocks of input and output
  start=SIZE                      add SIZE bytes to every offset
  rand=SIZE                       random blocks within SIZE bytes
  norepeat=1 seed=N               none twice; the seed of their order
  opat=1                          write a pattern: each 8-byte word its offset
  ipat=1 mismatch=N               check it; end after N mismatches
  direct=1 idirect=1 odirect=1    bypass the page cache: both, input, output
  osync=1                         sync each write
  fsync=1                         sync all writes before the clock stops
  append=1 notrunc=1 nocreate=1   how of= is opened
  hist=1 json=1                   a histogram, JSON statistics (standard error)

Examples:
  groma dd of=data bs=1M count=256 opat=1 fsync=1
      write a pattern
  groma dd if=data bs=1M ipat=1 direct=1   check it, from the disk
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
