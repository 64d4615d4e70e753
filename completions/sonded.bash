# SPDX-License-Identifier: Apache-2.0
_sonded() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev= kind
	COMPREPLY=()
	((COMP_CWORD > 0)) && prev=${COMP_WORDS[COMP_CWORD - 1]}
	if [[ $cur == = ]]; then
		cur=
	elif [[ $prev == = ]] && ((COMP_CWORD > 1)); then
		prev=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W "help version $_sonded_commands" -- "$cur")
		return
	fi
	kind=$(_sonded_command_value "${COMP_WORDS[1]}" "$prev")
	[[ $kind == any ]] && return
	if [[ -z $kind && $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_sonded_command_flags "${COMP_WORDS[1]}")" -- "$cur")
		return
	fi
	compopt -o filenames
	mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}

complete -F _sonded sonded
