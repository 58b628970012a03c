"""Values of options and their meaning."""

from __future__ import annotations

import click
import pytest

from cplc.cli.options import definition, duration, names, size


@pytest.mark.parametrize(
    ("text", "seconds"), [("30", 30), ("0.5", 0.5), (".5", 0.5), ("90s", 90), ("5m", 300), ("1 h", 3600), ("1.5m", 90)]
)
def test_duration(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "-1", "soon", "5 days", "1e3", "nan", "inf", "m"])
def test_invalid_duration_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a time"):
        duration(text)


@pytest.mark.parametrize(
    ("text", "size_in_bytes"),
    [("500", 500 * 2**20), ("500MB", 500 * 2**20), ("2GB", 2**31), ("2g", 2**31), ("1.5 GB", 3 * 2**29), ("1M", 2**20)],
)
def test_size(text: str, size_in_bytes: int) -> None:
    assert size(text) == size_in_bytes


@pytest.mark.parametrize("text", ["", "0", "-1", "2KB", "much", "GB"])
def test_invalid_size_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a size"):
        size(text)


def test_definition() -> None:
    assert definition("n=5") == ("n", "5")
    assert definition(" lossy = true ") == ("lossy", "true")
    assert definition("a=b=c") == ("a", "b=c")


@pytest.mark.parametrize("text", ["", "n", "n=", "=5", " = "])
def test_invalid_definition_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="not of the form name=value"):
        definition(text)


def test_names() -> None:
    assert names("Mer") == ("Mer",)
    assert names("Mer, Cus[1,2],Bank") == ("Mer", "Cus[1,2]", "Bank")


@pytest.mark.parametrize("text", ["", ",", "Mer,", "Mer,,Cus"])
def test_invalid_list_of_names_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="not a list of names"):
        names(text)
