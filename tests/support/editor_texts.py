"""Texts that tests open in an editor, and the editors under test."""

from __future__ import annotations

import pytest

EDITORS = pytest.mark.parametrize("client", ["visual_studio_code", "neovim", "emacs"], indirect=True)
"""Clients whose requests differ."""

SHOP = """\
cpl 2

// A shop.
protocol Shop(buyers: 1..4 = 2) {
  role Seller { var stock: 0..3 = 3 }
  role Buyer[buyers]

  for b in Buyer {
    // Once you have paid, I ship.
    commitment goods = C(Seller, b, pay, ship)

    Seller -> b : offer                means create goods
    b -> Seller : pay    after offer
    Seller -> b : ship   after pay     set stock := stock - 1
    Seller -> b : cancel after pay     means violate goods
    choice ship | cancel
  }

  property fair: forall x in Buyer: AG (active(goods[x]) -> AF fulfilled(goods[x]))  expect fails
  check sound, live
}
"""

ISPL = """\
Agent Environment
  Vars: x : {on, off}; end Vars
  Actions = {flip, wait};
  Protocol: x = on : {flip}; Other : {wait}; end Protocol
  Evolution: x = off if Action = flip; end Evolution
end Agent
Agent Man Vars: y : boolean; end Vars Actions = {rest}; Protocol: Other : {rest}; end Protocol
  Evolution: y = true if Action = rest; end Evolution end Agent
Evaluation
  lit if Environment.x = on;
end Evaluation
InitStates Environment.x = on; end InitStates
Formulae
  AF !lit;
end Formulae
"""
