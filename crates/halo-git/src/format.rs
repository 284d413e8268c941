//! Which repositories are supported: what the `config` file says about their form.
//!
//! Only the few lines that change where objects and refs lie are read, strictly: what is not understood is refused.

use gix_hash::Kind;

/// The kind of object ids of a repository with this configuration. Errors: why it is not supported.
pub(crate) fn object_format(config: &str) -> Result<Kind, String> {
    let mut version = 0;
    let mut kind = Kind::Sha1;
    for (section, name, value) in entries(config)? {
        match (section.as_str(), name.as_str(), value.as_str()) {
            ("core", "repositoryformatversion", "0") => version = 0,
            ("core", "repositoryformatversion", "1") => version = 1,
            ("core", "repositoryformatversion", other) => {
                return Err(format!(
                    "its format version is {other}; 0 and 1 are supported"
                ));
            }
            ("core", "bare", "false" | "no" | "off" | "0") => {
                return Err("it has a working copy (`core.bare` is false); merges go into bare repositories only: `git clone --bare`".into());
            }
            ("extensions", "objectformat", "sha1") => kind = Kind::Sha1,
            ("extensions", "objectformat", "sha256") => kind = Kind::Sha256,
            ("extensions", "noop" | "preciousobjects" | "worktreeconfig", _)
            | ("extensions", "refstorage", "files") => {}
            ("extensions", name, value) => {
                return Err(format!("its extension `{name} = {value}` is not supported"));
            }
            _ => {}
        }
    }
    match (version, kind) {
        (0, Kind::Sha256) => Err("`extensions.objectformat` needs format version 1".into()),
        _ => Ok(kind),
    }
}

/// Section, name and value of the entries of `core` and `extensions`, the first two in lower case.
fn entries(config: &str) -> Result<Vec<(String, String, String)>, String> {
    let mut section = String::new();
    let mut entries = Vec::new();
    for (number, line) in config.lines().enumerate() {
        let mut line = line.trim();
        if line.starts_with('[') {
            let Some((head, rest)) = line.split_once(']') else {
                return Err(format!("line {} of its `config` can't be read", number + 1));
            };
            section = head.trim_start_matches('[').trim().to_ascii_lowercase();
            line = rest.trim();
        }
        if !matches!(section.as_str(), "core" | "extensions")
            || line.is_empty()
            || line.starts_with(['#', ';'])
        {
            continue;
        }
        let (name, value) = line.split_once('=').unwrap_or((line, "true"));
        let value = value.split(['#', ';']).next().unwrap_or_default().trim();
        if value.ends_with('\\') {
            return Err(format!(
                "line {} of its `config` goes on in the next; write it in one",
                number + 1
            ));
        }
        let value = value.trim_matches('"').to_ascii_lowercase();
        entries.push((section.clone(), name.trim().to_ascii_lowercase(), value));
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::object_format;
    use gix_hash::Kind;

    #[test]
    fn what_is_not_understood_is_refused() {
        for (config, kind) in [
            ("", Some(Kind::Sha1)),
            (
                "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n[remote \"x\"]\n\turl = [\n",
                Some(Kind::Sha1),
            ),
            (
                "[Core] RepositoryFormatVersion = 1 ; new\n[Extensions]\nobjectFormat = \"sha256\"",
                Some(Kind::Sha256),
            ),
            (
                "[core]\nrepositoryformatversion = 1\n[extensions]\nrefstorage = files\nnoop = x",
                Some(Kind::Sha1),
            ),
            ("[core]\nrepositoryformatversion = 2", None),
            (
                "[core]\nrepositoryformatversion = 1\n[extensions]\nrefstorage = reftable",
                None,
            ),
            ("[extensions]\npartialclone = origin", None),
            ("[extensions]\nobjectformat = sha256", None),
            ("[core]\nbare = false", None),
            ("[core\nbare = true", None),
            ("[core]\nrepositoryformatversion = \\\n1", None),
        ] {
            assert_eq!(object_format(config).ok(), kind, "{config}");
        }
    }
}
