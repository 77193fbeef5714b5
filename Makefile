# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# `make pool` shows the collection at work on three simulated nodes; `make test` tests all of it. `make help` lists the rest.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

POOL := tests/testbed/inventory/pool.yml
TESTBED := .venv/bin/python tests/testbed/testbed
RUN_TESTS := .venv/bin/python scripts/run_tests.py

.PHONY: help
help:  ## List every target
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-15s %s\n", $$1, $$2}'

.PHONY: setup
setup:  ## Make the local environment with locked versions (.venv) and the collection link; done again only when needed
	@scripts/setup.sh

.PHONY: pool
pool: setup  ## Start three simulated GPU nodes and take them to golden; again: a no-change run
	@$(TESTBED) up --pool $(POOL)
	@.venv/bin/ansible-playbook playbooks/site.yml --inventory $(POOL)

.PHONY: pool-down
pool-down: setup  ## Remove the simulated nodes, their snapshots and everything else that is theirs
	@$(TESTBED) down --all
	@rm -f tests/testbed/bundles/*.lock.json

.PHONY: test
test: setup  ## Everything below down to molecule; closes with "N passed, N failed"
	@$(RUN_TESTS)

.PHONY: lint
lint: setup  ## ansible-lint, yamllint, ruff, mypy, changelog
	@$(RUN_TESTS) lint

.PHONY: sanity
sanity: setup  ## ansible-test sanity
	@$(RUN_TESTS) sanity

.PHONY: units
units: setup  ## Unit tests, by ansible-test
	@$(RUN_TESTS) units

.PHONY: testbed-test
testbed-test: setup  ## Tests of the simulated nodes themselves
	@$(RUN_TESTS) testbed

.PHONY: pool-test
pool-test: setup  ## Faults, damage, killed runs, bad input: site.yml on simulated nodes
	@$(RUN_TESTS) pool

.PHONY: molecule
molecule: setup  ## Molecule: a scenario for each role, and one for the whole pool
	@$(RUN_TESTS) molecule

.PHONY: test-slow
test-slow: setup  ## What is too slow for every change: the next six, more killed runs, units on every Python
	@$(RUN_TESTS) slow

.PHONY: test-boot
test-boot: setup  ## Which kernel and driver a node starts with, and whose GPUs are left alone, on simulated nodes
	@$(RUN_TESTS) boot

.PHONY: test-engines
test-engines: setup  ## Real engines and what they refuse, the toolkit, and the containers of users, on simulated nodes
	@$(RUN_TESTS) engines

.PHONY: test-packages
test-packages: setup  ## Package managers that fail, wait and are interrupted, and Ubuntu's packages, on simulated nodes
	@$(RUN_TESTS) packages

.PHONY: test-browser
test-browser: setup  ## The page of report.yml in a real headless browser
	@$(RUN_TESTS) browser

.PHONY: test-diagnosis
test-diagnosis: setup  ## Each fault named first by diagnose.yml, on simulated nodes and from captures
	@$(RUN_TESTS) diagnosis

.PHONY: test-rollout
test-rollout: setup  ## A pool of four simulated nodes from bundle to bundle, and back
	@$(RUN_TESTS) rollout

.PHONY: test-real
test-real: setup  ## Real packages and a real reboot (tests/real/README.md)
	@$(RUN_TESTS) real

.PHONY: test-ci
test-ci: setup  ## What continuous integration runs: test, and of the six above what covers something that has changed
	@$(RUN_TESTS) --ci

.PHONY: docs
docs: setup  ## Make the pages of the checks, the symptoms and the sixteen steps from the checks themselves
	@.venv/bin/python scripts/docs.py

.PHONY: bench
bench: setup  ## Measure a no-change run of site.yml on nodes of its own, against gathering facts and against sixteen commands
	@.venv/bin/python scripts/bench.py

.PHONY: requirements
requirements:  ## Resolve requirements/direct.txt into the locked lists (needs Python 3.11 and a newer one)
	@scripts/lock_requirements.sh

.PHONY: clean
clean:  ## Remove what setup and the tests have made, but not the simulated nodes (make pool-down)
	@rm -rf .venv .cache collections tests/output .mypy_cache .ruff_cache .pytest_cache .ansible
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
