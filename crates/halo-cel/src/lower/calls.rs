//! Calls: functions, `has`, `matches` and the macros that loop.

use super::{Local, Lowering, Typed};
use crate::extent::is_macro;
use crate::functions::{self, Signature, Style};
use crate::hints::{VARIABLES, bare_error, clip, did_you_mean, error};
use crate::kinds::{Kind, Kinds};
use crate::program::{Loop, LoopKind, Op, Pattern};
use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue};
use regex::RegexBuilder;

/// Sizes of a compiled pattern in bytes, and what its search then costs for 64 bytes of text: its worst time grows with
/// its size. A pattern beyond the last is refused.
const PATTERN_SIZES: [(usize, usize); 4] = [
    (8 << 10, 1),
    (32 << 10, 4),
    (128 << 10, 16),
    (256 << 10, 32),
];
const STRING: Kinds = Kinds::of(Kind::String);

impl Lowering<'_> {
    pub(super) fn call(&mut self, tree: &IdedExpr, call: &CallExpr) -> Typed {
        let name = call.func_name.as_str();
        let target = call.target.as_deref();
        if target.is_none()
            && let Some(typed) = self.operator(tree, name, &call.args)
        {
            return typed;
        }
        match (name, target) {
            ("has", None) => self.has_call(tree, &call.args),
            (name, Some(range)) if is_macro(name) => self.macro_call(tree, name, range, &call.args),
            _ => match functions::find(name) {
                Some(signature) => self.function(tree, call, signature),
                None => self.unknown_function(tree, call),
            },
        }
    }

    fn unknown_function(&mut self, tree: &IdedExpr, call: &CallExpr) -> Typed {
        let name = call.func_name.as_str();
        if is_macro(name) {
            let hint = format!("write `payload.items.{name}(x, …)`");
            return self.refuse(tree, format!("`{name}` needs a list before it"), hint);
        }
        for arg in &call.args {
            self.expression(arg);
        }
        let hint = did_you_mean(name, functions::names(), "functions");
        let message = format!("unknown function `{}`", clip(name));
        self.refuse(tree, message, hint)
    }

    fn function(&mut self, tree: &IdedExpr, call: &CallExpr, signature: &Signature) -> Typed {
        let name = signature.name;
        let args: Vec<&IdedExpr> = call
            .target
            .as_deref()
            .into_iter()
            .chain(&call.args)
            .collect();
        let style_fits = match signature.style {
            Style::Global => call.target.is_none(),
            Style::Receiver => call.target.is_some(),
            Style::Either => true,
        };
        if !style_fits || args.len() != signature.params.len() {
            for arg in args {
                self.expression(arg);
            }
            let message = match style_fits {
                true => format!("`{name}` does not take {} arguments", call.args.len()),
                false => format!("`{name}` is not called like this"),
            };
            return self.refuse(tree, message, format!("write `{}`", signature.usage));
        }
        if name == "matches" {
            return self.matches(tree, args[0], args[1]);
        }
        let mut nodes = Vec::with_capacity(args.len());
        for (arg, wanted) in args.iter().zip(signature.params) {
            let typed = self.expression(arg);
            if !typed.kinds.meets(*wanted) {
                self.errors.push(error(
                    typed.node.span,
                    format!("`{name}` takes {wanted}; this is {}", typed.kinds),
                    format!("write `{}`", signature.usage),
                ));
            }
            nodes.push(typed.node);
        }
        let op = Op::Call(signature.function, nodes.into());
        self.typed(tree, op, signature.result)
    }

    /// The pattern is compiled now: a literal, in linear time, and of bounded size.
    fn matches(&mut self, tree: &IdedExpr, text: &IdedExpr, pattern: &IdedExpr) -> Typed {
        let text = self.expression(text);
        if !text.kinds.meets(STRING) {
            let message = format!("`matches` takes a string; this is {}", text.kinds);
            self.errors.push(bare_error(text.node.span, message));
        }
        let Expr::Literal(LiteralValue::String(literal)) = &pattern.expr else {
            return self.refuse(
                pattern,
                "the pattern of `matches` must be a string literal",
                "a pattern is compiled when the catalog loads, so that matching is bounded",
            );
        };
        match compile_pattern(literal.inner()) {
            Ok(pattern) => {
                let op = Op::Matches(text.node.into(), pattern.into());
                self.typed(tree, op, Kinds::of(Kind::Bool))
            }
            Err(fault) => {
                let fault = fault.to_string();
                let line = fault.lines().last().unwrap_or_default();
                let message = format!("the pattern does not compile: {}", clip(line.trim()));
                let hint = "patterns have the syntax of RE2: no look-around, no back-references";
                self.refuse(pattern, message, hint)
            }
        }
    }

    fn has_call(&mut self, tree: &IdedExpr, args: &[IdedExpr]) -> Typed {
        match args {
            [field] if matches!(field.expr, Expr::Select(_)) => self.has_field(tree, field),
            _ => {
                for arg in args {
                    self.expression(arg);
                }
                self.refuse(
                    tree,
                    "`has` takes the selection of a field",
                    "write `has(payload.a)`; for a key write `\"a b\" in payload`",
                )
            }
        }
    }

    fn macro_call(
        &mut self,
        tree: &IdedExpr,
        name: &str,
        range: &IdedExpr,
        args: &[IdedExpr],
    ) -> Typed {
        let (variable, guard, body) = match args {
            [variable, body] => (variable, None, body),
            [variable, guard, body] if name == "map" => (variable, Some(guard), body),
            _ => {
                let message = format!("`{name}` does not take {} arguments", args.len());
                return self.refuse(tree, message, format!("write `list.{name}(x, …)`"));
            }
        };
        if self.in_loop {
            let message = format!("`{name}` stands within another loop");
            let hint = "loops do not nest, so that evaluation is bounded; split the predicate";
            return self.refuse(tree, message, hint);
        }
        // A loop in the range of a loop counts as nested too.
        self.in_loop = true;
        let range = self.expression(range);
        if !range.kinds.meets(Kinds::of(Kind::List).or(Kind::Map)) {
            self.errors.push(error(
                range.node.span,
                format!(
                    "`{name}` takes a list or an object; this is {}",
                    range.kinds
                ),
                format!("write `list.{name}(x, …)`"),
            ));
        }
        // Elements of JSON are JSON; those of a list made here may be anything.
        let kinds = if range.kinds == Kinds::JSON {
            Kinds::JSON
        } else {
            Kinds::ANY
        };
        self.bind(variable, kinds);
        let lowered = self.macro_body(name, guard, body);
        self.local = None;
        self.in_loop = false;
        let (kind, guard, body, result) = lowered;
        let op = Op::Loop(Box::new(Loop {
            kind,
            range: range.node,
            guard,
            body,
        }));
        self.typed(tree, op, Kinds::of(result))
    }

    fn macro_body(
        &mut self,
        name: &str,
        guard: Option<&IdedExpr>,
        body: &IdedExpr,
    ) -> (
        LoopKind,
        Option<crate::program::Node>,
        crate::program::Node,
        Kind,
    ) {
        let guard = guard.map(|guard| self.boolean(guard, name));
        let (kind, result) = match name {
            "all" => (LoopKind::All, Kind::Bool),
            "exists" => (LoopKind::Exists, Kind::Bool),
            "exists_one" => (LoopKind::ExistsOne, Kind::Bool),
            "filter" => (LoopKind::Filter, Kind::List),
            _ => (LoopKind::Map, Kind::List),
        };
        let body = match kind {
            LoopKind::Map => self.expression(body).node,
            _ => self.boolean(body, name),
        };
        (kind, guard, body, result)
    }

    fn bind(&mut self, variable: &IdedExpr, kinds: Kinds) {
        let name = match &variable.expr {
            Expr::Ident(name) if !name.starts_with('.') => name.as_str(),
            _ => {
                self.refuse(
                    variable,
                    "a loop variable is a plain name",
                    "write `list.all(x, x > 0)`",
                );
                return;
            }
        };
        if VARIABLES.contains(&name) {
            let message = format!("`{name}` is a variable already");
            self.refuse(variable, message, "choose another name, for example `x`");
        }
        self.local = Some(Local {
            name: name.to_string(),
            kinds,
        });
    }
}

/// Compiles in the smallest size that does.
fn compile_pattern(pattern: &str) -> Result<Pattern, regex::Error> {
    let mut refused = regex::Error::CompiledTooBig(0);
    for (size, cost) in PATTERN_SIZES {
        let built = RegexBuilder::new(pattern)
            .size_limit(size)
            .nest_limit(64)
            .build();
        match built {
            Ok(regex) => return Ok(Pattern { regex, cost }),
            Err(error) => refused = error,
        }
        if !matches!(refused, regex::Error::CompiledTooBig(_)) {
            break;
        }
    }
    Err(refused)
}
