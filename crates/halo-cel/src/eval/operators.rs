//! Arithmetic and ordering.

use super::time::{checked_difference, checked_span, checked_sum};
use super::{EvalError, MAX_STRING_BYTES, Machine, Outcome};
use crate::Val;
use crate::kinds::{Arith, Order};
use crate::program::Node;
use halo_canon::Duration;
use std::borrow::Cow;

impl<'a> Machine<'a, '_, '_> {
    pub(super) fn negate(&mut self, node: &'a Node, operand: &'a Node) -> Outcome<'a> {
        self.step(1)?;
        match self.value(operand)? {
            Val::Number(number) => Ok(Val::Number(-number)),
            other => {
                let text = self.program.text(node.span);
                let kind = other.kind().noun();
                Err(EvalError(format!("`{text}`: `-` does not take {kind}")))
            }
        }
    }

    pub(super) fn arith(&mut self, node: &'a Node, op: Arith, sides: &'a [Node; 2]) -> Outcome<'a> {
        self.step(1)?;
        let left = self.value(&sides[0])?;
        let right = self.value(&sides[1])?;
        match (op, left, right) {
            (_, Val::Number(left), Val::Number(right)) => self.numbers(node, op, left, right),
            (Arith::Add, Val::String(left), Val::String(right)) => self.concat(node, left, &right),
            (Arith::Add, Val::Timestamp(at), Val::Duration(span))
            | (Arith::Add, Val::Duration(span), Val::Timestamp(at)) => {
                let sum = at.checked_plus(span).map(Val::Timestamp);
                sum.ok_or_else(|| self.out_of_range(node))
            }
            (Arith::Subtract, Val::Timestamp(at), Val::Duration(span)) => {
                let back = Duration::from_nanos(-span.nanos());
                let difference = at.checked_plus(back).map(Val::Timestamp);
                difference.ok_or_else(|| self.out_of_range(node))
            }
            (Arith::Subtract, Val::Timestamp(left), Val::Timestamp(right)) => {
                let span = checked_span(left.since(right)).map(Val::Duration);
                span.ok_or_else(|| self.out_of_range(node))
            }
            (Arith::Add, Val::Duration(left), Val::Duration(right)) => {
                let sum = checked_sum(left, right).map(Val::Duration);
                sum.ok_or_else(|| self.out_of_range(node))
            }
            (Arith::Subtract, Val::Duration(left), Val::Duration(right)) => {
                let difference = checked_difference(left, right).map(Val::Duration);
                difference.ok_or_else(|| self.out_of_range(node))
            }
            (Arith::Add, left @ (Val::List(_) | Val::Json(_)), right) => {
                self.append(node, left, right)
            }
            (_, left, right) => Err(self.wrong_operands(node, op.symbol(), &left, &right)),
        }
    }

    fn numbers(&self, node: &Node, op: Arith, left: f64, right: f64) -> Outcome<'a> {
        let result = match op {
            Arith::Add => left + right,
            Arith::Subtract => left - right,
            Arith::Multiply => left * right,
            Arith::Divide => left / right,
            Arith::Modulo => left % right,
        };
        let whole = op != Arith::Modulo || (left.fract() == 0.0 && right.fract() == 0.0);
        if result.is_finite() && whole {
            return Ok(Val::Number(result));
        }
        let text = self.program.text(node.span);
        let reason = match op {
            Arith::Divide | Arith::Modulo if right == 0.0 => "division by zero",
            Arith::Modulo if !whole => "`%` takes whole numbers only",
            _ => "the result is no finite number",
        };
        Err(EvalError(format!("`{text}`: {reason}")))
    }

    fn concat(&mut self, node: &Node, left: Cow<'a, str>, right: &str) -> Outcome<'a> {
        let len = left.len().saturating_add(right.len());
        if len > MAX_STRING_BYTES {
            let text = self.program.text(node.span);
            let message = format!("`{text}` is longer than {MAX_STRING_BYTES} bytes");
            return Err(EvalError(message));
        }
        self.text_steps(len)?;
        let mut text = left.into_owned();
        text.push_str(right);
        Ok(Val::String(Cow::Owned(text)))
    }

    /// `+` of two lists.
    fn append(&mut self, node: &Node, left: Val<'a>, right: Val<'a>) -> Outcome<'a> {
        let mut elements = Vec::new();
        for side in [&left, &right] {
            match side {
                Val::List(list) => {
                    self.step(list.len())?;
                    elements.extend(list.iter().cloned());
                }
                Val::Json(value) if let Some(array) = value.as_array() => {
                    self.step(array.len())?;
                    elements.extend(array.iter().map(Val::from));
                }
                _ => return Err(self.wrong_operands(node, "+", &left, &right)),
            }
        }
        Ok(Val::List(elements))
    }

    pub(super) fn order(
        &mut self,
        node: &'a Node,
        op: Order,
        sides: &'a [Node; 2],
    ) -> Result<bool, EvalError> {
        self.step(1)?;
        let left = self.value(&sides[0])?;
        let right = self.value(&sides[1])?;
        let ordering = match (&left, &right) {
            // Every number is finite, so this is never nothing.
            (Val::Number(left), Val::Number(right)) => left.partial_cmp(right),
            (Val::String(left), Val::String(right)) => {
                self.text_steps(left.len().min(right.len()))?;
                // UTF-8 orders as code points do.
                Some(left.as_bytes().cmp(right.as_bytes()))
            }
            (Val::Timestamp(left), Val::Timestamp(right)) => Some(left.cmp(right)),
            (Val::Duration(left), Val::Duration(right)) => Some(left.cmp(right)),
            (Val::Bool(left), Val::Bool(right)) => Some(left.cmp(right)),
            _ => None,
        };
        match ordering {
            Some(ordering) => Ok(op.holds(ordering)),
            None => Err(self.wrong_operands(node, op.symbol(), &left, &right)),
        }
    }

    #[cold]
    fn wrong_operands(
        &self,
        node: &Node,
        symbol: &str,
        left: &Val<'_>,
        right: &Val<'_>,
    ) -> EvalError {
        let text = self.program.text(node.span);
        let (left, right) = (left.kind().noun(), right.kind().noun());
        EvalError(format!(
            "`{text}`: `{symbol}` does not take {left} and {right}"
        ))
    }

    #[cold]
    fn out_of_range(&self, node: &Node) -> EvalError {
        let text = self.program.text(node.span);
        EvalError(format!("`{text}` is out of range"))
    }
}
