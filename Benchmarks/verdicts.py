"""Goals and verdicts. Saved figures are judged by the same rule as figures that were just measured."""
import importlib

PARTS = ("readers", "latency", "store", "upgrade", "growth", "supervisor", "bridge", "control", "extension", "scale", "discord")
MET, MISSED, NOT_MEASURED = "met", "MISSED", "not measured"


def goals(parts=PARTS):
    """The goals of these parts: a sign and a bound by the name of the figure."""
    found = {}
    for part in parts:
        found |= importlib.import_module(f"parts.{part}").GOALS
    return found


def verdict(goal, value):
    if value is None:
        return NOT_MEASURED
    sign, bound = goal
    return MET if (value <= bound if sign == "<=" else value >= bound) else MISSED


def line(key, value, goal=None, verdict=""):
    shown = "-" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)
    bound = f"{goal[0]} {goal[1]}" if goal else ""
    return f"  {key:46} {shown:>12}  {bound:8} {verdict}".rstrip()


def conclude(parts, figures):
    """Prints every goal of these parts with its figure and its verdict. Returns the names of the figures by verdict."""
    found = {MET: [], MISSED: [], NOT_MEASURED: []}
    print(f"\n  {'figure':46} {'measured':>12}  {'goal':8} verdict")
    for key, goal in goals(parts).items():
        value = figures.get(key)
        found[verdict(goal, value)].append(key)
        print(line(key, value, goal, verdict(goal, value)))
    print(f"{len(found[MET])} goals are met, {len(found[MISSED])} are missed, {len(found[NOT_MEASURED])} were not measured.",
          flush=True)
    return found
