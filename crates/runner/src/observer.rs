//! Who is told how a run goes on.

/// Is told what a run does, between rounds and never during one.
pub trait Observer {
    /// What is measured next.
    fn next(&mut self, what: &str);

    /// What the run goes on without.
    fn warn(&mut self, text: &str);
}
