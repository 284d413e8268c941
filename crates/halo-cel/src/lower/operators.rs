//! Operators: logic, arithmetic, comparison, `in`, `?:`.

use super::{Lowering, Typed};
use crate::hints::error;
use crate::kinds::{Arith, Kind, Kinds, Order};
use crate::program::{Node, Op};
use cel::common::ast::{IdedExpr, operators};

const BOOL: Kinds = Kinds::of(Kind::Bool);
const CONTAINER: Kinds = Kinds::of(Kind::List).or(Kind::Map);

impl Lowering<'_> {
    /// Lowers the operator `name`, or nothing where it is none.
    pub(super) fn operator(
        &mut self,
        tree: &IdedExpr,
        name: &str,
        args: &[IdedExpr],
    ) -> Option<Typed> {
        match (name, args) {
            (operators::LOGICAL_NOT, [operand]) => {
                let node = self.boolean(operand, "!");
                Some(self.typed(tree, Op::Not(node.into()), BOOL))
            }
            (operators::NEGATE, [operand]) => Some(self.negate(tree, operand)),
            (operators::CONDITIONAL, [condition, then, otherwise]) => {
                let condition = self.boolean(condition, "?");
                let then = self.expression(then);
                let otherwise = self.expression(otherwise);
                let kinds = then.kinds.union(otherwise.kinds);
                let nodes = [condition, then.node, otherwise.node];
                Some(self.typed(tree, Op::If(nodes.into()), kinds))
            }
            (operators::INDEX, [_, _]) => Some(self.chain(tree)),
            (_, [left, right]) => self.binary(tree, name, left, right),
            _ => None,
        }
    }

    fn binary(
        &mut self,
        tree: &IdedExpr,
        name: &str,
        left: &IdedExpr,
        right: &IdedExpr,
    ) -> Option<Typed> {
        let op = match name {
            operators::LOGICAL_AND => {
                Op::And([self.boolean(left, "&&"), self.boolean(right, "&&")].into())
            }
            operators::LOGICAL_OR => {
                Op::Or([self.boolean(left, "||"), self.boolean(right, "||")].into())
            }
            operators::EQUALS | operators::NOT_EQUALS => Op::Equal {
                negated: name == operators::NOT_EQUALS,
                sides: [self.expression(left).node, self.expression(right).node].into(),
            },
            operators::LESS => self.order(tree, Order::Less, left, right),
            operators::LESS_EQUALS => self.order(tree, Order::LessOrEqual, left, right),
            operators::GREATER => self.order(tree, Order::Greater, left, right),
            operators::GREATER_EQUALS => self.order(tree, Order::GreaterOrEqual, left, right),
            operators::IN => self.membership(left, right),
            operators::ADD => return Some(self.arith(tree, Arith::Add, left, right)),
            operators::SUBSTRACT => return Some(self.arith(tree, Arith::Subtract, left, right)),
            operators::MULTIPLY => return Some(self.arith(tree, Arith::Multiply, left, right)),
            operators::DIVIDE => return Some(self.arith(tree, Arith::Divide, left, right)),
            operators::MODULO => return Some(self.arith(tree, Arith::Modulo, left, right)),
            _ => return None,
        };
        Some(self.typed(tree, op, BOOL))
    }

    /// An operand that must be a boolean.
    pub(super) fn boolean(&mut self, operand: &IdedExpr, operator: &str) -> Node {
        let operand = self.expression(operand);
        if !operand.kinds.meets(BOOL) {
            self.errors.push(error(
                operand.node.span,
                format!("`{operator}` takes booleans; this is {}", operand.kinds),
                "compare it with something, for example `… == 1`",
            ));
        }
        operand.node
    }

    fn negate(&mut self, tree: &IdedExpr, operand: &IdedExpr) -> Typed {
        let operand = self.expression(operand);
        if !operand.kinds.has(Kind::Number) {
            let message = format!("`-` takes a number; this is {}", operand.kinds);
            self.errors.push(error(
                operand.node.span,
                message,
                "for time, subtract: `now - duration(\"1h\")`",
            ));
        }
        self.typed(
            tree,
            Op::Negate(operand.node.into()),
            Kinds::of(Kind::Number),
        )
    }

    fn arith(&mut self, tree: &IdedExpr, op: Arith, left: &IdedExpr, right: &IdedExpr) -> Typed {
        let left = self.expression(left);
        let right = self.expression(right);
        let mut kinds = op.results(left.kinds, right.kinds);
        if kinds == Kinds::NONE {
            self.refuse_operands(tree, op.symbol(), left.kinds, right.kinds);
            kinds = Kinds::ANY;
        }
        self.typed(tree, Op::Arith(op, [left.node, right.node].into()), kinds)
    }

    fn order(&mut self, tree: &IdedExpr, op: Order, left: &IdedExpr, right: &IdedExpr) -> Op {
        let left = self.expression(left);
        let right = self.expression(right);
        if !Order::possible(left.kinds, right.kinds) {
            self.refuse_operands(tree, op.symbol(), left.kinds, right.kinds);
        }
        Op::Order(op, [left.node, right.node].into())
    }

    fn membership(&mut self, left: &IdedExpr, right: &IdedExpr) -> Op {
        let left = self.expression(left);
        let right = self.expression(right);
        if !right.kinds.meets(CONTAINER) {
            self.errors.push(error(
                right.node.span,
                format!("`in` looks in a list or an object; this is {}", right.kinds),
                "for text within text write `a.contains(b)`",
            ));
        }
        Op::In([left.node, right.node].into())
    }

    /// Operands that no value can make right.
    fn refuse_operands(&mut self, tree: &IdedExpr, symbol: &str, left: Kinds, right: Kinds) {
        let span = self.extents.of(tree);
        let message = format!("`{symbol}` does not take {left} and {right}");
        let time = Kinds::of(Kind::Timestamp);
        let span_of_time = Kinds::of(Kind::Duration);
        let hint = if (left == time || right == time)
            && (left.has(Kind::String) || right.has(Kind::String))
        {
            "text becomes an instant by `timestamp(…)`"
        } else if (left == span_of_time || right == span_of_time)
            && !(left == time || right == time)
        {
            "text becomes a span of time by `duration(\"1h30m\")`"
        } else if left.has(Kind::String) || right.has(Kind::String) {
            "convert one side: `string(…)`, `double(…)`, `timestamp(…)`"
        } else {
            "both sides must be of one kind"
        };
        self.errors.push(error(span, message, hint));
    }
}
