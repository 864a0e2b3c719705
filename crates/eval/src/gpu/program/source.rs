//! The WGSL function of a program: its pipeline written out, forward and back.

use std::fmt::Write;

use gputexel_model::program::{
    Adjustment, CompiledProgram, Factor, FactorTarget, Input, LINEAR, Operator, Phase, Term,
};

/// Returns the prefix of the kernels of a program: its sums, and `program` itself if it is called.
pub fn declarations(program: &CompiledProgram, unit: bool, calls: bool) -> String {
    let starts: Vec<String> = program.slot_starts().iter().map(|start| format!("{start}u")).collect();
    let slots = program.slots();
    let mut out = format!(
        "const SLOTS = {slots}u;\nconst STARTS = array<u32, {}>({});\nconst UNIT = {unit};\n",
        slots + 1,
        starts.join(", ")
    );
    if calls {
        Writer { program, out: &mut out }.function();
    }
    out
}

/// Formats a number for WGSL: constants are those of the CPU's f32 kernels.
fn number(value: f64) -> String {
    format!("{:?}f", value as f32)
}

const LIMIT: &str = "3.0e38";

struct Writer<'a> {
    program: &'a CompiledProgram,
    out: &'a mut String,
}

/// The sum that a term goes into, if it is not added to the score.
fn inside(term: &Term) -> Option<Input> {
    term.into.map(|accumulator| Input { accumulator, phase: term.target })
}

fn component(phase: usize) -> &'static str {
    ["x", "y"][phase]
}

