//! An evaluator that switches to another one when its device fails.

use super::{Evaluations, Evaluator, Population, Request, Stats};
use gputexel_io::{Error, Result};

/// A report that a device failed and another evaluator took over.
#[derive(Debug)]
pub struct Fallback {
    pub error: Error,
    pub evaluator: String,
}

/// Called when an evaluator is dropped, with its description and its statistics, if it keeps any.
pub type StatsObserver = fn(&str, Option<Stats>);

pub(crate) type MakeFallback<'a> = Box<dyn FnOnce() -> Box<dyn Evaluator + 'a> + 'a>;

/// An evaluator whose answers are checked, and that is permanently replaced by another one on its first [`Error::Gpu`].
pub struct FallbackEvaluator<'a> {
    active: Box<dyn Evaluator + 'a>,
    /// `None` if there is none, or after it was used.
    fallback: Option<MakeFallback<'a>>,
    news: Option<Fallback>,
    stats: Option<StatsObserver>,
}

impl<'a> FallbackEvaluator<'a> {
    pub fn new(
        first: Box<dyn Evaluator + 'a>,
        fallback: impl FnOnce() -> Box<dyn Evaluator + 'a> + 'a,
    ) -> Self {
        Self::open(first, Some(Box::new(fallback)), None)
    }

    pub(crate) fn open(
        first: Box<dyn Evaluator + 'a>,
        fallback: Option<MakeFallback<'a>>,
        stats: Option<StatsObserver>,
    ) -> Self {
        Self { active: first, fallback, news: None, stats }
    }

    fn report(&self) {
        if let Some(observer) = self.stats {
            observer(&self.active.describe(), self.active.stats());
        }
    }
}

impl Drop for FallbackEvaluator<'_> {
    fn drop(&mut self) {
        self.report();
    }
}

impl Evaluator for FallbackEvaluator<'_> {
    fn evaluate(&mut self, population: &Population, request: &Request) -> Result<Evaluations> {
        let mut answer = match self.active.evaluate(population, request) {
            Err(error @ Error::Gpu(_)) => {
                let Some(fallback) = self.fallback.take() else { return Err(error) };
                let next = fallback();
                self.report();
                self.active = next;
                self.news = Some(Fallback { error, evaluator: self.active.describe() });
                self.active.evaluate(population, request)?
            }
            answer => answer?,
        };
        request.check(population, &mut answer)?;
        Ok(answer)
    }

    fn describe(&self) -> String {
        self.active.describe()
    }

    fn stats(&self) -> Option<Stats> {
        self.active.stats()
    }

    fn take_fallback(&mut self) -> Option<Fallback> {
        self.news.take().or_else(|| self.active.take_fallback())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Limited {
        name: &'static str,
        calls: u32,
        error: fn() -> Error,
    }

    impl Evaluator for Limited {
        fn evaluate(&mut self, population: &Population, _: &Request) -> Result<Evaluations> {
            self.calls = self.calls.checked_sub(1).ok_or_else(self.error)?;
            Ok(Evaluations { losses: population.k.clone(), ..Evaluations::default() })
        }

        fn describe(&self) -> String {
            self.name.to_string()
        }
    }

    fn lost() -> Error {
        Error::Gpu("the device was lost".to_string())
    }

    fn pair(first: u32, second: u32, error: fn() -> Error) -> FallbackEvaluator<'static> {
        let second = Limited { name: "second", calls: second, error };
        FallbackEvaluator::new(Box::new(Limited { name: "first", calls: first, error }), || Box::new(second))
    }

    fn request() -> (Population, Request) {
        let loss = gputexel_dataset::objective::LossKind::Squared;
        (
            Population::single(&[0.0; 2], 0.5),
            Request { parts: 0..1, loss, gradients: false, curvature: false },
        )
    }

    #[test]
    fn the_request_that_failed_is_repeated_and_told_once() {
        let (population, request) = request();
        for works in 0..3 {
            let mut evaluator = pair(works, 9, lost);
            let mut told = Vec::new();
            for call in 0..4 {
                assert_eq!(evaluator.evaluate(&population, &request).unwrap().losses, [0.5]);
                assert_eq!(evaluator.describe(), if call < works { "first" } else { "second" });
                told.extend(evaluator.take_fallback());
            }
            assert_eq!(told.len(), 1);
            assert_eq!(told[0].error.to_string(), "GPU: the device was lost");
            assert_eq!(told[0].evaluator, "second");
        }
    }

    #[test]
    fn other_errors_and_second_failures_are_the_callers() {
        let (population, request) = request();
        let mut evaluator = pair(0, 1, || Error::Usage("no".to_string()));
        assert!(matches!(evaluator.evaluate(&population, &request), Err(Error::Usage(_))));
        assert!(evaluator.take_fallback().is_none());
        let mut evaluator = pair(0, 0, lost);
        assert!(matches!(evaluator.evaluate(&population, &request), Err(Error::Gpu(_))));
    }
}
