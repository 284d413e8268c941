//! What the fuzz targets check, as plain functions: `fuzz/` runs them under a fuzzer, the ordinary tests replay the
//! corpora in `fuzz/corpus/` through them.
//!
//! Each returns what is wrong, so that a caller can panic with it; nothing means that the property held.

use halo_agentspec::{Mode, RuleText, policy};
use halo_canon::{Digest, Document, Instant, Value};
use halo_cel::{
    Component, Environment, Expect, Inputs, Program, Record, RecordTable, Records, SourceDecl,
};

/// Deepest nesting that the targets parse.
const DEPTH: u32 = 64;

/// The strict parser: what it accepts, the reference parser accepts with the same value, and its canonical form is
/// stable.
pub fn parse(data: &[u8]) -> Result<(), String> {
    let Ok(document) = Document::parse(data, DEPTH) else {
        return Ok(());
    };
    let reference: serde_json::Value = serde_json::from_slice(data)
        .map_err(|error| format!("accepted, but serde_json says: {error}"))?;
    let canonical = document.root().to_canonical();
    let again = Document::parse(canonical.as_bytes(), DEPTH)
        .map_err(|error| format!("canonical form refused: {error}"))?;
    if again.root() != document.root() || again.root().to_canonical() != canonical {
        return Err(format!("canonical form is not stable: {canonical}"));
    }
    if count(document.root()) != count_reference(&reference) {
        return Err("other values than the reference parser".into());
    }
    Ok(())
}

/// The canonical writer against serde_json_canonicalizer.
pub fn canon(data: &[u8]) -> Result<(), String> {
    let Ok(document) = Document::parse(data, DEPTH) else {
        return Ok(());
    };
    let ours = document.root().to_canonical();
    let reference: serde_json::Value =
        serde_json::from_slice(data).map_err(|error| error.to_string())?;
    let theirs =
        serde_json_canonicalizer::to_string(&reference).map_err(|error| error.to_string())?;
    if ours != theirs {
        return Err(format!("ours {ours}, theirs {theirs}"));
    }
    Ok(())
}

/// A catalog loads or is refused with at least one finding that has a place; never both, never neither.
pub fn catalog(data: &[u8]) -> Result<(), String> {
    let Ok(text) = std::str::from_utf8(data) else {
        return Ok(());
    };
    let decoded = halo_catalog::decode::catalog("fuzz.yaml", text);
    let errors = decoded
        .diagnostics
        .iter()
        .filter(|finding| finding.severity == halo_catalog::Severity::Error)
        .count();
    match (&decoded.catalog, errors) {
        (Some(_), 0) | (None, 1..) => {}
        (Some(_), _) => return Err("loaded in spite of an error".into()),
        (None, 0) => return Err("refused without a reason".into()),
    }
    match decoded
        .diagnostics
        .iter()
        .find(|finding| finding.line == 0 || finding.column == 0)
    {
        Some(finding) => Err(format!("a finding without a place: {}", finding.message)),
        None => Ok(()),
    }
}

