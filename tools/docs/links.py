#!/usr/bin/env python3
"""Checks the links between the documents of the checkout: files and #anchors exist. Needs no network.

    python3 tools/docs/links.py

It reads every Markdown file that git tracks or would track. Links to other sites are not followed, except those to this
repository's own files. It also checks that the site contains every page of docs/.
"""

import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import markdown

ROOT = Path(__file__).resolve().parents[2]
OWN = "https://github.com/postrider/postrider/blob/main/"
SUMMARY = "docs/SUMMARY.md"


def documents():
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "*.md"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return sorted(name for name in names if name and (ROOT / name).is_file())


def line(text, position):
    return text.count("\n", 0, position) + 1


def problem(name, target, anchors_of):
    """What is wrong with a link of the document `name`; None if nothing is."""
    if target.startswith(OWN):
        name, target = "README.md", target.removeprefix(OWN)
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return None
    path = ((ROOT / name).parent / unquote(parts.path)).resolve() if parts.path else ROOT / name
    if not path.is_relative_to(ROOT):
        return "leaves the repository"
    if not path.exists():
        return "no such file"
    if not parts.fragment or path.suffix != ".md":
        return None
    return None if unquote(parts.fragment) in anchors_of(path) else "no such heading"


def main():
    known = {}

    def anchors_of(path):
        if path not in known:
            known[path] = markdown.anchors(path.read_text())
        return known[path]

    problems, count, summarised = [], 0, set()
    names = documents()
    for name in names:
        text = (ROOT / name).read_text()
        for start, _, target in markdown.links(text):
            if not target:
                continue
            count += 1
            wrong = problem(name, target, anchors_of)
            if wrong:
                problems.append(f"{name}:{line(text, start)}: {target}: {wrong}")
            if name == SUMMARY:
                summarised.add((ROOT / "docs" / target).resolve())
    for name in names:
        if name.startswith("docs/") and name != SUMMARY and (ROOT / name).resolve() not in summarised:
            problems.append(f"{name}: not listed in {SUMMARY}, so the site does not contain it")
    print("\n".join(problems) if problems else f"links: {count} links in {len(names)} documents")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
