# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of a rollout: what is done with each host, what is refused, and what is finished all the same."""

from __future__ import annotations

import itertools

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import rollout, rollout_plan
from ansible_collections.goldennode.gpu.plugins.module_utils.rollout_plan import Plan
from ansible_collections.goldennode.gpu.tests.unit.rollouts import ID, host, hosts, later, moment, record, settings

OTHER = "pool-2026.11-ba9876543210"


def plan(known, minutes=1.0, **values):
    return rollout_plan.plan(known, settings(**values), ID, moment(minutes))


def refused(known, minutes=1.0, **values):
    (said,) = plan(known, minutes, **values).refused
    return said


def shape(made):
    return [(wave.name, *wave.hosts) for wave in made.waves]


def actions(made):
    return {name: step.action for name, step in made.steps.items()}


# --- what is done with a host -------------------------------------------------------------------------------------

#: state of the record -> what is done where nothing else is to be said.
USUAL = {
    "": "convert",
    "pending": "convert",
    "draining": "continue",
    "converging": "continue",
    "verifying": "continue",
    "soaking": "continue",
    "rolling_back": "roll_back",
    "golden": "convert",  # and not golden any more
    "rolled_back": "settled",
    "failed": "settled",
    "stopped": "settled",
}


def expected(state, rollout_of, reachable, golden, retry, late):
    """The rules once more, in another order than the code has them."""
    if not reachable:
        return "unreachable"
    if rollout_of == "this":
        if state == "rolling_back" or (late and state in rollout.WORKING):
            return "roll_back"
        if state in rollout.WORKING:
            return "continue"
    half_way = state in rollout.IN_FLIGHT
    if golden and not half_way:
        return "done"
    if rollout_of == "this" and not retry:
        return USUAL[state]
    return "convert"


@pytest.mark.parametrize("rollout_of", ["this", "stale", "taken over"])
@pytest.mark.parametrize("state", list(USUAL))
def test_every_state_of_a_record_with_everything_else(state, rollout_of):
    for reachable, golden, retry, late in itertools.product([True, False], repeat=4):
        made_of = record(state, ID if rollout_of == "this" else OTHER, deadline=later(10)) if state else None
        one = host(
            "p",
            record=made_of,
            reachable=reachable,
            golden_for_target=golden,
            boot_id="boot-2" if late else "boot-1",
            booted_at=later(11),
        )
        known = [host("c", golden_for_target=True), one, host("u", "draining")]
        made = plan(
            known,
            minutes=60 * 25,
            budget=3,
            waves=[5],
            retry=retry,
            take_over=OTHER if rollout_of == "taken over" else "",
            stale_after=24 if rollout_of == "stale" else 10**6,
        )
        assert made.refused == ()
        assert made.steps["p"].action == expected(state, rollout_of, reachable, golden, retry, late)
        if made.steps["p"].action in ("done", "settled", "unreachable"):
            assert made.steps["p"].outcome
        else:
            assert made.steps["p"].outcome == ""


@pytest.mark.parametrize(("state", "action"), list(USUAL.items()))
def test_a_first_plan_and_one_after_a_kill(state, action):
    made = plan([host("c", golden_for_target=True), host("p", state), host("q")], budget=1, waves=[9])
    if state == "stopped":
        assert made.refused
        return
    assert actions(made) == {"c": "done", "p": action, "q": "convert"}
    assert made.halted == ""


def test_outcomes_that_are_known_before_anything_is_done():
    known = [
        host("c", golden_for_target=True),
        host("r", record=record("rolled_back", reason="no injection")),
        host("f", "failed"),
        host("u", reachable=False, failure="timed out"),
        host("p"),
    ]
    steps = plan(known, budget=3).steps
    assert {name: step.outcome for name, step in steps.items()} == {
        "c": "golden",
        "r": "rolled_back",
        "f": "failed",
        "u": "lost",
        "p": "",
    }
    assert steps["r"].reason == "no injection"
    assert steps["u"].reason == "timed out"