/// A predicate compiles or is refused; one that compiles gives a boolean or an error, the same every time.
pub fn predicate(data: &[u8]) -> Result<(), String> {
    let Ok(source) = std::str::from_utf8(data) else {
        return Ok(());
    };
    let sources = [
        SourceDecl {
            name: "map".into(),
            keyed: false,
        },
        SourceDecl {
            name: "legs".into(),
            keyed: true,
        },
    ];
    let mut table = RecordTable::default();
    let environment = Environment {
        sources: &sources,
        state: true,
    };
    let program = match Program::compile(source, environment, Expect::Bool, &mut table) {
        Ok(program) => program,
        Err(errors) if errors.is_empty() => return Err("refused without a reason".into()),
        Err(errors) => {
            let outside = errors
                .iter()
                .any(|error| error.span.start > source.len() || error.span.end > source.len());
            return if outside {
                Err("a finding outside the text".into())
            } else {
                Ok(())
            };
        }
    };
    let document =
        |text: &str| Document::parse(text.as_bytes(), DEPTH).map_err(|error| error.to_string());
    let payload = document(r#"{"a":1,"b":[1,2,3],"s":"x","leg":"L3","o":{"k":true}}"#)?;
    let record = document(r#"{"x":1.5,"list":[1,"a",null],"deep":{"a":{"b":false}}}"#)?;
    let records = One(record.root());
    let digest = Digest::of(source.as_bytes()).to_string();
    let component = Component {
        id: "c",
        kind: "t",
        digest: &digest,
        response: "r",
    };
    let now = Instant::from_nanos(1_767_225_600_000_000_000);
    let inputs = Inputs {
        payload: payload.root(),
        component,
        claims: None,
        now,
        records: &records,
    };
    if program.eval_bool(&inputs) != program.eval_bool(&inputs) {
        return Err("two evaluations differ".into());
    }
    Ok(())
}

/// AgentSpec rules are read, and are the same when printed and read again; or are refused with findings that have places.
/// A policy that holds them answers too. The first byte chooses the mode.
pub fn agentspec(data: &[u8]) -> Result<(), String> {
    let Some((first, rest)) = data.split_first() else {
        return Ok(());
    };
    let Ok(text) = std::str::from_utf8(rest) else {
        return Ok(());
    };
    let (mode, word) = match first % 2 {
        0 => (Mode::Strict, "strict"),
        _ => (Mode::Extended, "extended"),
    };
    match halo_agentspec::read("fuzz.rules", text, mode) {
        Ok(rules) => {
            let printed: String = rules.iter().map(|rule| format!("{rule}\n")).collect();
            let again = halo_agentspec::read("printed.rules", &printed, mode)
                .map_err(|_| format!("printed, but not read again: {printed}"))?;
            if again != rules {
                return Err(format!("other rules when read again: {printed}"));
            }
        }
        Err(findings) => {
            let placed =
                |finding: &halo_catalog::Diagnostic| finding.line > 0 && finding.column > 0;
            if findings.is_empty() || !findings.iter().all(placed) {
                return Err("refused without a reason or a place".into());
            }
        }
    }
    let held = |file: &str| {
        Ok(RuleText {
            file: file.to_owned(),
            text: text.to_owned(),
        })
    };
    let file = format!("halo: v1\npolicy: p\nmode: {word}\nrules: [{{file: fuzz.rules}}]\n");
    let decoded = policy::decode("policy.yaml", &file, &held, None);
    match decoded.policy.is_none() && decoded.diagnostics.is_empty() {
        true => Err("a policy refused without a reason".into()),
        false => Ok(()),
    }
}

/// A policy file loads or is refused with findings that have places.
pub fn policy(data: &[u8]) -> Result<(), String> {
    let Ok(text) = std::str::from_utf8(data) else {
        return Ok(());
    };
    let none = |file: &str| Err(format!("{file}: no such file"));
    let decoded = policy::decode("policy.yaml", text, &none, None);
    let errors = decoded
        .diagnostics
        .iter()
        .filter(|finding| finding.severity == halo_catalog::Severity::Error);
    match (decoded.policy.is_some(), errors.count()) {
        (true, 0) | (false, 1..) => {}
        (true, _) => return Err("loaded in spite of an error".into()),
        (false, 0) => return Err("refused without a reason".into()),
    }
    match decoded
        .diagnostics
        .iter()
        .find(|finding| finding.line == 0 || finding.column == 0)
    {
        Some(finding) => Err(format!("a finding without a place: {}", finding.message)),
        None => Ok(()),
    }
}

/// A scenario runs to its end or is refused with findings; a second run gives the same.
pub fn scenario(data: &[u8]) -> Result<(), String> {
    let Ok(text) = std::str::from_utf8(data) else {
        return Ok(());
    };
    let scenario = match halo_scenario::decode("fuzz.yaml", text) {
        Ok(scenario) => scenario,
        Err(findings) if findings.is_empty() => return Err("refused without a reason".into()),
        Err(_) => return Ok(()),
    };
    let halo_scenario::CatalogSource::Inline(decoded) = &scenario.catalog else {
        return Ok(());
    };
    let Some(catalog) = decoded.catalog.clone() else {
        return Ok(());
    };
    let result = |run: halo_scenario::Run| {
        serde_json::to_string(&run.result).map_err(|error| error.to_string())
    };
    let first = result(halo_scenario::run(&scenario, catalog.clone()))?;
    let second = result(halo_scenario::run(&scenario, catalog))?;
    if first == second {
        Ok(())
    } else {
        Err("two runs differ".into())
    }
}

/// A flight log is read to an end that is told, and a cut one shows nothing that the whole one does not. The first two
/// bytes say where it is cut.
pub fn ulog(data: &[u8]) -> Result<(), String> {
    let Some((cut, log)) = data.split_first_chunk::<2>() else {
        return Ok(());
    };
    let read = |log: &[u8]| halo_vehicle::observe::observe(log).map_err(|error| error.to_string());
    let whole = read(log)?;
    let length = usize::from(u16::from_le_bytes(*cut)) % (log.len() + 1);
    let part = read(log.get(..length).unwrap_or(log))?;
    for seen in &part.seen {
        let same = whole
            .seen
            .iter()
            .find(|one| one.fingerprint == seen.fingerprint);
        if same.is_none_or(|same| same.samples < seen.samples) {
            return Err(format!(
                "cut at {length}: {} was invented",
                seen.fingerprint
            ));
        }
    }
    match part.others.samples <= whole.others.samples {
        true => Ok(()),
        false => Err(format!("cut at {length}: other setpoints were invented")),
    }
}

struct One<'a>(Value<'a>);

impl<'a> Records<'a> for One<'a> {
    fn record(&self, slot: u16) -> Option<Record<'a>> {
        (slot < 2).then_some(Record {
            epoch: 7,
            observed_at: Instant::from_nanos(1_767_225_599_000_000_000),
            age: halo_canon::Duration::from_millis(1000),
            provenance: "p",
            value: self.0,
        })
    }
}

fn count(value: Value<'_>) -> usize {
    match value.kind() {
        halo_canon::Kind::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        halo_canon::Kind::Object(members) => {
            1 + members
                .iter()
                .map(|(_, member)| count(member))
                .sum::<usize>()
        }
        _ => 1,
    }
}

fn count_reference(value: &serde_json::Value) -> usize {
    match value {
        serde_json::Value::Array(items) => 1 + items.iter().map(count_reference).sum::<usize>(),
        serde_json::Value::Object(members) => {
            1 + members.values().map(count_reference).sum::<usize>()
        }
        _ => 1,
    }
}
