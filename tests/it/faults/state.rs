//! Contents of a folder: before, as expected, and whether a fault left either.

use crate::common::prelude::*;
use std::io::Write as _;
use std::time::SystemTime;

/// The files of a folder by path; folders end with a slash and have no contents of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree(pub BTreeMap<String, Vec<u8>>);

impl Tree {
    pub fn of(folder: &Path) -> Self {
        let mut tree = Self::default();
        tree.add(folder, "");
        tree
    }

    fn add(&mut self, folder: &Path, prefix: &str) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
            if entry.file_type().unwrap().is_dir() {
                let name = name + "/";
                self.add(&entry.path(), &name);
                self.0.insert(name, Vec::new());
            } else {
                self.0.insert(name, std::fs::read(entry.path()).unwrap());
            }
        }
    }

    /// Makes a folder contain exactly this, with equal file times: records of runs contain the times of their inputs.
    pub fn restore(&self, folder: &Path) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => std::fs::remove_dir_all(path).unwrap(),
                false => std::fs::remove_file(path).unwrap(),
            }
        }
        for (name, bytes) in &self.0 {
            let path = folder.join(name);
            std::fs::create_dir_all(if name.ends_with('/') { &path } else { path.parent().unwrap() })
                .unwrap();
            if !name.ends_with('/') {
                let mut file = std::fs::File::create(path).unwrap();
                file.write_all(bytes).unwrap();
                file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)).unwrap();
            }
        }
    }

    /// Returns the tree without everything below some paths.
    pub fn without(&self, paths: &[&str]) -> Self {
        let kept = |name: &&String| !paths.iter().any(|path| name.starts_with(path));
        Self(self.0.iter().filter(|(name, _)| kept(name)).map(|(n, b)| (n.clone(), b.clone())).collect())
    }

    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.get(name).map(Vec::as_slice)
    }

    /// Returns names that are in neither of two other trees.
    pub fn strays(&self, one: &Self, other: &Self) -> Vec<&str> {
        let known = |name: &String| one.0.contains_key(name) || other.0.contains_key(name);
        self.0.keys().filter(|name| !known(name)).map(String::as_str).collect()
    }
}

/// Returns true if a killed process may leave a file of this name, for the next one to remove.
pub fn is_leftover(name: &str) -> bool {
    let own = name.trim_end_matches('/').rsplit('/').next().unwrap();
    own.starts_with(".gputexel") || own.ends_with(".gputexel-new")
}

/// Removes the times from a file that differ from run to run.
pub fn timeless(name: &str, bytes: &[u8]) -> Vec<u8> {
    if name.ends_with(".json") {
        return serde_json::from_slice::<Value>(bytes).map_or(bytes.to_vec(), |mut value| {
            forget_times(&mut value);
            value.to_string().into_bytes()
        });
    }
    if !name.ends_with(".jsonl") {
        return bytes.to_vec();
    }
    let mut out = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        match serde_json::from_slice::<Value>(line) {
            Ok(mut value) => {
                forget_times(&mut value);
                out.extend(value.to_string().into_bytes());
                out.push(b'\n');
            }
            Err(_) => out.extend(line),
        }
    }
    out
}

fn forget_times(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for time in ["micros", "seconds", "started", "date"] {
                map.shift_remove(time);
            }
            map.values_mut().for_each(forget_times);
        }
        // A move of self-play: score, depth, nodes and time behind it.
        Value::Array(list) if list.len() == 5 && list[0].is_string() => drop(list.pop()),
        Value::Array(list) => list.iter_mut().for_each(forget_times),
        _ => {}
    }
}

/// Returns true if a file that differs in every run, because of its times, is complete.
pub fn is_whole(name: &str, bytes: &[u8]) -> bool {
    let ends = |end: &str| bytes.trim_ascii_end().ends_with(end.as_bytes());
    match Path::new(name).extension().and_then(|ending| ending.to_str()) {
        Some("html") => ends("</html>"),
        Some("svg") => ends("</svg>"),
        Some("json") => serde_json::from_slice::<Value>(bytes).is_ok(),
        Some("jsonl") => bytes.ends_with(b"\n"),
        _ => !bytes.is_empty(),
    }
}
