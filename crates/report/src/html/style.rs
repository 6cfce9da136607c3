//! The style sheet that reports and the pages of papers share.

pub(crate) const STYLE: &str = include_str!("style.css");
