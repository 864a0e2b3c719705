//! The CPU evaluator.
