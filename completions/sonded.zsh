# SPDX-License-Identifier: Apache-2.0
if (($#sonded_own && CURRENT > 2)); then
	shift words
	((CURRENT--))
	_arguments -S $sonded_own
	return
fi
_describe command sonded_commands
