//! "Did you mean …?"

/// Names longer than this are not compared.
const MAX_LEN: usize = 64;
/// Most names that a hint lists.
const MAX_LISTED: usize = 16;

/// A hint for a name that is not one of `known`: the nearest, else the list; nothing where none is known.
pub fn hint<'a>(
    text: &str,
    known: impl Iterator<Item = &'a str> + Clone,
    heading: &str,
) -> Option<String> {
    if let Some(near) = nearest(text, known.clone()) {
        return Some(format!("did you mean `{near}`?"));
    }
    let mut listed: Vec<String> = known
        .clone()
        .take(MAX_LISTED)
        .map(|name| format!("`{name}`"))
        .collect();
    if listed.is_empty() {
        return None;
    }
    if known.count() > MAX_LISTED {
        listed.push("…".to_owned());
    }
    Some(format!("{heading}: {}", listed.join(", ")))
}

/// The nearest name, if it is near: at most a third of the letters differ.
pub fn nearest<'a>(text: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let chars: Vec<char> = text.chars().take(MAX_LEN + 1).collect();
    if chars.is_empty() || chars.len() > MAX_LEN {
        return None;
    }
    let most = (chars.len() / 3).max(1);
    known
        .filter(|name| name.len() <= MAX_LEN)
        .map(|name| (distance(&chars, &name.chars().collect::<Vec<_>>()), name))
        .filter(|(far, name)| *far <= most && *far < name.chars().count())
        .min_by_key(|(far, _)| *far)
        .map(|(_, name)| name)
}

/// Edits from `a` to `b`: insertions, deletions, replacements and swaps of neighbours.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &y) in b.iter().enumerate() {
            let mut best = (last[j] + usize::from(x != y))
                .min(last[j + 1] + 1)
                .min(row[j] + 1);
            if i > 0 && j > 0 && x == b[j - 1] && y == a[i - 1] {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(a.len())
}
