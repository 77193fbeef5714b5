# Copyright (c) 2026, the goldennode.gpu authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Takes the nvidia runtime out of daemon.json, and lets Docker forget it.
python3 - <<'PYTHON'
import json

path = "/etc/docker/daemon.json"
with open(path) as stream:
    settings = json.load(stream)
del settings["runtimes"]["nvidia"]
with open(path, "w") as stream:
    json.dump(settings, stream, indent=4)
PYTHON
systemctl restart docker
