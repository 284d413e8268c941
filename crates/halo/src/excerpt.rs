//! Findings with the line that they are about and a caret below it.

use crate::terminal::{Paint, Screen, plain, plain_columns};
use halo_catalog::{Diagnostic, Severity};

/// Most findings of one file that are printed; a document has them all.
const SHOWN: usize = 50;
/// Most columns of a line.
const WIDTH: usize = 110;

/// Prints findings about `text` on standard error.
pub(crate) fn show(screen: &mut Screen, findings: &[Diagnostic], text: &str) {
    let lines: Vec<&str> = text.lines().collect();
    for finding in findings.iter().take(SHOWN) {
        let line = (finding.line as usize)
            .checked_sub(1)
            .and_then(|index| lines.get(index))
            .copied();
        show_one(screen, finding, line.unwrap_or(""));
    }
    if findings.len() > SHOWN {
        let more = format!(
            "… and {} findings more; --json has them all",
            findings.len() - SHOWN
        );
        screen.error_line(&more);
    }
}

fn show_one(screen: &mut Screen, finding: &Diagnostic, line: &str) {
    let (paint, severity) = match finding.severity {
        Severity::Error => (Paint::Red, "error"),
        Severity::Warning => (Paint::Yellow, "warning"),
    };
    let place = format!(
        "{}:{}:{}",
        plain(&finding.file),
        finding.line,
        finding.column
    );
    let head = format!(
        "{}: {}: {}",
        screen.paint_error(Paint::Bold, &place),
        screen.paint_error(paint, severity),
        plain(&finding.message)
    );
    screen.error_line(&head);
    let (shown, before, carets) = window(finding, line);
    let number = finding.line.to_string();
    let bar = screen.paint_error(Paint::Dim, "|");
    screen.error_line(&format!(
        "  {} {bar} {shown}",
        screen.paint_error(Paint::Dim, &number)
    ));
    let below = screen.paint_error(paint, &"^".repeat(carets));
    let pad = " ".repeat(number.len());
    screen.error_line(&format!("  {pad} {bar} {}{below}", " ".repeat(before)));
    if let Some(hint) = &finding.hint {
        let label = screen.paint_error(Paint::Cyan, "hint:");
        screen.error_line(&format!("  {pad} {label} {}", plain(hint)));
    }
}

/// The part of a line to show, the columns before the caret, and how many carets.
fn window(finding: &Diagnostic, line: &str) -> (String, usize, usize) {
    let column = (finding.column as usize).saturating_sub(1);
    let chars: Vec<char> = line.chars().collect();
    let rest: String = chars.iter().skip(column).collect();
    let width = match !finding.text.is_empty() && rest.starts_with(&finding.text) {
        true => finding.text.chars().count(),
        false => 1,
    };
    let start = match column + width > WIDTH {
        true => column.saturating_sub(WIDTH / 3).min(chars.len()),
        false => 0,
    };
    let part: String = chars.iter().skip(start).take(WIDTH).collect();
    let mut shown = plain_columns(&part);
    let mut before = column - start;
    if start > 0 {
        shown.insert(0, '…');
        before += 1;
    }
    if start + WIDTH < chars.len() {
        shown.push('…');
    }
    (shown, before, width.clamp(1, WIDTH))
}
