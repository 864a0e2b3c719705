//! A static analysis of naga's form of a kernel: data that threads of a workgroup share without a barrier in between.
//!
//! Between two barriers, a cell that threads of a workgroup share must not be written by one and read or written by
//! another. The checker walks a kernel along all paths, each loop twice, inlines calls, and records accesses since
//! the last barrier that covers them: `workgroupBarrier` workgroup memory, `storageBarrier` storage buffers. Two
//! accesses of one variable, one of them a write, are in conflict unless
//!
//! - both are to the thread's own cells: index modulo the size of the workgroup = number of the thread, which is found
//!   out by computing indices modulo what is known of them, for each thread;
//! - one is to `thread`, the other to `thread + x`, both where `thread < x`, and no time has passed in which x can have
//!   changed: the halving of sums;
//! - one index is `constant + …` and the other is not: arrays that lie one behind the other in one variable, whose
//!   sizes the kernels' constants say;
//! - they are the same place in the source in the same passes of all loops around it but the innermost: that one
//!   statement's cells are apart for different threads is what comments of the kernels say (one thread has a run of a
//!   feature, or the rows of a group), and what the tests of their results show.
//!
//! Of storage buffers, only variables that a kernel both reads and writes count, and two writes are no conflict, since
//! the rows of different results look alike.

use crate::common::prelude::*;
use naga::{
    AddressSpace, Barrier, BinaryOperator, Block, BuiltIn, Expression, Function, GlobalVariable, Handle,
    Literal, LocalVariable, Module, Statement, StorageAccess,
};

/// Knowledge about an integer, for each thread: it is congruent to the first number modulo the second; if the second
/// is 0, it equals the first.
type Residues = Vec<(i64, i64)>;

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Number(Residues),
    /// A pointer to a variable that threads share, and its index in it.
    Shared(Handle<GlobalVariable>, Option<Index>),
    Local(usize, Handle<LocalVariable>),
    Unknown,
}

#[derive(Clone, Debug, PartialEq)]
struct Index {
    residues: Residues,
    /// Start of an index: `constant + …` lies after a constant, everything else before the smallest one.
    region: u32,
    /// In `a + x`, where a is the number of the thread: the expression x.
    above: Option<Term>,
}

/// An expression at a point in time: function, expression, and the loop passes when it was computed.
type Term = (usize, usize, Vec<u32>);

#[derive(Clone, Debug, PartialEq)]
struct Access {
    variable: Handle<GlobalVariable>,
    is_write: bool,
    is_own: bool,
    region: u32,
    /// Added to the thread's number, which is below it.
    above: Option<Term>,
    /// Upper bounds of the thread's number.
    below: Vec<Term>,
    /// Place in the source: call path and expression, with the passes of all loops except the innermost.
    site: (Vec<usize>, usize, Vec<u32>),
}

struct Frame<'m> {
    function: &'m Function,
    /// The calls that led here, each by its number in the order of the walk.
    path: Vec<usize>,
    values: BTreeMap<usize, Value>,
    arguments: Vec<Value>,
    locals: BTreeMap<usize, Residues>,
    id: usize,
}

pub struct Checker<'m> {
    module: &'m Module,
    threads: i64,
    since: Vec<Access>,
    below: Vec<Term>,
    passes: Vec<u32>,
    conflicts: Vec<String>,
    calls: usize,
}

fn known(value: i64, threads: i64) -> Residues {
    vec![(value, 0); threads as usize]
}