def test_a_node_without_a_way_back_is_told_before_it_is_begun():
    known = [host("c", base=False), host("p"), host("q", record=record("converging", base=""), base=False)]
    assert plan(known).warnings == (
        "there is no way back for q, c: never golden before, so what fails there stays as it is",
    )
    assert plan([host("c", "converging", base=False)]).warnings == ()  # its record has kept the way


def test_no_canary_is_allowed_and_told():
    made = plan(hosts(3), canaries=0, waves=["100%"])
    assert shape(made) == [("wave-1", "n1", "n2", "n3")]
    assert made.warnings == ("there is no canary: the first wave is the first to have the new bundle",)


def test_waves_and_budget_of_a_pool():
    made = plan(hosts(9), canaries=["n9"], waves=[1, "25 %"], budget="25%")
    assert shape(made) == [
        ("canary-1", "n9"),
        ("wave-1", "n1"),
        ("wave-2", "n2", "n3"),
        ("wave-3", "n4", "n5"),
        ("wave-4", "n6", "n7"),
        ("wave-5", "n8"),
    ]
    assert (made.budget, made.canaries, made.id) == (2, ("n9",), ID)
    assert made.steps["n8"].wave == "wave-5"


def test_the_same_is_planned_for_the_same():
    known = [*hosts(40), host("n1"), host("n7", "soaking")]
    assert plan(known) == plan(list(known))
    assert plan(known).steps["n7"].action == "convert"  # the first of two that have one name counts


# --- refusals -----------------------------------------------------------------------------------------------------


def test_no_node():
    assert refused([]) == "there is no node to roll out to: the group gpu_nodes has none, or --limit leaves none"


def test_canaries_that_are_no_nodes():
    assert refused(hosts(3), canaries=["n1", "m1", "m2\x1b[2J"]) == (
        "rollout_canaries names what is no node of this run: m1, m2\\x1b[2J. Use names of the inventory, and let "
        "--limit leave the canaries in"
    )


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"failure": "sudo: a password is required"}, "n cannot be asked: sudo: a password is required"),
        (
            {"record_error": "rollout.json cannot be understood: state 'x'"},
            "n: rollout.json cannot be understood: state 'x'. Nobody knows what a rollout left half done there: look "
            "at /var/lib/goldennode/rollout.json on it, and remove it when no rollout is under way",
        ),
        (
            {"platform": "rhel-9-x86_64", "platform_known": False},
            "n is of the platform rhel-9-x86_64, which the bundle does not have. Add it to platforms in the bundle and "
            "run ansible-playbook goldennode.gpu.lock, or leave it out by --limit 'localhost,gpu_nodes,!n'",
        ),
        ({"platform": None, "platform_known": False}, "n does not say its platform, which the bundle does not have. "),
    ],
)
def test_a_node_of_which_too_little_is_known(fields, said):
    assert refused([host("c"), host("n", **fields)]).startswith(said)


def test_all_refusals_come_at_once():
    known = [
        host("a", failure="x"),
        host("b", record_error="y"),
        host("c", platform_known=False),
        host("d", record=record("pending", OTHER)),
    ]
    made = plan(known, canaries=["z"])
    assert len(made.refused) == 5
    assert (made.waves, made.steps) == ((), {})


# --- other rollouts -----------------------------------------------------------------------------------------------


def of_other(**states):
    return [host(name, record=record(state, OTHER)) for name, state in states.items()]


@pytest.mark.parametrize("state", [state for state in rollout.STATES if state not in rollout.TERMINAL])
def test_another_rollout_that_is_not_finished(state):
    assert refused([host("c"), *of_other(x=state, y="golden", z="pending")]) == (
        "the rollout %s is not finished on this pool: %s. Let it end by the command that began it, or have it give way "
        "with -e rollout_take_over=%s"
        % (OTHER, "pending: x, z" if state == "pending" else "pending: z; %s: x" % state.replace("_", " "), OTHER)
    )


