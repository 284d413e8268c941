//! A bare repository, opened anew for each question: what was replaced, removed or damaged since is noticed.

use crate::{Branch, Fault, FaultCode, format::object_format, recent::Recent};
use gix_hash::{Kind, ObjectId, oid};
use gix_object::FindExt as _;
use gix_ref::{Target, file};
use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// Between two looks at a lock that may go away.
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// An open bare repository.
pub struct Repository {
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
    pub(crate) refs: file::Store,
    pub(crate) objects: gix_odb::Handle,
}

impl Repository {
    /// Opens the one at `path`.
    ///
    /// Errors: it is not there, not bare, or of a form that is not supported.
    pub fn open(path: &Path) -> Result<Self, Fault> {
        let refused = |why: String| {
            let text = format!("the repository {}: {why}", path.display());
            Fault::new(FaultCode::Repository, text)
        };
        for part in ["HEAD", "objects", "refs"] {
            if let Err(error) = fs::metadata(path.join(part)) {
                let why = format!("no bare repository is there (`{part}`: {error})");
                return Err(refused(why));
            }
        }
        let config = match fs::read_to_string(path.join("config")) {
            Ok(config) => config,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(refused(format!("`config`: {error}"))),
        };
        let kind = object_format(&config).map_err(refused)?;
        if fs::metadata(path.join("shallow")).is_ok_and(|shallow| shallow.len() > 0) {
            let why = "it is shallow, so common ancestors can't be told; `git fetch --unshallow`";
            return Err(refused(why.into()));
        }
        let options = gix_ref::store::init::Options {
            write_reflog: gix_ref::store::WriteReflog::Disable,
            ..Default::default()
        };
        let mut objects = gix_odb::at(path.join("objects"), kind)
            .map_err(|error| refused(format!("`objects`: {error}")))?;
        objects.set_pack_cache(|| Box::new(Recent::default()));
        Ok(Self {
            path: path.to_owned(),
            kind,
            refs: file::Store::at_opts(path.to_owned(), kind, options),
            objects,
        })
    }

    /// The commit that a branch is at.
    ///
    /// Errors: there is no such branch, or it is at something else.
    pub fn head(&self, branch: &Branch) -> Result<ObjectId, Fault> {
        let name = branch.full().as_ref();
        let found = self.refs.try_find(name.as_partial_name());
        let found = found.map_err(|error| {
            let text = format!("the branch `{}` can't be read: {error}", branch.name());
            Fault::new(FaultCode::Unreadable, text)
        })?;
        // A tag of that name is no branch.
        let Some(found) = found.filter(|found| found.name == *branch.full()) else {
            let text = format!(
                "there is no branch `{}` in {}",
                branch.name(),
                self.path.display()
            );
            return Err(Fault::new(FaultCode::NoBranch, text));
        };
        match found.target {
            Target::Object(id) => self.commit(&id).map(|()| id),
            Target::Symbolic(other) => {
                let text = format!(
                    "`{}` stands for `{}`: name that branch",
                    branch.name(),
                    other.as_bstr()
                );
                Err(Fault::new(FaultCode::NotACommit, text))
            }
        }
    }

    /// Whether that is a commit that is there.
    ///
    /// Errors: it is not.
    pub fn commit(&self, id: &oid) -> Result<(), Fault> {
        let mut buffer = Vec::new();
        let found = self.objects.find(id, &mut buffer);
        let found =
            found.map_err(|error| Fault::unreadable(format!("{id} can't be read: {error}")))?;
        if found.kind == gix_object::Kind::Commit {
            return Ok(());
        }
        let text = format!("{id} is a {}, no commit", found.kind);
        Err(Fault::new(FaultCode::NotACommit, text))
    }

    /// Whether nobody holds the lock of a branch; waits for a little while, as pushes hold it for moments.
    ///
    /// Errors: it is held, and since when.
    pub fn unlocked(&self, branch: &Branch, patience: Duration) -> Result<(), Fault> {
        let lock = self.path.join(format!("{}.lock", branch.full().as_bstr()));
        let mut waited = Duration::ZERO;
        loop {
            let Ok(found) = fs::symlink_metadata(&lock) else {
                return Ok(());
            };
            if waited >= patience {
                let since = found.modified().ok();
                let age = since.and_then(|since| SystemTime::now().duration_since(since).ok());
                let text = format!(
                    "the branch `{}` is locked: {} has been there for {} s; where no Git runs, a crash left it: remove it",
                    branch.name(),
                    lock.display(),
                    age.unwrap_or_default().as_secs()
                );
                return Err(Fault::new(FaultCode::Locked, text));
            }
            std::thread::sleep(LOCK_PAUSE);
            waited += LOCK_PAUSE;
        }
    }
}
