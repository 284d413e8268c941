//! The macros that loop: over the elements of a list, over the keys of an object.

use super::equality::Shape;
use super::{EvalError, Machine, Outcome};
use crate::Val;
use crate::program::{Loop, LoopKind, Node};
use std::borrow::Cow;

impl<'a> Machine<'a, '_, '_> {
    pub(super) fn run_loop(&mut self, body: &'a Loop) -> Outcome<'a> {
        self.step(1)?;
        let outcome = match body.kind {
            LoopKind::All => self.quantify(body, false).map(Val::Bool),
            LoopKind::Exists => self.quantify(body, true).map(Val::Bool),
            LoopKind::ExistsOne => self.exactly_one(body).map(Val::Bool),
            LoopKind::Map | LoopKind::Filter => self.collect(body).map(Val::List),
        };
        self.local = None;
        outcome
    }

    /// `all` and `exists` of CEL: an element that is `decisive` decides, whatever errors the others give.
    fn quantify(&mut self, body: &'a Loop, decisive: bool) -> Result<bool, EvalError> {
        let mut verdict = Ok(!decisive);
        self.each(&body.range, |machine| {
            match machine.truth(&body.body) {
                Ok(value) if value == decisive => {
                    verdict = Ok(decisive);
                    return Ok(false);
                }
                Ok(_) => {}
                Err(error) if verdict.is_ok() => verdict = Err(error),
                Err(_) => {}
            }
            Ok(true)
        })?;
        verdict
    }

    fn exactly_one(&mut self, body: &'a Loop) -> Result<bool, EvalError> {
        let mut count = 0_u32;
        self.each(&body.range, |machine| {
            count += u32::from(machine.truth(&body.body)?);
            Ok(true)
        })?;
        Ok(count == 1)
    }

    fn collect(&mut self, body: &'a Loop) -> Result<Vec<Val<'a>>, EvalError> {
        let mut collected = Vec::new();
        self.each(&body.range, |machine| {
            if let Some(guard) = &body.guard
                && !machine.truth(guard)?
            {
                return Ok(true);
            }
            if body.kind == LoopKind::Map {
                collected.push(machine.value(&body.body)?);
            } else if machine.truth(&body.body)? {
                collected.extend(machine.local.take());
            }
            Ok(true)
        })?;
        Ok(collected)
    }

    /// Runs `visit` with each element as the loop variable, as long as it says so.
    fn each(
        &mut self,
        range: &'a Node,
        mut visit: impl FnMut(&mut Self) -> Result<bool, EvalError>,
    ) -> Result<(), EvalError> {
        let value = self.value(range)?;
        let mut go = |element: Val<'a>| {
            self.step(1)?;
            self.local = Some(element);
            visit(self)
        };
        match value {
            Val::List(list) => {
                for element in list {
                    if !go(element)? {
                        break;
                    }
                }
            }
            Val::Map(map) => {
                for (key, _) in map {
                    if !go(key)? {
                        break;
                    }
                }
            }
            other => match Shape::of(&other) {
                Shape::JsonList(array) => {
                    for element in array.iter() {
                        if !go(element.into())? {
                            break;
                        }
                    }
                }
                Shape::JsonMap(object) => {
                    for (key, _) in object.iter() {
                        if !go(Val::String(Cow::Borrowed(key)))? {
                            break;
                        }
                    }
                }
                _ => return Err(self.program.not_a(range, &other, "a list or an object")),
            },
        }
        Ok(())
    }
}
