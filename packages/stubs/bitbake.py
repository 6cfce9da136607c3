"""Parses a recipe with BitBake, and fetches its source with the checksum.

    python3 bitbake.py RECIPE DIR

The classes that it inherits are empty, in DIR. Fetches what is at file: or on this machine's
loopback, and prints, as JSON, variables and what each URL is expected to hash to. BitBake is the
package bitbake-setup of PyPI, which lacks a module that only its caches need.
"""

import json
import os
import sys
import types

for name in ("hashserv", "hashserv.client"):
    sys.modules.setdefault(name, types.ModuleType(name))

import bb.data
import bb.fetch2
import bb.parse


def main():
    recipe, top = (os.path.abspath(word) for word in sys.argv[1:3])
    name, version = os.path.basename(recipe).removesuffix(".bb").split("_")
    for made in ("classes", "downloads", "work"):
        os.makedirs(f"{top}/{made}", exist_ok=True)
    for inherited in ("base", "cargo", "cargo-update-recipe-crates"):
        open(f"{top}/classes/{inherited}.bbclass", "w").close()
    data = bb.data.init()
    settings = {
        "TOPDIR": top,
        "BBPATH": top,
        "TMPDIR": f"{top}/work",
        "PERSISTENT_DIR": f"{top}/work",
        "T": f"{top}/work",
        "DL_DIR": f"{top}/downloads",
        "FILE": recipe,
        "PN": name,
        "BPN": name,
        "PV": version,
        "BB_STRICT_CHECKSUM": "1",
        "__bbclasstype": "recipe",
    }
    for variable, value in settings.items():
        data.setVar(variable, value)
    bb.parse.init_parser(data)
    data = bb.parse.handle(recipe, data)[""]
    urls = data.getVar("SRC_URI").split()
    bb.fetch2.Fetch(urls[:1], data).download()
    expected = {url: fetched.sha256_expected for url, fetched in bb.fetch2.Fetch(urls, data).ud.items()}
    shown = {variable: data.getVar(variable) for variable in ("PACKAGES", "LICENSE", "SUMMARY", "RDEPENDS:groma-lmbench")}
    json.dump({"variables": shown, "expected": expected}, sys.stdout)


if __name__ == "__main__":
    main()