@pytest.mark.parametrize("state", rollout.TERMINAL)
def test_another_rollout_that_is_finished_says_nothing(state):
    made = plan([host("c"), *of_other(x=state)])
    assert (made.refused, made.warnings) == ((), ())


def test_two_other_rollouts_are_two_refusals():
    known = [*of_other(x="pending"), host("y", record=record("soaking", "z-1"))]
    assert len(plan(known).refused) == 2
    assert len(plan(known, take_over=OTHER).refused) == 1


def test_one_that_is_taken_over_gives_way():
    made = plan(of_other(x="soaking", y="pending"), take_over=OTHER)
    assert made.warnings == ("the rollout %s gives way, as rollout_take_over says: pending: y; soaking: x" % OTHER,)
    assert set(actions(made).values()) == {"convert"}


def test_one_that_is_stale_gives_way():
    known = of_other(x="soaking")
    assert plan(known, minutes=60 * 24).refused
    assert plan(known, minutes=60 * 24 + 1).warnings == (
        "the rollout %s gives way: none of its nodes here has moved for more than 24 hours: soaking: x" % OTHER,
    )


def test_a_rollout_is_alive_as_long_as_one_of_its_nodes_moves():
    """The last nodes of a long rollout wait for days."""
    known = [*of_other(x="pending"), host("y", record=record("golden", OTHER, since=later(60 * 40)))]
    assert plan(known, minutes=60 * 48).refused
    assert not plan(known, minutes=60 * 65).refused


@pytest.mark.parametrize("since", ["", "soon", "2099-01-01T00:00:00Z"])
def test_a_time_that_cannot_be_is_not_old(since):
    known = [*of_other(y="pending"), host("x", record=record("soaking", OTHER, since=since))]
    assert plan(known, minutes=60 * 1000).refused


# --- a rollout that must not go on --------------------------------------------------------------------------------


def test_a_canary_that_cannot_be_reached():
    assert refused([host("c", reachable=False, failure="timed out"), host("p")]) == (
        "the canary c cannot be reached: timed out. Bring it back, or name another one in rollout_canaries."
    )


@pytest.mark.parametrize(("state", "was"), [("rolled_back", "was rolled back"), ("failed", "has failed")])
def test_a_rollout_that_a_canary_has_stopped(state, was):
    known = [host("c", record=record(state, reason="no injection")), host("p", "stopped"), host("q", "pending")]
    assert refused(known) == (
        "this rollout has stopped: the canary c %s: no injection. Mend what is wrong, and run again with -e "
        "rollout_retry=true." % was
    )
    assert actions(plan(known, retry=True)) == {"c": "convert", "p": "convert", "q": "convert"}


def test_nodes_that_were_stopped():
    known = [host("c", golden_for_target=True), host("p", record=record("stopped", reason="the budget is spent"))]
    assert refused(known) == (
        "this rollout has stopped before the turn of p: the budget is spent. Mend what is wrong, and run again with -e "
        "rollout_retry=true."
    )


def test_a_budget_that_is_spent_and_lost_nodes_count_from_the_start():
    known = [host("c"), host("p", "rolled_back"), host("q", reachable=False), host("r"), host("s", "failed")]
    assert refused(known, budget=2) == (
        "3 production nodes count against the budget of 2: p was rolled back; q cannot be reached; s has failed. Mend "
        "them and run again with -e rollout_retry=true, raise rollout_budget, or leave them out by --limit "
        "'localhost,gpu_nodes,!p,!q,!s'."
    )
    assert not plan(known, budget=3).refused
    assert not plan(known, budget=1, retry=True).refused


def test_nodes_that_are_only_out_of_reach_need_no_retry():
    known = [host("c"), host("p", reachable=False), host("q", reachable=False)]
    assert refused(known, budget=1) == (
        "2 production nodes count against the budget of 1: p cannot be reached; q cannot be reached. Bring them back "
        "and run again, raise rollout_budget, or leave them out by --limit 'localhost,gpu_nodes,!p,!q'."
    )


