# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can be wrong with config.toml and CDI specifications: the finding names the place, both sides and the cure."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.goldennode.gpu.plugins.module_utils import verdict
from ansible_collections.goldennode.gpu.plugins.module_utils.model import CdiSpec, Desired, Evidence, Finding, Reading
from ansible_collections.goldennode.gpu.plugins.module_utils.parse import toolkit_config
from ansible_collections.goldennode.gpu.plugins.module_utils.toml_scan import TomlError
from ansible_collections.goldennode.gpu.plugins.module_utils.toml_text import merge
from ansible_collections.goldennode.gpu.tests.unit import healthy

WANTED = healthy.desired()
NODE = healthy.evidence("a10", WANTED)
RUN, ETC = "/var/run/cdi/nvidia.yaml", "/etc/cdi/nvidia.yaml"
PATH = "/etc/nvidia-container-runtime/config.toml"
OLD = "580.126.09"


def of(check: str, evidence: Evidence, wanted: Desired = WANTED) -> t.List[Finding]:
    found = verdict.run(wanted, evidence, 1).findings
    return [one for one in found if one.id == "container_runtime." + check and one.status != "pass"]


def only(check: str, evidence: Evidence, wanted: Desired = WANTED) -> Finding:
    found = of(check, evidence, wanted)
    assert len(found) == 1, found
    assert not verdict.run(wanted, evidence, 1).golden
    return found[0]


def with_config(text: str, evidence: Evidence = NODE) -> Evidence:
    return dataclasses.replace(evidence, toolkit_config=toolkit_config.parse(text.encode(), PATH))


def with_specs(specs: t.Dict[str, CdiSpec], evidence: Evidence = NODE, **fields: t.Any) -> Evidence:
    return healthy.known(evidence, cdi_specs=specs, **fields)


# --- config.toml ----------------------------------------------------------------------------------------------------


def test_a_file_that_is_not_toml_is_named_with_its_place() -> None:
    finding = only("toolkit_config", with_config("[features]\n\n[features]\n"))
    assert finding.repair == "manual"
    assert (PATH + ": line 3 column 1: the table features is given twice, first on line 1") in finding.cause


@pytest.mark.parametrize(
    ("text", "entity", "said"),
    [
        ('nvidia-container-runtime = "auto"', "nvidia-container-runtime", "is no table"),
        ("[[features]]", "features", "is no table"),
        ("[nvidia-container-runtime.mode]", "nvidia-container-runtime.mode", "is a table"),
    ],
)
def test_what_a_run_would_refuse_is_for_a_person(text: str, entity: str, said: str) -> None:
    evidence = with_config(text + "\n")
    finding = only("toolkit_config", evidence)
    assert (finding.entity, finding.repair) == (entity, "manual")
    assert said in finding.cause
    with pytest.raises(TomlError):
        merge((text + "\n").encode(), WANTED.toolkit)
    assert [one.id for one in verdict.refusals(WANTED, evidence, 1)] == ["container_runtime.toolkit_config"]


def test_a_hardening_by_hand_is_not_taken_back_without_a_word() -> None:
    name = "accept-nvidia-visible-devices-envvar-when-unprivileged"
    evidence = healthy.known(NODE, toolkit_config={**(NODE.toolkit_config.value or {}), name: False})
    finding = only("toolkit_config", evidence)
    assert "Set toolkit_multi_tenant=true to keep it so" in finding.fix
    tenants = healthy.desired(toolkit_multi_tenant=True)
    kept = healthy.known(healthy.evidence("a10", tenants), toolkit_config={**tenants.toolkit, name: False})
    assert of("toolkit_config", kept, tenants) == []


def test_a_file_that_cannot_be_opened_is_unknown() -> None:
    evidence = dataclasses.replace(
        NODE, toolkit_config=Reading.unknown(PATH + " could not be read: Input/output error")
    )
    assert of("toolkit_config", evidence)[0].status == "unknown"


def test_an_empty_file_lacks_every_setting() -> None:
    found = of("toolkit_config", with_config(""))
    assert {one.actual for one in found} == {"not set"}
    assert "nvidia-container-cli.no-cgroups" in {one.entity for one in found}


