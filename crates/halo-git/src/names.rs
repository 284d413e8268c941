//! Names that come from agents: branches, changes, object ids. What is no such name never touches a path.

use crate::{Fault, FaultCode};
use gix_hash::ObjectId;
use gix_ref::FullName;

/// Longest name of a branch, in bytes: a lock file's name must fit beside it.
const LONGEST: usize = 240;

/// The name of a branch, without `refs/heads/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    name: String,
    full: FullName,
}

impl Branch {
    /// Takes a name as Git would for a branch.
    ///
    /// Errors: no branch can have it.
    pub fn parse(name: &str) -> Result<Self, Fault> {
        let refused = |why: &str| {
            let shown: String = name.chars().take(64).collect();
            let text = format!("{shown:?} is no name of a branch: {why}");
            Err(Fault::new(FaultCode::BadName, text))
        };
        if name.len() > LONGEST {
            return refused("it is longer than 240 bytes");
        }
        if name.starts_with('-') || matches!(name, "HEAD" | "@") {
            return refused("Git gives it another meaning");
        }
        if name.starts_with("refs/") {
            return refused("write it without `refs/heads/`");
        }
        if name.contains("...") {
            return refused("three dots stand between two branches");
        }
        match FullName::try_from(format!("refs/heads/{name}")) {
            Ok(full) => Ok(Self {
                name: name.to_owned(),
                full,
            }),
            Err(_) => refused("`git check-ref-format --branch` refuses it"),
        }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// With `refs/heads/`.
    pub(crate) fn full(&self) -> &FullName {
        &self.full
    }
}

/// A change as `git diff` names it: what `source` has and `target` has not, `target...source`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Where it is to go.
    pub target: Branch,
    /// Where it is.
    pub source: Branch,
}

impl Change {
    /// Takes `target...source`.
    ///
    /// Errors: it is something else.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let Some((target, source)) = text.split_once("...") else {
            let shown: String = text.chars().take(64).collect();
            let text = format!("{shown:?} names no change: write `target...source`, two branches");
            return Err(Fault::new(FaultCode::BadName, text));
        };
        let (target, source) = (Branch::parse(target)?, Branch::parse(source)?);
        if target == source {
            let text = format!("`{}` can't be merged into itself", target.name());
            return Err(Fault::new(FaultCode::BadName, text));
        }
        Ok(Self { target, source })
    }
}

/// A whole object id, in lower case. Errors: anything else, abbreviations above all.
pub(crate) fn object_id(text: &str) -> Result<ObjectId, Fault> {
    let whole = matches!(text.len(), 40 | 64)
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let id = whole.then(|| ObjectId::from_hex(text.as_bytes()).ok());
    id.flatten().ok_or_else(|| {
        let shown: String = text.chars().take(70).collect();
        let text = format!("{shown:?} is no whole object id: 40 or 64 hexadecimal digits in lower case, as `git rev-parse` prints them");
        Fault::new(FaultCode::BadName, text)
    })
}

#[cfg(test)]
mod tests {
    use super::{Branch, Change, object_id};

    #[test]
    fn hostile_names_are_no_branches() {
        let long = "a".repeat(241);
        for name in [
            "",
            "--upload-pack=x",
            "-",
            "HEAD",
            "@",
            "../x",
            "a/../b",
            "/x",
            "x/",
            "a//b",
            ".x",
            "a/.b",
            "x.lock",
            "a/b.lock",
            "x..y",
            "x y",
            "x~1",
            "x^",
            "x:y",
            "x?",
            "x*",
            "x[",
            "x\\y",
            "x\u{7f}",
            "x\ny",
            "x\0y",
            "x@{1}",
            "x.",
            "refs/heads/main",
            "refs/x",
            &long,
            "a...b",
        ] {
            assert!(Branch::parse(name).is_err(), "{name:?}");
        }
        for name in [
            "main",
            "release-2",
            "feature/ä",
            "a.b",
            "@x",
            "x@y",
            "a-",
            "ref",
        ] {
            assert_eq!(
                Branch::parse(name)
                    .map(|branch| branch.name().to_owned())
                    .as_deref(),
                Ok(name)
            );
        }
    }

    #[test]
    fn changes_name_two_branches() {
        let change = Change::parse("main...feature/x").ok();
        assert_eq!(
            change.map(|change| (
                change.target.name().to_owned(),
                change.source.name().to_owned()
            )),
            Some(("main".into(), "feature/x".into()))
        );
        for text in [
            "main",
            "main..x",
            "main....x",
            "main...",
            "...x",
            "main...x...y",
            "main...main",
            "main...--x",
        ] {
            assert!(Change::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ids_are_whole() {
        assert!(object_id(&"0a".repeat(20)).is_ok() && object_id(&"0a".repeat(32)).is_ok());
        for text in [
            "",
            "0a0a0a0",
            &"0A".repeat(20),
            &"0g".repeat(20),
            &"0a".repeat(21),
            "main",
            &format!("{}\n", "0a".repeat(20)),
        ] {
            assert!(object_id(text).is_err(), "{text}");
        }
    }
}