@pytest.mark.parametrize("names", [["a b"], ["x'; reboot"], ["n%d" % n for n in range(9)]], ids=["blank", "shell", "9"])
def test_a_limit_to_be_typed_has_only_names_that_can_be_typed(names):
    assert rollout_plan.leave_out(names, "localhost,gpu_nodes") == "--limit 'localhost,gpu_nodes,!NODE'"


def test_a_lost_canary_that_is_back_is_rolled_back_and_no_other_is_begun():
    """The rollout has stopped with it, and yet nobody else would ever roll it back."""
    late = record("converging", deadline=later(10))
    known = [
        host("c", record=late, boot_id="boot-2", booted_at=later(30)),
        host("p", record=record("stopped", reason="the canary c is lost")),
        host("q", "pending"),
    ]
    made = plan(known)
    assert made.refused == ()
    assert made.halted.startswith("this rollout has stopped before the turn of p: the canary c is lost.")
    assert actions(made) == {"c": "roll_back", "p": "settled", "q": "settled"}
    assert {name: step.outcome for name, step in made.steps.items()} == {"c": "", "p": "stopped", "q": "stopped"}
    assert made.steps["c"].reason == "it came back from its reboot later than %s" % later(10)
    assert shape(made)[0] == ("unfinished", "c")


def test_what_is_under_way_in_a_rollout_over_its_budget_is_finished_first():
    known = [host("c", golden_for_target=True), host("p", "rolled_back"), host("q", "soaking"), host("r")]
    made = plan(known, waves=[2])
    assert shape(made) == [("unfinished", "q"), ("canary-1", "c"), ("wave-1", "p"), ("wave-2", "r")]
    assert actions(made) == {"c": "done", "p": "settled", "q": "continue", "r": "settled"}
    assert made.steps["q"].wave == "unfinished"
    assert made.halted.startswith("1 production node counts against the budget of 0: p was rolled back. Mend them ")


def test_what_is_under_way_comes_first_when_the_waves_are_others_now():
    """A host was put in front: it would be the canary, and might stop the rollout with q half done."""
    made = plan([host("new"), host("p", "golden"), host("q", "verifying")], waves=[1])
    assert shape(made) == [("unfinished", "q"), ("canary-1", "new"), ("wave-1", "p")]
    assert made.halted == ""


def test_what_is_under_way_in_the_first_wave_with_work_stays_there():
    known = [host("c", golden_for_target=True), host("p", "soaking"), host("q", "rolling_back"), host("r")]
    assert shape(plan(known, waves=[3])) == [("canary-1", "c"), ("wave-1", "p", "q", "r")]
    assert shape(plan([host("c", "soaking"), host("p")])) == [("canary-1", "c"), ("wave-1", "p")]


def test_a_plan_that_is_refused_has_nothing_to_do():
    made = plan([])
    assert made == Plan(ID, made.refused)


# --- size ---------------------------------------------------------------------------------------------------------


def test_ten_thousand_hosts_of_every_kind():
    states = ["", *rollout.STATES]
    known = [host("c", golden_for_target=True)]
    known += [host("n%05d" % number, states[number % len(states)]) for number in range(9999)]
    made = plan(known, budget="100%", retry=True)
    assert made.refused == ()
    assert sorted(name for wave in made.waves for name in wave.hosts) == sorted(one.name for one in known)
    assert all(made.steps[name].wave == wave.name for wave in made.waves for name in wave.hosts)


def test_a_node_that_was_under_way_when_its_rollout_was_stopped_goes_back():
    """The run that gave it up has told so to the nodes that waited; it came back before its deadline."""
    stopped = [host(name, record=record("stopped", reason="a canary is lost")) for name in ("n2", "n3")]
    known = [host("n1", "verifying"), *stopped]
    made = plan(known)
    assert actions(made) == {"n1": "roll_back", "n2": "settled", "n3": "settled"}
    assert made.steps["n1"].reason.startswith("the rollout was stopped when nobody saw the node come out")
    assert actions(plan(known, retry=True)) == {"n1": "continue", "n2": "convert", "n3": "convert"}
