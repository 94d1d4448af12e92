#!/usr/bin/env python3
"""Builds the documentation site from docs/, the documents at the root and the gateway's OpenAPI document.

    python3 tools/docs/build.py [--gateway target/debug/postrider]

The pages are copied to target/docs/src with links that fit the site: docs/ is its root, and links to other files of the
repository go to GitHub. mdBook turns them into target/docs/site (book.toml). The result needs no network; every link
in it is checked.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

import api
import gateway
import markdown

ROOT = gateway.ROOT
SOURCE = ROOT / "target/docs/src"
SITE = ROOT / "target/docs/site"
REPOSITORY = "https://github.com/postrider/postrider"
SUMMARY = ROOT / "docs/SUMMARY.md"


def place(path):
    """Where a file of the repository is in the site."""
    inside = PurePosixPath(path).relative_to("docs") if path.startswith("docs/") else PurePosixPath(path)
    return str(inside.with_name("index.md") if inside.name == "README.md" else inside)


def chapters():
    """The repository's paths of all pages, in the order of the summary."""
    text = SUMMARY.read_text()
    return [repository_path("docs/SUMMARY.md", target) for _, _, target in markdown.links(text) if target]


def repository_path(page, target):
    return os.path.normpath(os.path.join(os.path.dirname(page), target))


def relative(page, target):
    return os.path.relpath(target, os.path.dirname(page) or ".")


def adjust(page, pages):
    """The text of a page, with links that work in the site."""

    def change(target):
        parts = urlsplit(target)
        if parts.scheme or parts.netloc or not parts.path:
            return target
        path = repository_path(page, unquote(parts.path))
        path = next((known for known in (path, f"{path}/README.md") if known in pages), path)
        fragment = f"#{parts.fragment}" if parts.fragment else ""
        if path in pages or path.startswith("docs/images/"):
            return relative(place(page), place(path)) + fragment
        view = "tree" if (ROOT / path).is_dir() else "blob"
        return f"{REPOSITORY}/{view}/main/{path}{fragment}"

    return markdown.replace_links((ROOT / page).read_text(), change)


def chapter(target):
    """Where a link of the summary leads in the site."""
    return place(repository_path("docs/SUMMARY.md", target)) if target else ""


def summary(api_pages):
    """The summary for mdBook: paths in the site, and the generated pages in place of the draft chapter."""
    text = markdown.replace_links(SUMMARY.read_text(), chapter)
    entries = [f"[{title}]({path})" for path, title, _ in api_pages]
    first, *others = entries
    return text.replace("- [HTTP API]()", "\n".join([f"- {first}", *(f"  - {other}" for other in others)]))


def describe(api_pages, texts):
    """llms.txt: what the site contains, for programs (https://llmstxt.org)."""
    lines = ["# Postrider", "", f"> {markdown.first_paragraph(texts['index.md'])}", ""]
    lines += ["Every page is also available as Markdown, with the extension .md; llms-full.txt has all of them.", ""]
    for part in re.split(r"^# (?=\w)", SUMMARY.read_text(), flags=re.M)[2:]:
        section, _, body = part.partition("\n")
        lines += [f"## {section}", ""]
        for _, _, target in markdown.links(body):
            listed = [chapter(target)] if target else [path for path, _, _ in api_pages]
            for path in listed:
                lines.append(f"- [{markdown.title(texts[path])}]({path}): {markdown.first_paragraph(texts[path])}")
        lines.append("")
    return "\n".join(lines)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def stage(document):
    shutil.rmtree(SOURCE, ignore_errors=True)
    pages = chapters()
    api_pages = list(api.Reference(document).pages())
    texts = {place(page): adjust(page, set(pages)) for page in pages}
    texts |= {path: text for path, _, text in api_pages}
    for path, text in texts.items():
        write(SOURCE / path, text)
    write(SOURCE / "SUMMARY.md", summary(api_pages))
    shutil.copytree(ROOT / "docs/images", SOURCE / "images")
    write(SOURCE / "openapi.json", json.dumps(document, indent=2) + "\n")
    return {"llms.txt": describe(api_pages, texts), "llms-full.txt": "\n\n".join(texts.values())} | texts


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.targets = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or name == "name" and tag == "a":
                self.ids.add(value)
            elif name in ("href", "src") and value:
                self.targets.append((tag, value))


def broken(site):
    """Links of the built site that lead nowhere, and resources that it would load from elsewhere."""
    pages = {path: Page(path.read_text()) for path in site.rglob("*.html")}
    for path, page in pages.items():
        # The page for unknown addresses uses paths from the root of a server.
        for tag, target in page.targets if path.name != "404.html" else []:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if tag not in ("a", "base"):
                    yield f"{path.relative_to(site)}: loads {target} from the network"
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            to = to / "index.html" if to.is_dir() else to
            if not to.is_file():
                yield f"{path.relative_to(site)}: {target}: no such file"
            elif parts.fragment and to in pages and unquote(parts.fragment) not in pages[to].ids:
                yield f"{path.relative_to(site)}: {target}: no such heading"


def openapi(binary):
    with gateway.running(binary) as running, urllib.request.urlopen(f"{running.url}/openapi.json") as response:
        return json.load(response)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    help_text = "the binary that serves the OpenAPI document"
    parser.add_argument("--gateway", type=Path, default=gateway.default_binary(), help=help_text)
    texts = stage(openapi(parser.parse_args().gateway.resolve()))
    shutil.rmtree(SITE, ignore_errors=True)
    subprocess.run([ROOT / ".tools/bin/mdbook", "build"], cwd=ROOT, check=True)
    for path, text in texts.items():
        write(SITE / path, text)
    problems = list(broken(SITE))
    print("\n".join(problems) if problems else f"docs: {len(texts) - 2} pages in {SITE.relative_to(ROOT)}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
