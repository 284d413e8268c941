//! Functions.

use super::equality::Shape;
use super::time::{duration_part, parse_span, timestamp_part, write_span};
use super::{EvalError, Machine, Outcome};
use crate::Val;
use crate::functions::{Function, TimePart};
use crate::hints::clip;
use crate::program::{Node, Pattern};
use halo_canon::{Instant, MAX_INTEGER};
use std::borrow::Cow;

impl<'a> Machine<'a, '_, '_> {
    pub(super) fn call(&mut self, function: Function, args: &'a [Node]) -> Outcome<'a> {
        self.step(1)?;
        match args {
            [node] => {
                let arg = self.value(node)?;
                if let Val::String(text) = &arg {
                    self.text_steps(text.len())?;
                }
                self.unary(function, node, arg)
            }
            [text, part] => self.search(function, text, part),
            _ => Err(EvalError("a call without arguments".into())),
        }
    }

    fn unary(&mut self, function: Function, node: &'a Node, arg: Val<'a>) -> Outcome<'a> {
        match (function, arg) {
            (Function::Size, arg) => self.size(node, &arg),
            (Function::Dyn, arg) => Ok(arg),
            (Function::String, arg) => self.string(node, arg),
            (Function::Double | Function::Int, Val::String(text)) => {
                self.parse_number(function, node, &text)
            }
            (Function::Double, Val::Number(number)) => Ok(Val::Number(number)),
            (Function::Int, Val::Number(number)) => Ok(Val::Number(number.trunc())),
            (Function::Bool, Val::Bool(value)) => Ok(Val::Bool(value)),
            (Function::Bool, Val::String(text)) => match &*text {
                "true" => Ok(Val::Bool(true)),
                "false" => Ok(Val::Bool(false)),
                _ => Err(self.no_text_of(node, &text, "a boolean")),
            },
            (Function::Timestamp, Val::Timestamp(at)) => Ok(Val::Timestamp(at)),
            (Function::Timestamp, Val::String(text)) => match Instant::parse(&text) {
                Ok(at) => Ok(Val::Timestamp(at)),
                Err(error) => Err(self.program.no_instant(node, &error)),
            },
            (Function::Duration, Val::Duration(span)) => Ok(Val::Duration(span)),
            (Function::Duration, Val::String(text)) => match parse_span(&text) {
                Some(span) => Ok(Val::Duration(span)),
                None => Err(self.no_text_of(node, &text, "a duration such as `1h30m`")),
            },
            (Function::Part(part), Val::Timestamp(at)) => Ok(Val::Number(timestamp_part(at, part))),
            (Function::Part(part), Val::Duration(span)) => self.span_part(node, span, part),
            (function, other) => Err(self.not_taken(function, node, &other)),
        }
    }

    fn span_part(&self, node: &Node, span: halo_canon::Duration, part: TimePart) -> Outcome<'a> {
        duration_part(span, part)
            .map(Val::Number)
            .ok_or_else(|| self.not_taken(Function::Part(part), node, &Val::Duration(span)))
    }

    fn size(&mut self, node: &Node, arg: &Val<'a>) -> Outcome<'a> {
        let size = match (arg, Shape::of(arg)) {
            (Val::String(text), _) => text.chars().count(),
            (_, Shape::JsonList(array)) => array.len(),
            (_, Shape::JsonMap(object)) => object.len(),
            (_, Shape::List(list)) => list.len(),
            (_, Shape::Map(map)) => map.len(),
            (_, Shape::Scalar) => return Err(self.not_taken(Function::Size, node, arg)),
        };
        Ok(Val::Number(size as f64))
    }

    fn string(&self, node: &Node, arg: Val<'a>) -> Outcome<'a> {
        let text = match arg {
            Val::String(text) => return Ok(Val::String(text)),
            Val::Bool(value) => value.to_string(),
            Val::Number(number) => {
                let mut text = Vec::new();
                halo_canon::write_number(&mut text, number);
                String::from_utf8_lossy(&text).into_owned()
            }
            Val::Timestamp(at) => at.to_string(),
            Val::Duration(span) => write_span(span),
            other => return Err(self.not_taken(Function::String, node, &other)),
        };
        Ok(Val::String(Cow::Owned(text)))
    }

    fn parse_number(&self, function: Function, node: &Node, text: &str) -> Outcome<'a> {
        let whole = function == Function::Int;
        let number = text.parse::<f64>().ok().filter(|number| {
            let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
            let spelled_whole = digits.bytes().all(|byte| byte.is_ascii_digit());
            number.is_finite() && (!whole || (spelled_whole && number.abs() <= MAX_INTEGER))
        });
        let wanted = if whole { "an integer" } else { "a number" };
        number
            .map(Val::Number)
            .ok_or_else(|| self.no_text_of(node, text, wanted))
    }

    /// `contains`, `startsWith`, `endsWith`.
    fn search(&mut self, function: Function, text: &'a Node, part: &'a Node) -> Outcome<'a> {
        let (text_value, part_value) = (self.value(text)?, self.value(part)?);
        let (Val::String(haystack), Val::String(needle)) = (&text_value, &part_value) else {
            let text_wrong = !matches!(text_value, Val::String(_));
            return Err(match text_wrong {
                true => self.not_taken(function, text, &text_value),
                false => self.not_taken(function, part, &part_value),
            });
        };
        let found = match function {
            Function::StartsWith => {
                self.text_steps(needle.len())?;
                haystack.starts_with(&**needle)
            }
            Function::EndsWith => {
                self.text_steps(needle.len())?;
                haystack.ends_with(&**needle)
            }
            _ => {
                self.text_steps(haystack.len().saturating_add(needle.len()))?;
                haystack.contains(&**needle)
            }
        };
        Ok(Val::Bool(found))
    }

    pub(super) fn matches(&mut self, text: &'a Node, pattern: &Pattern) -> Result<bool, EvalError> {
        self.step(1)?;
        match self.value(text)? {
            Val::String(haystack) => {
                self.text_steps(haystack.len().saturating_mul(pattern.cost))?;
                Ok(pattern.regex.is_match(&haystack))
            }
            other => Err(self.not_taken(Function::Matches, text, &other)),
        }
    }

    #[cold]
    fn not_taken(&self, function: Function, node: &Node, found: &Val<'_>) -> EvalError {
        let name = crate::functions::name_of(function);
        let text = self.program.text(node.span);
        EvalError(format!(
            "`{text}` is {}, which `{name}` does not take",
            found.kind().noun()
        ))
    }

    #[cold]
    fn no_text_of(&self, node: &Node, found: &str, wanted: &str) -> EvalError {
        let text = self.program.text(node.span);
        EvalError(format!("`{text}` is {:?}, not {wanted}", clip(found)))
    }
}
