
# SPDX-License-Identifier: Apache-2.0
complete -c sonded -n "test (count (commandline -opc)) -eq 1" -f -a "help version"
