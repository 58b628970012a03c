"""Families of protocols of growing size, with one question per kind of logic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_ROOT = Path(__file__).parents[1]
_SETTLED = "noOrder[i] | noProvide[i] | deliver[i] | noDeliver[i]"

KINDS: Final = {
    "ctl": "CTL",
    "fair": "CTL, fair",
    "path": "CTL*",
    "knowledge": "K",
    "commitment": "C and Fu",
    "decision": "one's chances",
}


@dataclass(frozen=True)
class Asked:
    formula: str
    assuming: str = ""
    agent: str = ""
    """Agent whose probabilities are computed, instead of a formula."""


@dataclass(frozen=True)
class Family:
    name: str
    title: str
    file: Path
    parameter: str
    """Name of the size parameter."""
    sizes: tuple[int, ...]
    questions: Mapping[str, Asked]
    """By kind."""
    more_parameters: tuple[str, ...] = ()
    """Values of the other parameters, ``NAME=VALUE``."""

    def definitions(self, n: int) -> list[str]:
        """Return the options that make it as large as this."""
        return [part for one in (f"{self.parameter}={n}", *self.more_parameters) for part in ("-D", one)]


FAMILIES: Final = (
    Family(
        "netbill",
        "NetBill, n customers that are independent",
        _ROOT / "examples" / "netbill.cpl",
        "customers",
        (1, 2, 4, 6, 8, 12, 16, 24, 32, 50),
        {
            "ctl": Asked("forall c in Cus: AG (pay[c] -> EF deliver[c])"),
            "fair": Asked("forall c in Cus: AG (pay[c] -> AF (deliver[c] | fail[c]))", "Mer"),
            "path": Asked("forall c in Cus: A (G F pay[c] -> G F (deliver[c] | fail[c]))", "Mer"),
            "knowledge": Asked("forall c in Cus: AG (deliver[c] -> K(c, fulfilled(goods[c])))"),
            "commitment": Asked("forall c in Cus: EF Fu(Mer -> c, deliver[c])"),
        },
    ),
    Family(
        "stock",
        "Orders against a stock of two, n customers",
        _ROOT / "benchmarks" / "protocols" / "stock.cpl",
        "customers",
        (1, 2, 3, 4, 6, 8, 10, 14, 20),
        {
            "ctl": Asked("AG (pay[1] -> EF (ship[1] | refund[1]))"),
            "fair": Asked("AG (pay[1] -> AF (ship[1] | refund[1]))", "Shop"),
            "path": Asked("A (F pay[1] -> F (ship[1] | refund[1]))", "Shop"),
            "knowledge": Asked("AG (sold_out[1] -> K(Cus[1], order[1]))"),
            "commitment": Asked("EF Fu(Shop -> Cus[1], ship[1] | refund[1])"),
        },
    ),
    Family(
        "rate_limit",
        "Requests under a rate limit of two, n clients",
        _ROOT / "benchmarks" / "protocols" / "rate_limit.cpl",
        "clients",
        (1, 2, 3, 4, 6, 8, 10, 14, 20),
        {
            "ctl": Asked("AG (Server.free = 0 -> EF Server.free > 0)"),
            "fair": Asked("AG (accept[1] -> AF fulfilled(answer[1]))", "Server"),
            "path": Asked("A (F accept[1] -> F (reply[1] & Server.free > 0))", "Server"),
            "knowledge": Asked("AG (reply[1] -> K(Client[1], accept[1]))"),
            "commitment": Asked("EF Fu(Server -> Client[1], reply[1])"),
        },
    ),
    Family(
        "contract_net",
        "Contract Net, n participants",
        _ROOT / "examples" / "contract_net.cpl",
        "participants",
        (1, 2, 3, 4, 6, 8, 12, 20, 30),
        {
            "ctl": Asked("AG !(exists p in Prt: exists q in Prt: p != q & award[p] & award[q])"),
            "fair": Asked("forall p in Prt: AG (active(reply[p]) -> AF fulfilled(reply[p]))", "Mgr"),
            "path": Asked("A (F award[1] -> F (inform[1] | failure[1]))", "Prt"),
            "knowledge": Asked("forall p in Prt: AG (award[p] -> K(p, active(result[p]) | closed(result[p])))"),
            "commitment": Asked("forall p in Prt: EF Fu(p -> Mgr, inform[p])"),
        },
    ),
    Family(
        "chain",
        "A promise delegated along n agents",
        _ROOT / "benchmarks" / "protocols" / "chain.cpl",
        "links",
        (2, 3, 4, 6, 8, 12, 16, 24, 32),
        {
            "ctl": Asked("AG (order -> EF done)"),
            "fair": Asked("AG (order -> AF done)", "all"),
            "path": Asked("A (F order -> F done)", "all"),
            "knowledge": Asked("AG (finish[2] -> K(Customer, pass_on[1]))"),
            "commitment": Asked("EF Fu(Agent[2] -> Customer, done)"),
        },
    ),
    Family(
        "dining",
        "Dining cryptographers, n at the table",
        _ROOT / "examples" / "dining_cryptographers.cpl",
        "n",
        (3, 4, 5, 6, 8, 10, 14, 20),
        {
            "ctl": Asked("AG (result[1] -> (result[1].odd <-> one_of_us))"),
            "fair": Asked("AF result[1]", "all"),
            "path": Asked("A (G !bill[1].yours -> F (K(Crypt[1], !one_of_us) | K(Crypt[1], one_of_us)))", "all"),
            "knowledge": Asked(
                "AG (result[1].odd & !bill[1].yours -> K(Crypt[1], one_of_us & !bill[1].yours)"
                " & forall j in 2..n: !K(Crypt[1], bill[j].yours))"
            ),
        },
    ),
    Family(
        "iterated",
        "Iterated dining cryptographers",
        _ROOT / "examples" / "iterated_cryptographers.cpl",
        "n",
        (3, 4, 5, 6, 8, 10, 14, 20),
        {
            "ctl": Asked("AG EF lie"),
            "fair": Asked("AG AF count[1]", "all"),
            "path": Asked("A G F count[1]", "all"),
            "knowledge": Asked("EF K(Crypt[1], Crypt[2].lied)"),
        },
    ),
    Family(
        "dutch",
        "Dutch auction at two prices, n bidders",
        _ROOT / "stdlib" / "auctions.cpl",
        "bidders",
        (2, 3, 4, 5, 6, 8),
        {
            "ctl": Asked("AG !(grant[1, 1] & grant[2, 1])"),
            "fair": Asked("AF (sold | unsold)", "all"),
            "path": Asked("A F (sold | unsold)", "all"),
            "knowledge": Asked("AG (grant[1, 2] -> K(bidder[1], !grant[2, 2]))"),
            "commitment": Asked("EF Fu(bidder[1] -> auctioneer, pay[1, 2])"),
        },
        ("prices=2",),
    ),
    Family(
        "ecommerce",
        "E-commerce, n copies of one trade",
        _ROOT / "examples" / "ecommerce.cpl",
        "copies",
        (1, 2, 3, 4, 5, 8, 12, 20, 50),
        {
            "ctl": Asked(f"forall i in 1..copies: AG (pay[i] -> ({_SETTLED}) | EF deliver[i])"),
            "fair": Asked(f"forall i in 1..copies: AG (pay[i] -> AF ({_SETTLED}))", "all"),
            "path": Asked(f"forall i in 1..copies: A (F pay[i] -> F ({_SETTLED}))", "all"),
            "knowledge": Asked("forall i in 1..copies: AG (deliver[i] -> K(Buyer[i], provide[i]))"),
            "commitment": Asked("forall i in 1..copies: EF Fu(Seller -> Buyer[i], deliver[i])"),
            "decision": Asked("", agent="Alice"),
        },
    ),
    Family(
        "trades",
        "n unrelated trades between the same two roles",
        _ROOT / "benchmarks" / "protocols" / "trades.cpl",
        "trades",
        (1, 2, 4, 6, 8, 10, 14, 20, 32, 60),
        {
            "ctl": Asked("AG (pay[1] -> EF deliver[1])"),
            "fair": Asked("AG (pay[1] -> AF deliver[1])", "Seller"),
            "path": Asked("A (F pay[1] -> F deliver[1])", "Seller"),
            "knowledge": Asked("AG (deliver[1] -> K(Seller, offer[1]))"),
            "commitment": Asked("EF Fu(goods[1], deliver[1])"),
        },
    ),
)
