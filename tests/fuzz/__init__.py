"""Mutation fuzzing: texts, formulas, models, logs, states, settings and editor sessions that were damaged on purpose.

``make fuzz FUZZ_SECONDS=600 FUZZ_SEED=7``, or ``python -m tests.fuzz --targets text formula --inputs 20000``, mutates
the examples of the repository. Every input has 2 s of processor time; more than that, and any exception that the
program does not declare for bad input, is a finding. Findings are minimised and written below ``build/fuzz``.

Input number ``i`` of a target depends on the seed and on ``i`` alone: ``--start i --inputs 1`` repeats it.
"""
