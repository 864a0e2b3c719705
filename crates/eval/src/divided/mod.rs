mod device;
mod listed;

use std::ops::Range;
use std::sync::Arc;

use gputexel_dataset::Layout;
use gputexel_io::{Error, Result, counted};

pub use device::DeviceThread;
pub use listed::{DeviceList, ListedDevice};
pub(crate) use listed::{Speeds, divide};

use crate::cpu::CpuEvaluator;
use crate::device::Stats;
use crate::fallback::Fallback;
use crate::sums::{Node, Sums, Tree};
use crate::{Evaluations, Evaluator, Population, Request};

pub type Task = Arc<(Population, Request)>;

pub type Answer = Vec<Node<Sums>>;

pub trait Helper {
    fn sections(&self) -> Range<usize>;

    fn begin(&mut self, task: &Task) -> Result<()>;

    fn end(&mut self) -> Result<Answer>;

    fn describe(&self) -> String;

    fn stats(&self) -> Option<Stats> {
        None
    }
}

pub struct Division {
    /// The sections that are left to this process or processor; may be empty.
    pub own: Range<usize>,
    pub helpers: Vec<Box<dyn Helper>>,
    pub idle: usize,
}

pub trait Team: Send + Sync {
    fn divide(&self, layout: &Layout) -> Result<Division>;
}

pub struct Divided<'a> {
    layout: &'a Layout,
    cpu: CpuEvaluator<'a>,
    own: Vec<Range<usize>>,
    helpers: Vec<Box<dyn Helper>>,
    /// True if this processor takes over from a device that fails.
    falls_back: bool,
    news: Option<Fallback>,
    pub(crate) idle: usize,
}

impl<'a> Divided<'a> {
    /// Creates an evaluator of `own` sections on this processor, and of the others by helpers.
    pub fn try_new(
        layout: &'a Layout,
        own: Range<usize>,
        helpers: Vec<Box<dyn Helper>>,
        falls_back: bool,
    ) -> Result<Self> {
        let mut all: Vec<Range<usize>> = helpers.iter().map(|helper| helper.sections()).collect();
        let own: Vec<Range<usize>> = Some(own).filter(|own| !own.is_empty()).into_iter().collect();
        all.extend(own.clone());
        all.sort_by_key(|sections| sections.start);
        let mut next = layout.sections().start;
        let follows = |sections: &Range<usize>| {
            std::mem::replace(&mut next, sections.end) == sections.start && !sections.is_empty()
        };
        if !all.iter().all(follows) || next != layout.sections().end {
            return Err(Error::Usage(format!(
                "sections {all:?} of {:?} have been divided",
                layout.sections()
            )));
        }
        Ok(Self { layout, cpu: CpuEvaluator::new(layout), own, helpers, falls_back, news: None, idle: 0 })
    }

    pub fn nodes(&mut self, task: &Task) -> Result<Answer> {
        let mut begun = Ok(());
        let mut working = Vec::with_capacity(self.helpers.len());
        for helper in &mut self.helpers {
            begun = begun.and_then(|()| helper.begin(task));
            working.push(begun.is_ok());
        }
        let own = self.own.clone().into_iter();
        let mut answers: Vec<_> =
            own.map(|sections| (sections.start, self.compute(task, sections))).collect();
        // Waits for all of them, even after an error: an unread answer would be mistaken for the next one.
        let mut left = Vec::new();
        for (mut helper, works) in std::mem::take(&mut self.helpers).into_iter().zip(working) {
            if !works {
                left.push(helper);
                continue;
            }
            let sections = helper.sections();
            let answer = match helper.end() {
                Err(error @ Error::Gpu(_)) if self.falls_back => {
                    let news = Fallback { error, evaluator: self.cpu.describe() };
                    self.news.get_or_insert(news);
                    self.own.push(sections.clone());
                    self.compute(task, sections.clone())
                }
                answer => {
                    left.push(helper);
                    answer
                }
            };
            answers.push((sections.start, answer));
        }
        self.helpers = left;
        begun?;
        answers.sort_by_key(|(first, _)| *first);
        let mut tree = Tree::default();
        for (_, answer) in answers {
            answer?.into_iter().try_for_each(|node| tree.push(node))?;
        }
        Ok(tree.into_nodes())
    }

    fn compute(&self, task: &Task, sections: Range<usize>) -> Result<Answer> {
        Ok(self.cpu.sums(&task.0, &task.1, sections)?.into_nodes())
    }
}

impl Evaluator for Divided<'_> {
    fn evaluate(&mut self, population: &Population, request: &Request) -> Result<Evaluations> {
        population.validate(self.layout)?;
        request.validate(self.layout)?;
        let mut tree = Tree::default();
        let nodes = self.nodes(&Arc::new((population.clone(), request.clone())))?;
        nodes.into_iter().try_for_each(|node| tree.push(node))?;
        Ok(tree.total(self.layout.sections())?.means(self.layout, population, request))
    }

    fn describe(&self) -> String {
        let count = |sections: &Range<usize>| sections.len();
        let own: usize = self.own.iter().map(count).sum();
        let cpu = (own > 0).then(|| (own, self.cpu.describe()));
        let helpers = self.helpers.iter().map(|helper| (count(&helper.sections()), helper.describe()));
        let all: Vec<String> =
            cpu.into_iter().chain(helpers).map(|(n, who)| format!("{n} by {who}")).collect();
        let sections = self.layout.sections().len();
        let idle = match self.idle {
            0 => String::new(),
            idle => format!("; {idle} idle: there are more ranks and devices than sections"),
        };
        format!("{}: {}{idle}", counted(sections as u64, "section"), all.join("; "))
    }

    fn stats(&self) -> Option<Stats> {
        self.helpers.iter().filter_map(|helper| helper.stats()).reduce(|a, b| a.plus(&b))
    }

    fn take_fallback(&mut self) -> Option<Fallback> {
        self.news.take()
    }
}
