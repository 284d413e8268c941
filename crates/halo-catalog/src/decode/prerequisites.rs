//! `requires` and `allows`: which references a component may declare, and which it must.

use super::Decoder;
use crate::{
    Milestone, PrerequisiteRule, TypeIx,
    cursor::Fields,
    yaml::{Mark, Yaml},
};
use std::collections::HashMap;

/// An entry with the place of its type's name.
#[derive(Clone, Copy)]
struct Entry {
    rule: PrerequisiteRule,
    mark: Mark,
}

/// The rules of one type.
#[derive(Default)]
pub(super) struct Rules {
    pub(super) requires: Vec<PrerequisiteRule>,
    pub(super) allows: Vec<PrerequisiteRule>,
    /// Of the mandatory ones: parent and the place of its name.
    mandatory: Vec<(TypeIx, Mark)>,
}

impl Decoder<'_> {
    /// The rules of one type; entries at fault are left out of them.
    pub(super) fn prerequisite_rules(&mut self, fields: &Fields<'_>) -> Rules {
        let requires = self.prerequisite_list(fields, "requires");
        let allows = self.prerequisite_list(fields, "allows");
        self.lint_shadowed(&requires, &[]);
        self.lint_shadowed(&allows, &requires);
        Rules {
            mandatory: requires
                .iter()
                .filter_map(|entry| Some((entry.rule.type_?, entry.mark)))
                .collect(),
            requires: requires.iter().map(|entry| entry.rule).collect(),
            allows: allows.iter().map(|entry| entry.rule).collect(),
        }
    }

    fn prerequisite_list(&mut self, fields: &Fields<'_>, name: &'static str) -> Vec<Entry> {
        let Some(node) = fields.get(name) else {
            return Vec::new();
        };
        let what = format!("`{name}`");
        let items = self.findings.list(node, &what).unwrap_or_default();
        items
            .iter()
            .filter_map(|item| self.prerequisite(item, name))
            .collect()
    }

    fn prerequisite(&mut self, node: &Yaml, list: &str) -> Option<Entry> {
        let fields = Fields::open(
            &mut self.findings,
            node,
            node.mark,
            "a prerequisite rule",
            &["type", "phase", "support"],
        )?;
        let parent = fields.need(&mut self.findings, "type");
        let mark = parent.map_or(node.mark, |node| node.mark);
        let type_ = parent.and_then(|node| self.parent_type(node, list));
        let phase = fields
            .need(&mut self.findings, "phase")
            .and_then(|phase| Some((self.findings.choice(phase, "`phase`", &PHASES)?, phase.mark)));
        let until_left = self.either(&fields, "support", ["current", "until_left"]);
        let (type_, (phase, at)) = (type_?, phase?);
        self.reachable(type_, phase, at)?;
        let rule = PrerequisiteRule {
            type_,
            phase,
            until_left: until_left?,
        };
        Some(Entry { rule, mark })
    }

    /// A type's name, or `*`; inner nothing: any.
    fn parent_type(&mut self, node: &Yaml, list: &str) -> Option<Option<TypeIx>> {
        if node.as_str() != Some("*") {
            return self.types.resolve(&mut self.findings, node).map(Some);
        }
        if list == "requires" {
            self.findings.error_hint(
                node.mark,
                "`requires` needs a type",
                "`*` is for `allows`; here, name the type of the prerequisite",
            );
            return None;
        }
        Some(None)
    }

    /// Whether the parent can ever come that far (P11).
    fn reachable(&mut self, type_: Option<TypeIx>, phase: Milestone, mark: Mark) -> Option<()> {
        let reaches = |action: bool| match phase {
            Milestone::Retained => true,
            Milestone::Emitted => !action,
            Milestone::Dispatched | Milestone::Observed => action,
        };
        let Some(parent) = type_ else {
            let known: Option<Vec<bool>> = self.actions.iter().copied().collect();
            if known.is_some_and(|all| !all.into_iter().any(reaches)) {
                self.findings.error_hint(
                    mark,
                    "no type of this catalog can reach this phase",
                    "emissions reach `emitted`, actions reach `dispatched` and `observed`",
                );
                return None;
            }
            return Some(());
        };
        let Some(action) = self.actions.get(usize::from(parent)).copied().flatten() else {
            return Some(());
        };
        if reaches(action) {
            return Some(());
        }
        let (kind, phases) = match action {
            true => ("an action", "`retained`, `dispatched` or `observed`"),
            false => ("an emission", "`retained` or `emitted`"),
        };
        let message = format!(
            "`{}` is {kind} and can never be `{}`",
            self.types.get(parent),
            phase.name()
        );
        let hint = format!("{kind} can be {phases}");
        self.findings.error_hint(mark, message, hint);
        None
    }

    /// Warns of entries that never count, because an earlier one matches whatever they match.
    fn lint_shadowed(&mut self, entries: &[Entry], before: &[Entry]) {
        let mut first: HashMap<(Option<TypeIx>, Milestone), Mark> = HashMap::new();
        for entry in before {
            let rule = entry.rule;
            first.entry((rule.type_, rule.phase)).or_insert(entry.mark);
        }
        for entry in entries {
            let rule = entry.rule;
            let any = first.get(&(None, rule.phase)).copied();
            let earlier = first.get(&(rule.type_, rule.phase)).copied().or(any);
            first.entry((rule.type_, rule.phase)).or_insert(entry.mark);
            if let Some(earlier) = earlier {
                let message = format!(
                    "this rule never counts: the one in line {}, column {} says the same type and phase",
                    earlier.line, earlier.column
                );
                self.findings.warning(
                    entry.mark,
                    message,
                    "the first rule that matches counts; remove one",
                );
            }
        }
    }

    /// Reports mandatory prerequisites that form a cycle: no component of such a type could ever be well-formed.
    pub(super) fn lint_cycles(&mut self, rules: &[Rules]) {
        for cycle in cycles(rules) {
            let mut names: Vec<&str> = cycle.types.iter().map(|t| self.types.get(*t)).collect();
            names.extend(names.first().copied());
            let message = format!(
                "mandatory prerequisites form a cycle: {}",
                names
                    .iter()
                    .map(|name| format!("`{name}`"))
                    .collect::<Vec<_>>()
                    .join(" → ")
            );
            let hint = "no component could ever declare all of them; move one to `allows`";
            self.findings.error_hint(cycle.mark, message, hint);
        }
    }
}

