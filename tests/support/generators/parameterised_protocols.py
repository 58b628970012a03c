"""Random parameterised protocols whose properties may fail from some size on, or up to some size."""

from __future__ import annotations

from hypothesis import strategies as st


@st.composite
def threshold_families(draw: st.DrawFn, greatest: int = 7, greatest_async: int = 6) -> str:
    """Draw a protocol `G(n: 1..greatest)` with a counter, a stock or numbers of members, and its property."""
    channels = draw(st.sampled_from([" sync", " sync", " sync", ""]))
    greatest = greatest if channels else greatest_async
    is_late = draw(st.booleans())  # most failures take nearly as many members as there may be
    late = st.integers(greatest - 1, greatest)
    top = draw(late if is_late else st.integers(2, greatest + 1))
    near = st.integers(top - 1, top) if is_late else st.integers(max(1, top - 2), top)
    members = late if is_late else st.integers(2, greatest)
    counting = [f"if Hub.seen < {top} set Hub.seen := Hub.seen + 1", f"if Hub.seen < {draw(near)}"]
    numbering = ["set Hub.last := c", f"if c != {draw(members)}", f"if c < {draw(members)}", f"if n < {draw(members)}"]
    asking = [
        "unless exists b in Cus: b != c & ship[b]",
        "if forall b in Cus: ask[b]",
        "unless exists a in Cus: exists b in Cus: a != b & deny[a] & deny[b]",
    ]
    ship = draw(
        st.sampled_from([counting[0], counting[0], "set Hub.seen := Hub.seen + 1", *counting, *numbering, *asking])
    )
    guard = draw(st.sampled_from(["", f"if Hub.seen = {draw(near)}", f"if Hub.seen >= {draw(near)}", numbering[0]]))
    deny = [f"    Hub -> c : deny  after ask  {guard}", *draw(st.sampled_from([[], ["    choice ship | deny"]]))]
    back = ["    Hub -> c : deny  after ship  if Hub.seen > 0 set Hub.seen := Hub.seen - 1"]
    third = draw(st.sampled_from([deny, deny, back]))
    first, second = draw(st.permutations(["ask", "ship", "deny"]))[:2]
    bound = draw(near)
    questions = [
        f"AG Hub.seen < {bound}",
        f"AG Hub.seen != {bound}",
        f"EF Hub.seen = {bound}",
        f"AG EF Hub.seen = {bound}",
        f"AG (Hub.seen = {bound} -> EF Hub.seen < {bound})",
        f"AG Hub.last < {bound}",
        "forall c in Cus: AG (ask[c] -> EF ship[c])",
        "forall c in Cus: EF ship[c]",
        "AG EF (forall c in Cus: ship[c] | deny[c])",
        f"forall c in Cus: AG ({first}[c] -> EF {second}[c])",
        f"forall c in Cus: AG ({first}[c] -> Hub.seen < {bound})",
        f"forall c in Cus: AG ({first}[c] -> K(c, Hub.seen > 0))",
        f"forall b in Cus: forall c in Cus: AG !({first}[b] & {second}[c])",
        f"AG !(forall c in Cus: {first}[c])",
        f"A (F Hub.seen = {bound} -> F (exists c in Cus: {second}[c]))",
    ]
    live = [
        " assuming Hub: forall c in Cus: AG (ask[c] -> AF (ship[c] | deny[c]))",
        " assuming Hub: forall c in Cus: AG (ask[c] -> AF ship[c])",
        f" assuming all: AF Hub.seen >= {bound}",
    ]
    if is_late:
        questions, live = [questions[number] for number in (0, 1, 4, 5, 6, 7, 8, 10)], live[:2]
    drawn_questions = draw(
        st.lists(st.sampled_from([*(f": {one}" for one in questions), *live]), min_size=1, max_size=2)
    )
    checks = draw(st.sampled_from(["", "", "  check deadlock_free, sound, live"]))
    expected = draw(st.sampled_from(["", "", " expect fails"]))
    return "\n".join(
        [
            f"protocol G(n: 1..{greatest} = 2){channels} {{",
            f"  role Hub {{ var seen: 0..{top} = 0  var last: 0..{draw(members)} = 0 }}",
            "  role Cus[n]",
            "  for c in Cus {",
            "    commitment duty = C(Hub, c, ask, ship)",
            "    c -> Hub : ask",
            f"    Hub -> c : ship  after ask  {ship}",
            *third,
            "  }",
            *(f"  property p{number}{text}{expected}" for number, text in enumerate(drawn_questions)),
            checks,
            "}",
            "",
        ]
    )
