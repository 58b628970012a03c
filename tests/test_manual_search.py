"""The search of the manual leads from each term of the field to the page for users that explains it.

Node runs the search worker of the theme on the index of the built manual, so the ranking is the one that readers see.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.test_manual import build_manual

_NODE = shutil.which("node") or ""
pytestmark = pytest.mark.skipif(not _NODE, reason="Node runs the search of the manual, and there is none")

_QUERY_ALL = """
const fs = require("fs"), path = require("path"), vm = require("vm");
const site = process.argv[1], folder = path.join(site, "assets/javascripts/workers");
const script = fs.readdirSync(folder).find((name) => /^search\\..*\\.js$/.test(name));
const index = JSON.parse(fs.readFileSync(path.join(site, "search/search_index.json"), "utf8"));
const queries = JSON.parse(fs.readFileSync(0, "utf8"));
let listener, resolve;
const scope = {
  addEventListener: (_, handler) => { listener = handler; },
  postMessage: (message) => resolve(message),
  console, performance,
};
scope.self = scope;
vm.runInNewContext(fs.readFileSync(path.join(folder, script), "utf8"), scope);
const send = (data) => new Promise((done) => { resolve = done; listener({ data }); });
(async () => {
  await send({ type: 0, data: { ...index, options: { suggest: true } } });
  const answers = {};
  for (const query of queries) {
    const { data } = await send({ type: 2, data: query });
    answers[query] = data.items.map((item) => item[0].location.split("#")[0]);
  }
  process.stdout.write(JSON.stringify(answers));
})();
"""

FIRST_PAGE = {
    "bdd": "verification.html",
    "belief": "analysis.html",
    "bisimulation": "comparison.html",
    "breaking change": "breaking.html",
    "cache": "working.html",
    "checkpoint": "how-to/long-runs.html",
    "coalition": "language.html",
    "common knowledge": "semantics.html",
    "cone of influence": "verification.html",
    "conformance": "analysis.html",
    "counterexample": "how-to/evidence.html",
    "ctl": "semantics.html",
    "cutoff": "verification.html",
    "deadlock": "checks/deadlock_free.html",
    "dialogue game": "how-to/dialogue.html",
    "distributed": "sweeping.html",
    "epistemic": "semantics.html",
    "event log": "logs.html",
    "fairness": "how-to/fairness.html",
    "imperfect information": "language.html",
    "interpreted system": "semantics.html",
    "justice": "how-to/fairness.html",
    "language server": "editor.html",
    "lasso": "how-to/evidence.html",
    "liveness": "verification.html",
    "ltl": "semantics.html",
    "markov decision process": "analysis.html",
    "model checking": "verification.html",
    "mutation": "verification.html",
    "nash equilibrium": "comparison.html",
    "parameterised verification": "verification.html",
    "partial order reduction": "verification.html",
    "past operators": "language.html",
    "point of no return": "verification.html",
    "probabilistic": "analysis.html",
    "refinement": "breaking.html",
    "replay": "simulation.html",
    "responsibility": "verification.html",
    "runtime verification": "monitoring.html",
    "safety": "verification.html",
    "sequence chart": "drawing.html",
    "simulation": "simulation.html",
    "smart contract": "examples.html",
    "state space": "verification.html",
    "statistical model checking": "analysis.html",
    "strategy": "verification.html",
    "strong violation": "how-to/violations.html",
    "symmetry reduction": "verification.html",
    "temporal logic": "semantics.html",
    "trace inclusion": "breaking.html",
    "uniform strategy": "verification.html",
    "vacuity": "verification.html",
    "value at risk": "analysis.html",
    "view abstraction": "verification.html",
    "weak fairness": "how-to/fairness.html",
    "witness": "how-to/evidence.html",
}
"""Terms of the field, and the page that the search of the manual finds first for each."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    site = build_manual(tmp_path_factory.mktemp("manual"))
    return search_pages(site, [*FIRST_PAGE, "stubborn set", "unmeetable-fairness"])


def search_pages(site: Path, queries: list[str]) -> dict[str, list[str]]:
    """Return the pages that the search of a built manual finds for each query, best first."""
    command = [_NODE, "-e", _QUERY_ALL, str(site)]
    ran = subprocess.run(command, input=json.dumps(queries), capture_output=True, text=True, timeout=120, check=True)
    pages: dict[str, list[str]] = json.loads(ran.stdout)
    return pages


@pytest.mark.parametrize("term", FIRST_PAGE)
def test_search_finds_user_page_first(results: dict[str, list[str]], term: str) -> None:
    assert results[term][:1] == [FIRST_PAGE[term]]


def test_search_finds_rule_page_by_code(results: dict[str, list[str]]) -> None:
    assert results["unmeetable-fairness"][0] == "rules/unmeetable-fairness.html"


def test_search_excludes_decision_records(results: dict[str, list[str]]) -> None:
    assert results["stubborn set"]
    assert not [page for pages in results.values() for page in pages if page.startswith("adr/")]
