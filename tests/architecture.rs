//! ARCHITECTURE.md and the glossary describe the code as it is.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The rows of the tables under "One delivery, step by step", as (file, function).
fn steps() -> Vec<(String, String)> {
    let page = fs::read_to_string(repository().join("ARCHITECTURE.md")).unwrap();
    let section = page
        .split("\n## ")
        .find(|section| section.starts_with("One delivery, step by step"))
        .expect("the page has the section");
    let rows = section.lines().filter(|line| line.starts_with('|'));
    rows.filter_map(|row| {
        let mut cells = row
            .rsplit('|')
            .map(str::trim)
            .filter(|cell| !cell.is_empty());
        let (function, file) = (cells.next()?, cells.next()?);
        let code = |cell: &str| Some(cell.strip_prefix('`')?.strip_suffix('`')?.to_owned());
        Some((code(file)?, code(function)?))
    })
    .collect()
}

#[test]
fn the_steps_of_a_delivery_name_functions_that_exist() {
    let steps = steps();
    assert!(steps.len() > 25, "the tables were read: {steps:?}");
    let missing: Vec<_> = steps
        .iter()
        .filter(|(file, function)| {
            let source = fs::read_to_string(repository().join(file)).unwrap_or_default();
            !source.contains(&format!("fn {function}("))
                && !source.contains(&format!("fn {function}<"))
        })
        .collect();
    assert!(missing.is_empty(), "not in the code: {missing:?}");
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !["tests", "testkit", "flow-model", "examples"].contains(&name.as_str())
        {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn exported_type(line: &str) -> Option<&str> {
    let words = line.trim_start().strip_prefix("pub ")?;
    let declared = ["struct ", "enum ", "trait ", "type "]
        .iter()
        .find_map(|keyword| words.strip_prefix(keyword))?;
    let name = declared
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .next();
    // A macro's `$name` is not one.
    name.filter(|name| !name.is_empty())
}

/// A reader who meets a name has to know what it is without looking up which crate it comes from.
#[test]
fn no_two_exported_types_share_a_name() {
    let mut files = Vec::new();
    for folder in ["shared", "functions", "cli"] {
        sources(&repository().join(folder), &mut files);
    }
    let mut places: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for file in files {
        let source = fs::read_to_string(&file).unwrap();
        for name in source.lines().filter_map(exported_type) {
            places
                .entry(name.to_owned())
                .or_default()
                .push(file.clone());
        }
    }
    assert!(places.len() > 200, "the sources were read");
    places.retain(|_, places| places.len() > 1);
    assert!(places.is_empty(), "exported more than once: {places:#?}");
}
