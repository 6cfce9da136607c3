//! Figures that print no numbers: what they show, and how the like of it is drawn.

/// A figure without numbers of its own.
#[derive(Debug)]
pub struct Picture {
    /// `figure7`.
    pub name: &'static str,
    /// What it is called.
    pub title: &'static str,
    /// What is to be seen in it, in a sentence.
    pub shows: &'static str,
    /// How the like of it is drawn.
    pub drawn: Drawn,
}

/// How the like of a picture is drawn.
#[derive(Clone, Copy, Debug)]
pub enum Drawn {
    /// By these commands, of this machine alone.
    By(&'static [&'static str]),
    /// From the columns of the document's tables that are relative to MIPS: a line for each, over
    /// the machines in the order of their ratings.
    FromRelative,
}
