//! Mixtures of operations, as programs perform them: not tests of storage or of a single primitive.

use groma_harness::Benchmark;
use groma_harness::model::Family;
use groma_harness::model::family::{Figure, Say, least};

mod andrew;
mod jobs;
mod command;

pub(crate) static ABOUT: Family = Family {
    name: "mix",
    summary: "Mixtures of operations, as programs make them",
    says: Say::Each(&[
        Say::Text("a build takes {} ({})", &[Figure::Value(least("mix.andrew")), Figure::Params(least("mix.andrew"))]),
        Say::Text("jobs at once take {} the ideal time", &[Figure::Times(least("mix.jobs.ratio"))]),
    ]),
    rows: &[],
};

pub(crate) const ALL: &[&Benchmark] = listed!("mix");