fn unknown(threads: i64) -> Residues {
    vec![(0, 1); threads as usize]
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

fn normalized((value, modulus): (i64, i64)) -> (i64, i64) {
    if modulus == 0 { (value, 0) } else { (value.rem_euclid(modulus), modulus) }
}

/// Derives knowledge about a result from knowledge about its operands.
fn combine(op: BinaryOperator, (a, m): (i64, i64), (b, n): (i64, i64)) -> (i64, i64) {
    let exact = m == 0 && n == 0;
    normalized(match op {
        BinaryOperator::Add => (a + b, gcd(m, n)),
        BinaryOperator::Subtract => (a - b, gcd(m, n)),
        // (a + m i)(b + n j): all further terms are multiples of these.
        BinaryOperator::Multiply => (a * b, gcd(gcd(a * n, b * m), m * n)),
        BinaryOperator::Divide if exact && b != 0 => (a / b, 0),
        BinaryOperator::Modulo if exact && b != 0 => (a % b, 0),
        _ => (0, 1),
    })
}

impl<'m> Checker<'m> {
    /// Returns the conflicts of a kernel, one per line.
    pub fn conflicts(module: &'m Module) -> Vec<String> {
        let entry = &module.entry_points[0];
        let threads = i64::from(entry.workgroup_size[0]);
        let mut checker = Self {
            module,
            threads,
            since: Vec::new(),
            below: Vec::new(),
            passes: Vec::new(),
            conflicts: Vec::new(),
            calls: 0,
        };
        let arguments = entry.function.arguments.iter().map(|argument| match &argument.binding {
            Some(naga::Binding::BuiltIn(BuiltIn::LocalInvocationIndex)) => {
                Value::Number((0..threads).map(|thread| (thread, 0)).collect())
            }
            _ => Value::Unknown,
        });
        let arguments = arguments.collect();
        checker.call(&entry.function, arguments, Vec::new());
        checker.conflicts.sort();
        checker.conflicts.dedup();
        checker.conflicts
    }

    fn call(&mut self, function: &'m Function, arguments: Vec<Value>, path: Vec<usize>) {
        self.calls += 1;
        let mut frame = Frame {
            function,
            path,
            values: BTreeMap::new(),
            arguments,
            locals: BTreeMap::new(),
            id: self.calls,
        };
        for (handle, _) in function.expressions.iter() {
            // Expressions that need no statement to be computed.
            if function.expressions[handle].needs_pre_emit() {
                let value = self.evaluate(&frame, handle);
                frame.values.insert(handle.index(), value);
            }
        }
        for (handle, local) in function.local_variables.iter() {
            let start = local.init.map(|init| self.value(&frame, init));
            if let Some(Value::Number(start)) = start {
                frame.locals.insert(handle.index(), start);
            }
        }
        self.block(&mut frame, &function.body);
    }

    fn value(&self, frame: &Frame<'m>, handle: Handle<Expression>) -> Value {
        frame.values.get(&handle.index()).cloned().unwrap_or(Value::Unknown)
    }

    fn number(&self, frame: &Frame<'m>, handle: Handle<Expression>) -> Residues {
        match self.value(frame, handle) {
            Value::Number(number) => number,
            _ => unknown(self.threads),
        }
    }

    fn is_shared(&self, handle: Handle<GlobalVariable>) -> bool {
        match self.module.global_variables[handle].space {
            AddressSpace::WorkGroup => true,
            AddressSpace::Storage { access } => access.contains(StorageAccess::STORE),
            _ => false,
        }
    }

    fn is_thread(&self, number: &Residues) -> bool {
        number.iter().enumerate().all(|(thread, &residue)| residue == (thread as i64, 0))
    }

    fn evaluate(&self, frame: &Frame<'m>, handle: Handle<Expression>) -> Value {
        let number = |handle| self.number(frame, handle);
        match frame.function.expressions[handle] {
            Expression::Literal(Literal::U32(value)) => Value::Number(known(i64::from(value), self.threads)),
            Expression::Literal(Literal::I32(value)) => Value::Number(known(i64::from(value), self.threads)),
            Expression::Constant(constant) => {
                match self.module.global_expressions[self.module.constants[constant].init] {
                    Expression::Literal(Literal::U32(value)) => {
                        Value::Number(known(i64::from(value), self.threads))
                    }
                    _ => Value::Unknown,
                }
            }
            Expression::FunctionArgument(index) => frame.arguments[index as usize].clone(),
            Expression::GlobalVariable(variable) if self.is_shared(variable) => Value::Shared(variable, None),
            Expression::LocalVariable(variable) => Value::Local(frame.id, variable),
            Expression::Access { base, index } => match self.value(frame, base) {
                Value::Shared(variable, None) => {
                    let above = self.above(frame, index);
                    let region = self.region(frame, index);
                    Value::Shared(variable, Some(Index { residues: number(index), region, above }))
                }
                other @ Value::Shared(..) => other,
                _ => Value::Unknown,
            },
            Expression::AccessIndex { base, .. } => match self.value(frame, base) {
                shared @ Value::Shared(..) => shared,
                _ => Value::Unknown,
            },
            Expression::Load { pointer } => match self.value(frame, pointer) {
                Value::Local(_, variable) => {
                    let found = frame.locals.get(&variable.index()).cloned();
                    Value::Number(found.unwrap_or_else(|| unknown(self.threads)))
                }
                _ => Value::Unknown,
            },
            Expression::Binary { op, left, right } => {
                let (left, right) = (number(left), number(right));
                Value::Number(left.into_iter().zip(right).map(|(a, b)| combine(op, a, b)).collect())
            }
            _ => Value::Unknown,
        }
    }

    /// Returns the value of a literal or a named constant.
    fn constant(&self, frame: &Frame<'m>, handle: Handle<Expression>) -> Option<u32> {
        let expression = match frame.function.expressions[handle] {
            Expression::Constant(constant) => {
                &self.module.global_expressions[self.module.constants[constant].init]
            }
            _ => &frame.function.expressions[handle],
        };
        match *expression {
            Expression::Literal(Literal::U32(value)) => Some(value),
            _ => None,
        }
    }

    /// Returns the constant at the start of an index, or 0.
    fn region(&self, frame: &Frame<'m>, index: Handle<Expression>) -> u32 {
        match frame.function.expressions[index] {
            Expression::Binary { op: BinaryOperator::Add, left, .. } => {
                self.constant(frame, left).unwrap_or_else(|| self.region(frame, left))
            }
            _ => 0,
        }
    }

    /// Returns x of an index `thread + x`.
    fn above(&self, frame: &Frame<'m>, index: Handle<Expression>) -> Option<Term> {
        let Expression::Binary { op: BinaryOperator::Add, left, right } = frame.function.expressions[index]
        else {
            return None;
        };
        let is_thread = |handle| self.is_thread(&self.number(frame, handle));
        is_thread(left).then(|| self.term(frame, right))
    }

    /// Returns an expression at this point in time; loads of a variable are distinguished by it, not by themselves.
    fn term(&self, frame: &Frame<'m>, handle: Handle<Expression>) -> Term {
        let origin = match frame.function.expressions[handle] {
            Expression::Load { pointer } => pointer,
            _ => handle,
        };
        (frame.id, origin.index(), self.passes.clone())
    }

    fn access(&mut self, frame: &Frame<'m>, pointer: Handle<Expression>, is_write: bool) {
        let Value::Shared(variable, index) = self.value(frame, pointer) else { return };
        let is_own = index.as_ref().is_some_and(|index| {
            let own = |(thread, &(value, modulus)): (usize, &(i64, i64))| {
                modulus % self.threads == 0 && value.rem_euclid(self.threads) == thread as i64
            };
            index.residues.iter().enumerate().all(own)
        });
        let outer = self.passes.len().saturating_sub(1);
        let access = Access {
            variable,
            is_write,
            is_own,
            region: index.as_ref().map_or(0, |index| index.region),
            above: index.and_then(|index| index.above),
            below: self.below.clone(),
            site: (frame.path.clone(), pointer.index(), self.passes[..outer].to_vec()),
        };
        for other in &self.since {
            if let Some(conflict) = self.conflict(other, &access) {
                self.conflicts.push(conflict);
            }
        }
        if !self.since.contains(&access) {
            self.since.push(access);
        }
    }

    fn conflict(&self, a: &Access, b: &Access) -> Option<String> {
        let global = &self.module.global_variables[a.variable];
        let is_storage = global.space != AddressSpace::WorkGroup;
        let harmless = a.variable != b.variable
            || a.region != b.region
            || !(a.is_write || b.is_write)
            || is_storage && a.is_write == b.is_write
            || a.is_own && b.is_own
            || a.site == b.site
            || are_halves(a, b)
            || are_halves(b, a);
        let name = global.name.as_deref().unwrap_or("?");
        let verb = |access: &Access| if access.is_write { "write" } else { "read" };
        (!harmless).then(|| format!("{name}: {} and {} without a barrier between", verb(a), verb(b)))
    }

    fn block(&mut self, frame: &mut Frame<'m>, block: &'m Block) {
        for statement in block.iter() {
            match statement {
                Statement::Emit(range) => {
                    for handle in range.clone() {
                        if let Expression::Load { pointer } = frame.function.expressions[handle] {
                            self.access(frame, pointer, false);
                        }
                        let value = self.evaluate(frame, handle);
                        frame.values.insert(handle.index(), value);
                    }
                }
                Statement::Block(inner) => self.block(frame, inner),
                Statement::If { condition, accept, reject } => {
                    // Conditions decided at compile time have one branch.
                    match self.decided(frame, *condition) {
                        Some(true) => {
                            self.block(frame, accept);
                            continue;
                        }
                        Some(false) => {
                            self.block(frame, reject);
                            continue;
                        }
                        None => {}
                    }
                    let (before, locals) = (self.since.clone(), frame.locals.clone());
                    let guard = self.guard(frame, *condition);
                    let depth = self.below.len();
                    self.below.extend(guard);
                    self.block(frame, accept);
                    self.below.truncate(depth);
                    let accepted = std::mem::replace(&mut self.since, before);
                    let accepted_locals = std::mem::replace(&mut frame.locals, locals);
                    self.block(frame, reject);
                    self.join(accepted);
                    // Values that differ are unknown.
                    frame.locals.retain(|variable, value| accepted_locals.get(variable) == Some(value));
                }
                Statement::Switch { cases, .. } => {
                    let before = self.since.clone();
                    let mut joined = Vec::new();
                    for case in cases {
                        self.since.clone_from(&before);
                        self.block(frame, &case.body);
                        joined.append(&mut self.since);
                    }
                    self.since = before;
                    self.join(joined);
                }
                Statement::Loop { body, continuing, .. } => self.repeat(frame, body, continuing),
                Statement::Store { pointer, value } => {
                    self.access(frame, *pointer, true);
                    if let Value::Local(_, variable) = self.value(frame, *pointer) {
                        match self.value(frame, *value) {
                            Value::Number(number) => drop(frame.locals.insert(variable.index(), number)),
                            _ => drop(frame.locals.remove(&variable.index())),
                        }
                    }
                }
                Statement::Atomic { .. } => {}
                Statement::Call { function, arguments, .. } => {
                    let values = arguments.iter().map(|&argument| self.value(frame, argument)).collect();
                    let path = [&frame.path[..], &[arguments.as_ptr() as usize]].concat();
                    self.call(&self.module.functions[*function], values, path);
                }
                Statement::ControlBarrier(barrier) => {
                    let module = self.module;
                    self.since.retain(|access| {
                        let covered = match module.global_variables[access.variable].space {
                            AddressSpace::WorkGroup => Barrier::WORK_GROUP,
                            _ => Barrier::STORAGE,
                        };
                        !barrier.contains(covered)
                    });
                }
                _ => {}
            }
        }
    }

    /// Walks a loop twice, after determining what is known of variables that grow by steps. Leaving it early is
    /// equivalent to leaving it at the end of a pass: recorded accesses are kept.
    fn repeat(&mut self, frame: &mut Frame<'m>, body: &'m Block, continuing: &'m Block) {
        let mut stores = Vec::new();
        stores_of(body, &mut stores);
        stores_of(continuing, &mut stores);
        let start = frame.locals.clone();
        for (pointer, value) in &stores {
            let Expression::LocalVariable(variable) = frame.function.expressions[*pointer] else { continue };
            let step = self.step(frame, variable, *value);
            let number = frame.locals.get(&variable.index()).cloned();
            let grown = number.zip(step).map(|(number, step)| {
                let with =
                    |((value, modulus), step): ((i64, i64), i64)| normalized((value, gcd(modulus, step)));
                number.into_iter().zip(step).map(with).collect::<Residues>()
            });
            match grown {
                Some(grown) => drop(frame.locals.insert(variable.index(), grown)),
                None => drop(frame.locals.remove(&variable.index())),
            }
        }
        let known = frame.locals.clone();
        let before = self.since.clone();
        let mut ended = before;
        for pass in 0..2 {
            frame.locals.clone_from(&known);
            self.passes.push(pass);
            self.block(frame, body);
            self.block(frame, continuing);
            self.passes.pop();
            ended.extend(
                self.since.iter().filter(|access| !ended.contains(access)).cloned().collect::<Vec<_>>(),
            );
        }
        self.since = ended;
        // Variables that the loop does not write keep their values.
        frame.locals = known;
        for (variable, value) in start {
            let written = stores.iter().any(|(pointer, _)| {
                matches!(frame.function.expressions[*pointer], Expression::LocalVariable(v) if v.index() == variable)
            });
            if !written {
                frame.locals.insert(variable, value);
            }
        }
    }

    /// Returns c of a value `variable + c`, for each thread.
    fn step(
        &self,
        frame: &Frame<'m>,
        variable: Handle<LocalVariable>,
        value: Handle<Expression>,
    ) -> Option<Vec<i64>> {
        let expressions = &frame.function.expressions;
        let Expression::Binary { op: BinaryOperator::Add, left, right } = expressions[value] else {
            return None;
        };
        let Expression::Load { pointer } = expressions[left] else { return None };
        if expressions[pointer] != Expression::LocalVariable(variable) {
            return None;
        }
        // It may not have been computed yet: constants need no statement, and products of them are exact.
        let step = self.number_of_constants(frame, right)?;
        Some(vec![step; self.threads as usize])
    }

    fn number_of_constants(&self, frame: &Frame<'m>, handle: Handle<Expression>) -> Option<i64> {
        match self.evaluate(frame, handle) {
            Value::Number(number) => {
                let first = number[0];
                // A step that is unknown but a multiple of something is sufficient.
                number.iter().all(|&residue| residue == first).then_some(())?;
                match first {
                    (step, 0) => Some(step),
                    (0, modulus) if modulus > 1 => Some(modulus),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Evaluates a condition that is known at compile time.
    fn decided(&self, frame: &Frame<'m>, condition: Handle<Expression>) -> Option<bool> {
        match frame.function.expressions[condition] {
            Expression::Literal(Literal::Bool(value)) => Some(value),
            Expression::Constant(constant) => {
                match self.module.global_expressions[self.module.constants[constant].init] {
                    Expression::Literal(Literal::Bool(value)) => Some(value),
                    _ => None,
                }
            }
            Expression::Binary { op: BinaryOperator::Greater, left, right } => {
                Some(self.constant(frame, left)? > self.constant(frame, right)?)
            }
            _ => None,
        }
    }

    /// Returns x of a condition `thread < x`.
    fn guard(&self, frame: &Frame<'m>, condition: Handle<Expression>) -> Option<Term> {
        let Expression::Binary { op: BinaryOperator::Less, left, right } =
            frame.function.expressions[condition]
        else {
            return None;
        };
        self.is_thread(&self.number(frame, left)).then(|| self.term(frame, right))
    }

    fn join(&mut self, other: Vec<Access>) {
        for access in other {
            if !self.since.contains(&access) {
                self.since.push(access);
            }
        }
    }
}

/// Returns true if the first is to `thread + x` and the second to a thread's own cell, both where `thread < x`.
fn are_halves(upper: &Access, lower: &Access) -> bool {
    let Some(x) = &upper.above else { return false };
    lower.is_own && upper.below.contains(x) && lower.below.contains(x)
}

fn stores_of(block: &Block, out: &mut Vec<(Handle<Expression>, Handle<Expression>)>) {
    for statement in block.iter() {
        match statement {
            Statement::Store { pointer, value } => out.push((*pointer, *value)),
            Statement::Block(inner) => stores_of(inner, out),
            Statement::If { accept, reject, .. } => {
                stores_of(accept, out);
                stores_of(reject, out);
            }
            Statement::Loop { body, continuing, .. } => {
                stores_of(body, out);
                stores_of(continuing, out);
            }
            Statement::Switch { cases, .. } => cases.iter().for_each(|case| stores_of(&case.body, out)),
            _ => {}
        }
    }
}
