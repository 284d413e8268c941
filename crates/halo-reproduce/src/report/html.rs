//! One page that needs nothing else: tables, plots, ledgers, and where it all comes from.

use super::{PanelReport, Report, svg};
use crate::figure::{Row, Same};
use std::fmt::Write;

const STYLE: &str = "
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#57606a;--paper:#fff;--line:#d0d7de;--same:#1a7f37;--own:#57606a;--no:#b3261e;--bar:#3b6ea8}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9198a1;--paper:#0d1117;--line:#3d444d;--same:#4ac26b;--own:#9198a1;--no:#ff7b72;--bar:#6cb6ff}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:70rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%;margin:.5rem 0}th,td{text-align:left;padding:.25rem .6rem;border-bottom:1px solid var(--line);vertical-align:top}
td.n{font-variant-numeric:tabular-nums;white-space:nowrap}td.same{color:var(--same)}td.own{color:var(--own)}td.differs{color:var(--no);font-weight:600}
p.from,small,figcaption{color:var(--soft)}code{font-size:.9em}figure{margin:1rem 0;overflow-x:auto}figure.small{display:inline-block;margin-right:1.5rem}
svg text{font:12px system-ui,sans-serif;fill:var(--ink)}svg .rail{fill:var(--line)}svg .bar{fill:var(--bar)}svg line{stroke:var(--soft)}
svg .kept{fill:#9be9a8}svg .fell{fill:#ffd8a8}svg .lost{fill:#ffb3b0}svg circle+text{fill:#1b1f24}
";

pub(super) fn page(report: &Report) -> String {
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>HALO: the evaluation</title><style>{STYLE}</style></head><body>\
         <h1>The paper's evaluation, run by this project</h1><p><strong>{}</strong></p>",
        svg::escaped(&report.summary())
    );
    let manifest = &report.manifest;
    // Writing to a string does not fail.
    let _ = write!(
        page,
        "<p class=\"from\">halo {}, commit {}, {} build, {}, seed {}{}. Expected rows: <code>{}</code>, fixed before the run.</p>\
         <p class=\"from\">Recorded, authored and generated inputs are never added up. Of a cohort of our own the rate is compared with the paper's, not the size. \
         In graphs: green stays, orange fell with a prerequisite, red is not supported itself.</p>",
        manifest.version,
        svg::escaped(&manifest.commit),
        manifest.build,
        svg::escaped(&manifest.machine),
        manifest.seed,
        if manifest.quick { ", quick" } else { "" },
        manifest.expected
    );
    for panel in &report.panels {
        add_panel(&mut page, panel);
    }
    page.push_str("</body></html>\n");
    page
}

fn add_panel(page: &mut String, panel: &PanelReport) {
    let _ = write!(
        page,
        "<h2 id=\"{name}\">{name}</h2><p>{}</p><p class=\"from\">Inputs: {}.</p>",
        svg::escaped(&panel.title),
        svg::escaped(&panel.inputs),
        name = svg::escaped(&panel.panel)
    );
    if let Some(why) = &panel.skipped {
        let _ = write!(page, "<p>Skipped: {}</p>", svg::escaped(why));
    }
    page.push_str("<table><tr><th>row</th><th>paper</th><th>ours</th><th>same?</th></tr>");
    for row in &panel.rows {
        add_row(page, row);
    }
    page.push_str("</table>");
    for plot in &panel.plots {
        page.push_str(&svg::draw(plot));
    }
    if !panel.ledger.is_empty() {
        let _ = write!(
            page,
            "<details><summary>Ledger: {} lines</summary><ul>",
            panel.ledger.len()
        );
        for line in &panel.ledger {
            let _ = write!(page, "<li>{}</li>", svg::escaped(line));
        }
        page.push_str("</ul></details>");
    }
    if let Some(row) = panel.rows.first() {
        let _ = write!(
            page,
            "<p class=\"from\">Again: <code>{}</code></p>",
            svg::escaped(&row.command)
        );
    }
}

fn add_row(page: &mut String, row: &Row) {
    let (class, same) = match row.same {
        Same::Same => ("same", "same"),
        Same::Own => ("own", "own"),
        Same::Foretold => ("differs", "differs, as said beforehand"),
        Same::Differs => ("differs", "differs"),
    };
    let note = if row.note.is_empty() {
        String::new()
    } else {
        format!("<br><small>{}</small>", svg::escaped(&row.note))
    };
    let ours = row
        .ours
        .map_or_else(|| "not counted".to_owned(), |ours| ours.to_string());
    let _ = write!(
        page,
        "<tr><td>{}{note}</td><td class=\"n\">{}</td><td class=\"n\">{ours}</td><td class=\"{class}\">{same}</td></tr>",
        svg::escaped(&row.row),
        svg::escaped(row.paper.as_deref().unwrap_or("–")),
    );
}
