//! Exit codes that are errors; the help describes them.

/// Something became slower, or a host is slow.
pub(crate) const REGRESSION: u8 = 1;
/// Bad options, unknown ids, files that cannot be used.
pub(crate) const USAGE: u8 = 2;
/// The machine is noisier than `--require` allows, or too noisy for a comparison.
pub(crate) const TOO_NOISY: u8 = 3;
/// A metric failed or timed out, or one that was named could not be measured; nothing was
/// measured; a transfer failed; a result could not be kept.
pub(crate) const FAILED: u8 = 4;