def test_case_019_the_cure_of_a_rootless_engine_is_found_on_the_systems_own() -> None:
    config = {**NODE.toolkit_config.value, "nvidia-container-cli": {"no-cgroups": True}}  # type: ignore[dict-item]
    finding = only("toolkit_config", healthy.known(NODE, toolkit_config=config))
    assert (finding.entity, finding.expected, finding.actual) == ("nvidia-container-cli.no-cgroups", "false", "true")
    assert "without device rules" in finding.cause
    assert finding.repair == "roles"


def test_an_option_of_the_users_is_a_wanted_setting_too() -> None:
    wanted = healthy.desired(toolkit_config_options={"nvidia-container-cli": {"load-kmods": False}})
    node = healthy.known(healthy.evidence("a10", wanted), toolkit_config=WANTED.toolkit)
    assert only("toolkit_config", node, wanted).entity == "nvidia-container-cli.load-kmods"


def test_what_is_not_managed_is_the_owners() -> None:
    config = {**NODE.toolkit_config.value, "disable-require": True, "nvidia-ctk": {"path": "/x"}}  # type: ignore[dict-item]
    assert of("toolkit_config", healthy.known(NODE, toolkit_config=config)) == []


# --- which specifications -------------------------------------------------------------------------------------------


def test_a_stale_one_of_nvidia_ctk_is_for_a_run_to_set_aside() -> None:
    finding = only("cdi_spec", with_specs({ETC: healthy.cdi_spec(OLD), RUN: healthy.cdi_spec()}))
    assert (finding.entity, finding.repair) == (ETC, "roles")
    assert "sets %s aside" % ETC in finding.fix


def test_one_that_somebody_wrote_for_the_same_devices_is_for_a_person() -> None:
    own = healthy.cdi_spec(None, generated=False, devices=("all",))
    finding = only("cdi_spec", with_specs({ETC: own, RUN: healthy.cdi_spec()}))
    assert (finding.entity, finding.repair) == (ETC, "manual")


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(CdiSpec("nvidia.com/gds", "0.5.0", None, ("all",), True), id="another kind"),
        pytest.param(CdiSpec("nvidia.com/gpu.coherent", "0.6.0", healthy.DRIVER, ("0", "all"), True), id="coherent"),
        pytest.param(CdiSpec("nvidia.com/gpu", "0.5.0", None, ("half",), False), id="own names"),
    ],
)
def test_others_that_name_no_device_twice_stay(other: CdiSpec) -> None:
    assert of("cdi_spec", with_specs({"/etc/cdi/other.yaml": other, RUN: healthy.cdi_spec()})) == []


def test_a_coherent_one_of_another_driver_is_stale_as_well() -> None:
    other = CdiSpec("nvidia.com/gpu.coherent", "0.6.0", OLD, ("0", "all"), True)
    finding = only("cdi_spec", with_specs({"/var/run/cdi/nvidia.coherent.yaml": other, RUN: healthy.cdi_spec()}))
    assert (finding.entity, finding.actual) == ("/var/run/cdi/nvidia.coherent.yaml", OLD)


def test_one_that_nothing_keeps_fresh_is_found_before_it_is_stale() -> None:
    finding = only("cdi_spec", with_specs({ETC: healthy.cdi_spec()}))
    assert (finding.expected, finding.repair) == ("a specification in %s" % RUN, "roles")


def test_the_place_may_be_another_where_the_units_are_told_so() -> None:
    assert of("cdi_spec", with_specs({ETC: healthy.cdi_spec()}, cdi_target=ETC)) == []
    both = {ETC: healthy.cdi_spec(), RUN: healthy.cdi_spec()}
    assert only("cdi_spec", with_specs(both, cdi_target=ETC)).entity == RUN


def test_run_and_var_run_are_one() -> None:
    assert of("cdi_spec", with_specs({RUN: healthy.cdi_spec()}, cdi_target="/run/cdi/nvidia.yaml")) == []


def test_our_own_unit_writes_where_it_writes_whatever_the_vendors_environment_says() -> None:
    wanted = healthy.desired(of_lock=healthy.lock(toolkit={"version": "1.17.9"}))
    assert of("cdi_spec", healthy.known(healthy.evidence("a10", wanted), cdi_target=ETC), wanted) == []


def test_no_specification_is_wanted_where_neither_engine_nor_runtime_reads_one() -> None:
    wanted = healthy.desired(toolkit_cdi=False)
    assert of("cdi_spec", with_specs({}, healthy.evidence("a10", wanted)), wanted) == []