/// A cycle of mandatory prerequisites, with the place of the reference that closes it.
struct Cycle {
    types: Vec<TypeIx>,
    mark: Mark,
}

/// One cycle for each reference that leads back, by depth-first search without recursion.
fn cycles(rules: &[Rules]) -> Vec<Cycle> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut state = vec![State::New; rules.len()];
    let mut found = Vec::new();
    for root in 0..rules.len() {
        if state[root] != State::New {
            continue;
        }
        state[root] = State::Open;
        let mut path: Vec<(usize, usize)> = vec![(root, 0)];
        while let Some((node, next)) = path.last_mut() {
            let Some((parent, mark)) = rules[*node].mandatory.get(*next).copied() else {
                state[*node] = State::Done;
                path.pop();
                continue;
            };
            *next += 1;
            let parent_ix = usize::from(parent);
            match state.get(parent_ix) {
                Some(State::New) => {
                    state[parent_ix] = State::Open;
                    path.push((parent_ix, 0));
                }
                Some(State::Open) => found.push(Cycle {
                    types: path
                        .iter()
                        .skip_while(|(node, _)| *node != parent_ix)
                        .filter_map(|(node, _)| TypeIx::try_from(*node).ok())
                        .collect(),
                    mark,
                }),
                Some(State::Done) | None => {}
            }
        }
    }
    found
}

const PHASES: [(&str, Milestone); 4] = [
    ("retained", Milestone::Retained),
    ("emitted", Milestone::Emitted),
    ("dispatched", Milestone::Dispatched),
    ("observed", Milestone::Observed),
];
