"""From a checked model to the interpreted system that engines and exporters read."""

from cplc.lowering.formulas import lower_formula
from cplc.lowering.lower import View, all_views, lower, views_in
from cplc.lowering.participants import lower_participant, participant_views

__all__ = ["View", "all_views", "lower", "lower_formula", "lower_participant", "participant_views", "views_in"]