def test_the_runtimes_own_cdi_mode_wants_one_where_the_engine_reads_none() -> None:
    wanted = healthy.desired(of_lock=healthy.lock(docker={"version": "20.10.24"}), toolkit_runtime_mode="cdi")
    node = healthy.evidence("a10", wanted)
    assert of("cdi_spec", node, wanted) == []
    assert only("cdi_spec", with_specs({}, node), wanted).expected == "one CDI specification"


# --- its schema -----------------------------------------------------------------------------------------------------


def on(docker: str, toolkit: str = "1.20.0", **variables: t.Any) -> t.Tuple[Evidence, Desired]:
    wanted = healthy.desired(
        of_lock=healthy.lock(docker={"version": docker}, toolkit={"version": toolkit}), **variables
    )
    return healthy.evidence("a10", wanted), wanted


@pytest.mark.parametrize(
    ("docker", "schema"), [("25.0.3", "0.6.0"), ("26.1.5+dfsg1", "0.7.0"), ("27.5.1", "0.8.0"), ("29.2.0", "0.5.0")]
)
def test_a_schema_that_the_engine_reads(docker: str, schema: str) -> None:
    node, wanted = on(docker)
    assert of("cdi_spec", with_specs({RUN: healthy.cdi_spec(schema=schema)}, node), wanted) == []


def test_case_024_a_schema_above_the_engine_names_both_sides_and_a_pair_and_no_new_writing() -> None:
    node, wanted = on("26.0.2")
    finding = only("cdi_spec", node, wanted)
    assert finding.expected == "CDI 0.6.0 or older, which Docker 26.0.2 reads"
    assert finding.actual == "CDI 0.7.0"
    assert finding.repair == "manual"
    assert "Pair toolkit 1.20.0 with Docker 26.1 or newer" in finding.fix
    assert "toolkit_cdi_additional_gids=false" in finding.fix


def test_case_024_the_running_engine_counts_and_not_the_lock() -> None:
    engine = dataclasses.replace(NODE.docker.value, version="26.0.0")  # type: ignore[type-var]
    found = of("cdi_spec", healthy.known(NODE, docker=engine))
    assert found[0].expected == "CDI 0.6.0 or older, which Docker 26.0.0 reads"


@pytest.mark.parametrize(("toolkit", "gids"), [("1.20.0", False), ("1.18.1", True)])
def test_case_024_one_of_a_newer_toolkit_is_written_anew_where_that_helps(toolkit: str, gids: bool) -> None:
    node, wanted = on("25.0.5", toolkit, toolkit_cdi_additional_gids=gids)
    finding = only("cdi_spec", node, wanted)
    assert finding.repair == "roles"
    assert "nvidia-cdi-refresh.service writes it as CDI 0.6.0" in finding.fix


@pytest.mark.parametrize(("docker", "schema"), [("29.2.0", "1.1.0"), ("26.1.4", "")])
def test_a_schema_that_nobody_has_told_us_of_is_unknown_and_takes_no_gold(docker: str, schema: str) -> None:
    node, wanted = on(docker)
    evidence = with_specs({RUN: healthy.cdi_spec(schema=schema)}, node)
    (finding,) = of("cdi_spec", evidence, wanted)
    assert (finding.status, finding.required) == ("unknown", False)
    judged = verdict.run(wanted, evidence, 1)
    assert judged.golden
    assert "container_runtime.cdi_spec" in judged.not_proven[0]


# --- its GPUs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("devices", "actual"),
    [
        (("0", healthy.uuid(7), "all"), "named and not there: %s" % healthy.uuid(7)),
        (("all",), "not named: GPU 0"),
        (("1", "all"), "not named: GPU 0"),
    ],
)
def test_one_for_other_gpus(devices: t.Tuple[str, ...], actual: str) -> None:
    finding = only("cdi_spec", with_specs({RUN: healthy.cdi_spec(devices=devices)}))
    assert (finding.actual, finding.repair) == (actual, "roles")


@pytest.mark.parametrize("devices", [("0", "all"), (healthy.uuid(0),), ("gpu0", "all")])
def test_one_for_these_gpus_by_whatever_names(devices: t.Tuple[str, ...]) -> None:
    assert of("cdi_spec", with_specs({RUN: healthy.cdi_spec(devices=devices)})) == []
