//! `halo demo`: one recorded agent response, from the agent's words to what left, with what decides in between.
//!
//! It runs the scenario of `examples/demo/`; the text here only says what to look at.

mod chapters;

use crate::{
    facts,
    source::{self, Fault, Text},
    terminal::{Paint, Screen, Verdict, plain},
    timeline,
};
use chapters::{CHAPTERS, Chapter, FACTS, INTRODUCTION, NEXT};
use halo_canon::{Document, Value};
use halo_catalog::Catalog;
use halo_scenario::{Run, Scenario, Step};
use std::{
    io::{self, Write},
    sync::Arc,
};

const CATALOG: &str = include_str!("../../../examples/demo/catalog.yaml");
const SCENARIO: &str = include_str!("../../../examples/demo/demo.scenario.yaml");
/// Most columns of a line of prose.
const WIDTH: usize = 84;

/// Runs the demo. The answer is no when it does not come out as its scenario expects.
pub(crate) fn run(screen: &mut Screen) -> io::Result<Verdict> {
    let (scenario, catalog, run) = match play() {
        Ok(played) => played,
        Err(fault) => {
            fault.report(screen)?;
            return Ok(Verdict::Unusable);
        }
    };
    if screen.json() {
        screen.document(&run.result, false)?;
    } else {
        narrate(screen, &scenario, &catalog, &run)?;
    }
    Ok(match run.result.ok {
        true => Verdict::Fine,
        false => Verdict::No,
    })
}

fn play() -> Result<(Scenario, Arc<Catalog>, Run), Fault> {
    let input = |name: &str, text: &str| Text {
        name: format!("examples/demo/{name}"),
        text: text.to_owned(),
    };
    let scenario = halo_scenario::decode("examples/demo/demo.scenario.yaml", SCENARIO).map_err(
        |findings| {
            let input = input("demo.scenario.yaml", SCENARIO);
            Fault::findings(input, "the scenario is not valid", findings)
        },
    )?;
    let decoded = halo_catalog::decode::catalog("examples/demo/catalog.yaml", CATALOG);
    let catalog = source::usable(decoded, input("catalog.yaml", CATALOG))?;
    let run = halo_scenario::run(&scenario, catalog.clone());
    Ok((scenario, catalog, run))
}

fn narrate(
    screen: &mut Screen,
    scenario: &Scenario,
    catalog: &Catalog,
    run: &Run,
) -> io::Result<()> {
    let title = screen.paint(
        Paint::Bold,
        "HALO: what of an agent's answer may act, and when",
    );
    writeln!(screen, "\n{title}\n")?;
    prose(screen, INTRODUCTION)?;
    answer(screen, scenario)?;
    prose(screen, FACTS)?;
    for (index, chapter) in CHAPTERS.iter().enumerate() {
        let title = format!("{}. {}", index + 1, chapter.title);
        let title = screen.paint(Paint::Cyan, &title);
        writeln!(screen, "{title}\n")?;
        prose(screen, chapter.before)?;
        steps(screen, chapter, scenario, catalog, run)?;
        prose(screen, chapter.after)?;
    }
    timeline::ending(screen, &run.result)?;
    for failure in &run.result.failures {
        screen.complain(failure);
    }
    let title = screen.paint(Paint::Cyan, "Try it yourself");
    writeln!(screen, "\n{title}\n")?;
    for (command, what) in NEXT {
        let command = screen.paint(Paint::Bold, command);
        let what = screen.paint(Paint::Dim, what);
        writeln!(screen, "  {command}\n      {what}")?;
    }
    Ok(())
}

/// Prints what happened in a chapter. Expectations are the scenario's own business, unless they fail, and the first
/// state is told in words.
fn steps(
    screen: &mut Screen,
    chapter: &Chapter,
    scenario: &Scenario,
    catalog: &Catalog,
    run: &Run,
) -> io::Result<()> {
    for entry in &run.timeline {
        let at = entry
            .step
            .checked_sub(1)
            .and_then(|index| scenario.steps.get(index));
        let Some(at) = at.filter(|_| chapter.steps.contains(&entry.step)) else {
            continue;
        };
        match &at.step {
            Step::Expect(_) if entry.lines.is_empty() => continue,
            step => {
                timeline::head(screen, entry, scenario.start)?;
                // The answer was shown already.
                if !matches!(step, Step::Submit(_)) {
                    facts::show(screen, step)?;
                }
                timeline::lines(screen, entry, &run.result, catalog)?;
            }
        }
    }
    writeln!(screen)
}

/// Prints the components of the agent's response as it wrote them.
fn answer(screen: &mut Screen, scenario: &Scenario) -> io::Result<()> {
    let text = scenario.steps.iter().find_map(|at| match &at.step {
        Step::Submit(text) => Some(text),
        _ => None,
    });
    let document = text.and_then(|text| Document::parse(text.as_bytes(), 64).ok());
    let list = document
        .as_ref()
        .and_then(|document| document.root().get("components"))
        .and_then(Value::as_array);
    for component in list.iter().flat_map(|list| list.iter()) {
        let text = |name| {
            let text = component.get(name).and_then(Value::as_str);
            plain(text.unwrap_or_default())
        };
        let payload = component.get("payload").map(Value::to_canonical);
        let payload = plain(&payload.unwrap_or_default());
        let head = format!("{:7}{:13}", text("id"), text("type"));
        let head = screen.paint(Paint::Bold, &head);
        writeln!(screen, "    {head}{payload}")?;
        for reference in component
            .get("requires")
            .and_then(Value::as_array)
            .iter()
            .flat_map(|list| list.iter())
        {
            let member = |name| {
                plain(
                    reference
                        .get(name)
                        .and_then(Value::as_str)
                        .unwrap_or_default(),
                )
            };
            let needs = format!("only once {} is {}", member("id"), member("phase"));
            let needs = screen.paint(Paint::Dim, &needs);
            writeln!(screen, "    {:20}{needs}", "")?;
        }
    }
    writeln!(screen)
}

/// Prints a paragraph, broken at words.
fn prose(screen: &mut Screen, text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let mut column = 0;
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if column > 0 && column + 1 + width > WIDTH {
            writeln!(screen)?;
            column = 0;
        }
        let space = if column == 0 { "  " } else { " " };
        write!(screen, "{space}{word}")?;
        column += width + space.len();
    }
    writeln!(screen, "\n")
}
