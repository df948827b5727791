//! Paths with `*`, as in a shell.

use std::fs;
use std::path::{Path, PathBuf};

/// The paths that a pattern names, in alphabetical order. `*` stands for any characters within a
/// component, but not for a dot at its beginning. A path without `*` is returned whether it exists or
/// not.
pub(crate) fn expand(pattern: &str) -> Vec<PathBuf> {
    let start = if pattern.starts_with('/') { "/" } else { "" };
    let mut found = vec![PathBuf::from(start)];
    for component in pattern.split('/').filter(|component| !component.is_empty()) {
        found = if component.contains('*') {
            found.iter().flat_map(|folder| entries(folder, component)).collect()
        } else {
            found.into_iter().map(|folder| folder.join(component)).collect()
        };
    }
    found
}

/// Entries of a folder whose names match.
fn entries(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let is_shown = |name: &String| !name.starts_with('.') || pattern.starts_with('.');
    let mut names: Vec<String> =
        names.filter(|name| is_shown(name) && matches(pattern, name)).collect();
    names.sort_unstable();
    names.into_iter().map(|name| folder.join(name)).collect()
}

/// True if `name` consists of the parts of `pattern` between stars, in this order.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        // The first occurrence leaves the most for the parts that follow.
        let Some(place) = name.find(part) else { return false };
        name = &name[place + part.len()..];
    }
    name.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, name) in [
            ("*", "a"),
            ("*", ""),
            ("cpu*", "cpu0"),
            ("cpu*", "cpu"),
            ("a*b*c", "a1b2bc"),
            ("*a", "aa"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("cpu*", "cp"), ("a*a", "a"), ("a*b*c", "acb"), ("ab", "abc")] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn paths_are_expanded_component_by_component() {
        let folder = std::env::temp_dir().join(format!("netstudy-pattern-{}", std::process::id()));
        for file in ["x1/a", "x1/.b", "x2/a", "y1/a"] {
            let path = folder.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
            fs::write(path, "").expect("it is written");
        }
        let found = |pattern: &str| {
            let paths = expand(&format!("{}/{pattern}", folder.display()));
            let name = |path: &PathBuf| {
                path.strip_prefix(&folder).expect("it is below").to_string_lossy().into_owned()
            };
            paths.iter().map(name).collect::<Vec<_>>()
        };
        assert_eq!(found("x*/*"), ["x1/a", "x2/a"]);
        assert_eq!(found("x1/.*"), ["x1/.b"]);
        assert_eq!(found("z*/a"), [""; 0]);
        assert_eq!(found("none"), ["none"]);
        fs::remove_dir_all(folder).expect("it is removed");
    }
}
