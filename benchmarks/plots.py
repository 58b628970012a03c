"""Time and memory against size, for each tool, on logarithmic scales: one picture for each family."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Final

import matplotlib as mpl
from benchmarks.families import KINDS, Family
from benchmarks.peers import Answer

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "cplc"
mpl.rcParams["svg.fonttype"] = "none"

from matplotlib import pyplot as plt  # noqa: E402 -- after the choice of the backend

_STYLES: Final = {
    "cplc": ("#0b6e4f", "o"),
    "NuSMV": ("#c44536", "s"),
    "NuSMV with ARCTL": ("#e09f3e", "^"),
    "MCMAS": ("#335c81", "D"),
    "Storm": ("#7b4b94", "v"),
}


def plot(family: Family, curves: Sequence[tuple[str, str, int, Answer]], limit: float) -> str:
    """Return the picture; a curve ends in a cross where the tool gave up."""
    kinds = [kind for kind in KINDS if any(one[0] == kind for one in curves)]
    figure, axes = plt.subplots(
        2, len(kinds), figsize=(2.6 * len(kinds) + 0.6, 5), sharex="col", sharey="row", squeeze=False
    )
    for column, kind in enumerate(kinds):
        for tool, (colour, marker) in _STYLES.items():
            here = [(n, answer) for of, name, n, answer in curves if (of, name) == (kind, tool)]
            answered = [(n, one) for n, one in here if one.verdict != "unknown"]
            given_up = [n for n, one in here if one.verdict == "unknown"]
            if not here:
                continue
            style = {"color": colour, "marker": marker, "markersize": 3.5, "linewidth": 1.2}
            axes[0][column].plot([n for n, _ in answered], [one.seconds for _, one in answered], label=tool, **style)
            axes[1][column].plot([n for n, _ in answered], [one.megabytes for _, one in answered], label=tool, **style)
            axes[0][column].plot(given_up, [limit] * len(given_up), "x", color=colour, markersize=6)
        axes[0][column].set_title(KINDS[kind], fontsize=10)
        axes[1][column].set_xlabel("n")
        for row in axes:
            row[column].set_xscale("log", base=2)
            row[column].set_yscale("log")
            row[column].xaxis.set_major_formatter("{x:.0f}")
            row[column].grid(visible=True, alpha=0.25)
    axes[0][0].set_ylabel("seconds")
    axes[1][0].set_ylabel("megabytes")
    figure.suptitle(family.title, fontsize=12)
    handles = {label: handle for one in axes[0] for handle, label in zip(*one.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="lower center", ncols=len(handles), frameon=False)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    plt.close(figure)
    return text.getvalue()