impl Writer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "    {text}");
    }

    fn sum(&self, input: Input, side: usize) -> String {
        let (slot, phase) = self.program.slot(input, side);
        format!("(*sums)[{slot}].{}", component(phase))
    }

    fn slope(&self, input: Input, side: usize) -> String {
        let (slot, phase) = self.program.slot(input, side);
        format!("(*slopes)[{slot}].{}", component(phase))
    }

    fn has(&self, input: Input, side: usize) -> String {
        let (slot, _) = self.program.slot(input, side);
        format!("(present & {}u) != 0u", 1u32 << slot)
    }

    fn function(&mut self) {
        let program = self.program.program();
        let slots = self.program.slots();
        let _ = writeln!(
            self.out,
            "fn program(sums: ptr<function, array<vec2<f32>, {slots}>>, of_entries: u32, taper: vec2<f32>, \
             slopes: ptr<function, array<vec2<f32>, {slots}>>) -> f32 {{"
        );
        self.line(&format!(
            "for (var slot = 0u; slot < {slots}u; slot += 1u) {{ (*slopes)[slot] = vec2<f32>(0.0); }}"
        ));
        self.line(&format!("var v = (*sums)[{LINEAR}];"));
        self.line("var present = of_entries;");
        let inner = self.program.inner_terms();
        let outer: Vec<usize> = (0..program.terms.len()).filter(|index| !inner.contains(index)).collect();
        for &index in inner.iter().chain(&outer) {
            self.term(index, &program.terms[index]);
        }
        for (index, adjustment) in program.adjustments.iter().enumerate() {
            self.adjustment(index, *adjustment);
        }
        match &program.factor {
            None => {
                self.line("let score = taper.x * v.x + taper.y * v.y;");
                self.line("var g = taper;");
            }
            Some(factor) => self.factor(factor),
        }
        for (index, adjustment) in program.adjustments.iter().enumerate().rev() {
            self.adjustment_back(index, *adjustment);
        }
        for &index in outer.iter().chain(inner.iter().rev()) {
            self.term_back(index, &program.terms[index]);
        }
        self.line(&format!("(*slopes)[{LINEAR}] += g;"));
        self.line("return score;");
        self.out.push_str("}\n");
    }

    fn sides(&self, input: Input) -> usize {
        self.program.slots_of(input.accumulator).len()
    }

    fn term(&mut self, index: usize, term: &Term) {
        let target = component(term.target as usize);
        for side in 0..self.sides(term.input) {
            let name = format!("t{index}_{side}");
            self.line(&format!("var {name} = vec2<f32>(0.0);"));
            let mut condition = self.has(term.input, side);
            if let Some(times) = term.times {
                condition = format!("{condition} && {}", self.has(times, side));
            }
            self.line(&format!("if {condition} {{"));
            self.function_of(&name, term, &self.sum(term.input, side));
            let product = term.times.map_or(String::new(), |times| format!(" * {}", self.sum(times, side)));
            let into = inside(term);
            let (value, sign) = match into {
                Some(into) => (self.sum(into, side), "+"),
                None => (format!("v.{target}"), ["+", "-"][side]),
            };
            // The minimum keeps a product out of a fused multiply-add, which would leave the rounding error of the product
            // where the terms of two equal sides cancel: the sign of that error would then decide about adjustments and
            // factors. NVIDIA's compiler fuses, Mesa's does not.
            self.line(&format!("{value} {sign}= min({name}.x{product}, {LIMIT});"));
            if let Some(into) = into {
                let (slot, _) = self.program.slot(into, side);
                self.line(&format!("present |= {}u;", 1u32 << slot));
            }
            self.line("}");
        }
    }

    fn function_of(&mut self, name: &str, term: &Term, sum: &str) {
        let shifted = format!("{sum} + {}", number(term.shift));
        let mut scale = term.scale;
        let inner = 1.0 / term.divide;
        if term.operator.divides_argument() {
            self.line(&format!("let x = ({shifted}) * {};", number(inner)))
        } else {
            scale /= term.divide;
            self.line(&format!("let x = {shifted};"));
        }
        match &term.operator {
            Operator::Identity => self.line(&format!("{name} = vec2<f32>(x, 1.0);")),
            Operator::Relu => {
                self.line(&format!("{name} = select(vec2<f32>(0.0), vec2<f32>(x, 1.0), x > 0.0);"));
            }
            Operator::Relu2 => {
                self.line("let on = max(x, 0.0);");
                self.line(&format!("{name} = vec2<f32>(on * on, on + on);"));
            }
            Operator::Square => self.line(&format!("{name} = vec2<f32>(x * abs(x), 2.0 * abs(x));")),
            Operator::Sigmoid => {
                // e^-|x| cannot overflow.
                self.line("let tail = exp(-abs(x));");
                self.line("let near = 1.0 / (1.0 + tail);");
                self.line("let p = select(tail * near, near, x >= 0.0);");
                self.line(&format!("{name} = vec2<f32>(p, tail * near * near * {});", number(inner)));
            }
            Operator::Table(knots) => {
                let last = knots[knots.len() - 1];
                self.line(&format!("{name} = vec2<f32>({}, 0.0);", number(knots[0][1])));
                for pair in knots.windows(2) {
                    let [[x0, y0], [x1, y1]] = [pair[0], pair[1]];
                    let rise = (y1 - y0) / (x1 - x0);
                    self.line(&format!(
                        "if x > {} {{ {name} = vec2<f32>({} + (x - {}) * {}, {}); }}",
                        number(x0),
                        number(y0),
                        number(x0),
                        number(rise),
                        number(rise * inner)
                    ));
                }
                self.line(&format!(
                    "if x > {} {{ {name} = vec2<f32>({}, 0.0); }}",
                    number(last[0]),
                    number(last[1])
                ));
            }
        }
        self.line(&format!("{name} *= {};", number(scale)));
        if let Some(over) = term.over {
            self.line(&format!("if !({sum} > {}) {{ {name} = vec2<f32>(0.0); }}", number(over)));
        }
    }

    fn term_back(&mut self, index: usize, term: &Term) {
        let target = component(term.target as usize);
        for side in 0..self.sides(term.input) {
            let name = format!("t{index}_{side}");
            let outer = match inside(term) {
                Some(into) => self.slope(into, side),
                None => format!("{}g.{target}", ["", "-"][side]),
            };
            let by_x = self.slope(term.input, side);
            match term.times {
                // If the term is absent, its function and slope are 0.
                None => self.line(&format!("{by_x} += {outer} * {name}.y;")),
                Some(times) => {
                    let (y, by_y) = (self.sum(times, side), self.slope(times, side));
                    self.line(&format!("{by_y} += {outer} * {name}.x;"));
                    self.line(&format!("{by_x} += {outer} * {name}.y * {y};"));
                }
            }
        }
    }

    fn adjustment(&mut self, index: usize, Adjustment { target, by, at_most }: Adjustment) {
        let value = format!("v.{}", component(target as usize));
        self.line(&format!("let before{index} = {value};"));
        let sum = self.sum(by, 0);
        match at_most {
            None => self.line(&format!("let c{index} = {sum};")),
            Some(k) => self.line(&format!("let c{index} = min({sum} + {}, 0.0);", number(k))),
        }
        self.line(&format!("if {} {{", self.has(by, 0)));
        self.line(&format!("{value} += sign({value}) * max(c{index}, -abs({value}));"));
        self.line("}");
    }

    fn adjustment_back(&mut self, index: usize, Adjustment { target, by, at_most }: Adjustment) {
        let outer = format!("g.{}", component(target as usize));
        let open = at_most.map_or("1.0".to_string(), |k| {
            format!("select(1.0, 0.0, {} + {} > 0.0)", self.sum(by, 0), number(k))
        });
        self.line(&format!("if {} {{", self.has(by, 0)));
        self.line(&format!("let inside = c{index} > -abs(before{index});"));
        self.line(&format!(
            "{} += select(0.0, {outer} * sign(before{index}) * {open}, inside);",
            self.slope(by, 0)
        ));
        self.line(&format!("{outer} = select(0.0, {outer}, inside);"));
        self.line("}");
    }

    fn factor(&mut self, factor: &Factor) {
        let strength = match factor.target {
            FactorTarget::Eg => "v.y".to_string(),
            FactorTarget::Score => {
                self.line("let tapered = taper.x * v.x + taper.y * v.y;");
                "tapered".to_string()
            }
        };
        let sides = self.sides(factor.by[0]);
        self.line("var f = 1.0;");
        for side in 0..sides {
            // The smallest of those present; absence is marked by a number beyond all limits.
            self.line(&format!("var least{side} = {LIMIT};"));
            for &by in &factor.by {
                let (has, sum) = (self.has(by, side), self.sum(by, side));
                self.line(&format!("if {has} {{ least{side} = min(least{side}, {sum}); }}"));
            }
            let strong = match (sides, side) {
                (1, _) => String::new(),
                (_, 0) => format!(" && !({strength} < 0.0)"),
                _ => format!(" && {strength} < 0.0"),
            };
            self.line(&format!("let strong{side} = least{side} < {LIMIT}{strong};"));
            self.line(&format!(
                "if strong{side} {{ f = clamp(least{side}, {}, {}) * {}; }}",
                number(factor.min),
                number(factor.max),
                number(1.0 / factor.one)
            ));
        }
        let base = match factor.target {
            FactorTarget::Eg => {
                self.line("let score = taper.x * v.x + taper.y * (v.y * f);");
                self.line("var g = vec2<f32>(taper.x, taper.y * f);");
                "taper.y * v.y"
            }
            FactorTarget::Score => {
                self.line("let score = tapered * f;");
                self.line("var g = taper * f;");
                "tapered"
            }
        };
        for side in 0..sides {
            self.line(&format!(
                "if strong{side} && least{side} >= {} && least{side} <= {} {{",
                number(factor.min),
                number(factor.max)
            ));
            self.line("var open = true;");
            for &by in &factor.by {
                let (has, sum, slope) = (self.has(by, side), self.sum(by, side), self.slope(by, side));
                self.line(&format!("if open && {has} && {sum} == least{side} {{"));
                self.line(&format!("{slope} += {base} * {};", number(1.0 / factor.one)));
                self.line("open = false;");
                self.line("}");
            }
            self.line("}");
        }
    }
}

const _: () = assert!(Phase::Mg as usize == 0 && Phase::Eg as usize == 1, "components x and y");
