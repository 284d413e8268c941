//! Plots as inline SVG, drawn with the page's own colours.

use super::Plot;
use std::fmt::Write;

const ROW: usize = 20;
const LABEL: usize = 300;
const WIDTH: usize = 360;

/// Text that is safe in markup.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

pub(super) fn draw(plot: &Plot) -> String {
    match plot {
        Plot::Bars { title, bars } => draw_bars(title, bars),
        Plot::Fit { title, points } => draw_fit(title, points),
        Plot::Graph {
            title,
            parents,
            supported,
            retained,
        } => draw_graph(title, parents, supported, retained),
    }
}

fn draw_bars(title: &str, bars: &[(String, usize, usize)]) -> String {
    let height = bars.len() * ROW + 8;
    let width = LABEL + WIDTH + 90;
    let mut svg = format!(
        "<figure><figcaption>{}</figcaption><svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" role=\"img\" aria-label=\"{}\">",
        escaped(title),
        escaped(title)
    );
    for (index, (label, part, whole)) in bars.iter().enumerate() {
        let y = index * ROW + 4;
        let filled = (part * WIDTH).checked_div(*whole).unwrap_or(0);
        // Writing to a string does not fail.
        let _ = write!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\
             <rect class=\"rail\" x=\"{LABEL}\" y=\"{y}\" width=\"{WIDTH}\" height=\"14\"/>\
             <rect class=\"bar\" x=\"{LABEL}\" y=\"{y}\" width=\"{filled}\" height=\"14\"/>\
             <text x=\"{}\" y=\"{}\">{part}/{whole}</text>",
            LABEL - 8,
            y + 11,
            escaped(label),
            LABEL + WIDTH + 8,
            y + 11
        );
    }
    svg.push_str("</svg></figure>");
    svg
}

/// A point for each configuration; on the line, both are the same.
fn draw_fit(title: &str, points: &[(f64, f64)]) -> String {
    const SIDE: f64 = 300.0;
    let largest = points
        .iter()
        .flat_map(|(fitted, measured)| [*fitted, *measured]);
    let largest = largest.fold(f64::MIN_POSITIVE, f64::max) * 1.05;
    let mut svg = format!(
        "<figure><figcaption>{0}</figcaption><svg viewBox=\"0 0 380 340\" width=\"380\" role=\"img\" aria-label=\"{0}\">\
         <rect class=\"rail\" x=\"50\" y=\"10\" width=\"300\" height=\"300\" opacity=\"0.3\"/><line x1=\"50\" y1=\"310\" x2=\"350\" y2=\"10\"/>\
         <text x=\"200\" y=\"334\" text-anchor=\"middle\">fitted</text><text x=\"44\" y=\"20\" text-anchor=\"end\">{1:.2}</text>\
         <text x=\"44\" y=\"310\" text-anchor=\"end\">0</text><text x=\"350\" y=\"326\" text-anchor=\"end\">{1:.2}</text>",
        escaped(title),
        largest
    );
    for (fitted, measured) in points {
        let x = 50.0 + fitted.max(0.0) / largest * SIDE;
        let y = 310.0 - measured.max(0.0) / largest * SIDE;
        let _ = write!(
            svg,
            "<circle class=\"bar\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"><title>fitted {fitted:.3}, measured {measured:.3}</title></circle>"
        );
    }
    svg.push_str("</svg></figure>");
    svg
}

/// How deep each node lies below those without prerequisites; what lies on a cycle stays at the top.
fn depths(parents: &[Vec<usize>]) -> Vec<usize> {
    let mut depths = vec![0usize; parents.len()];
    for _ in 0..parents.len() {
        for (node, parents) in parents.iter().enumerate() {
            let above = parents
                .iter()
                .filter_map(|parent| depths.get(*parent))
                .max();
            let depth = above
                .map_or(0, |above| above + 1)
                .min(parents.len().max(1) * 8);
            if let Some(own) = depths
                .get_mut(node)
                .filter(|own| **own < depth && depth < 24)
            {
                *own = depth;
            }
        }
    }
    depths
}

fn draw_graph(
    title: &str,
    parents: &[Vec<usize>],
    supported: &[bool],
    retained: &[bool],
) -> String {
    let depths = depths(parents);
    let mut used = [0usize; 25];
    let places: Vec<(usize, usize)> = depths
        .iter()
        .map(|depth| {
            let column = used.get_mut(*depth).map_or(0, |used| {
                *used += 1;
                *used - 1
            });
            (30 + column * 52, 24 + depth * 44)
        })
        .collect();
    let width = places.iter().map(|(x, _)| x + 30).max().unwrap_or(60);
    let height = places.iter().map(|(_, y)| y + 24).max().unwrap_or(48);
    let mut svg = format!(
        "<figure class=\"small\"><figcaption>{}</figcaption><svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" role=\"img\" aria-label=\"{}\">",
        escaped(title),
        escaped(title)
    );
    for (node, parents) in parents.iter().enumerate() {
        for parent in parents {
            if let (Some((x1, y1)), Some((x2, y2))) = (places.get(*parent), places.get(node)) {
                let _ = write!(
                    svg,
                    "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>"
                );
            }
        }
    }
    for (node, (x, y)) in places.iter().enumerate() {
        let class = match (retained.get(node), supported.get(node)) {
            (Some(true), _) => "kept",
            (_, Some(true)) => "fell",
            _ => "lost",
        };
        let _ = write!(
            svg,
            "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"13\"/><text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{node}</text>",
            y + 4
        );
    }
    svg.push_str("</svg></figure>");
    svg
}
