# "sonde command [options] words"; what follows the program of "sonde run" is the program's.
_sonde_own() {
	local command=$1 cur=$2 prev=$3 kind i=2
	kind=$(_sonde_command_value "$command" "$prev")
	if [[ $kind == any ]]; then
		return
	elif [[ $kind == files ]]; then
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
	elif [[ $command == run ]]; then
		while ((i < COMP_CWORD)) && [[ ${COMP_WORDS[i]} == -?* ]]; do
			if [[ ${COMP_WORDS[i]} == -- ]]; then
				((i++))
				break
			elif [[ ${COMP_WORDS[i + 1]} == = ]]; then
				((i += 3))
			else
				((i += 2))
			fi
		done
	fi
	kind=$(_sonde_command_next "$command")
	if [[ $command != run || $i -eq $COMP_CWORD ]] && [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_sonde_command_flags "$command")" -- "$cur")
	elif [[ $kind == program && $i -eq $COMP_CWORD ]]; then
		mapfile -t COMPREPLY < <(compgen -c -- "$cur")
	elif [[ $kind == words\ * ]]; then
		mapfile -t COMPREPLY < <(compgen -W "${kind#words }" -- "$cur")
	else
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	fi
}

_sonde() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev= kind dashes
	COMPREPLY=()
	((COMP_CWORD > 0)) && prev=${COMP_WORDS[COMP_CWORD - 1]}

	# "-flag=value" is three words for bash.
	if [[ $cur == = ]]; then
		cur=
	elif [[ $prev == = ]] && ((COMP_CWORD > 1)); then
		prev=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	if ((COMP_CWORD > 1)) && [[ " $_sonde_commands " == *" ${COMP_WORDS[1]} "* ]]; then
		_sonde_own "${COMP_WORDS[1]}" "$cur" "$prev"
		return
	fi
	[[ $prev == --* ]] && prev=${prev#-}
	kind=$(_sonde_value "$prev")
	case $kind in
	words\ *)
		mapfile -t COMPREPLY < <(compgen -W "${kind#words }" -- "$cur")
		return
		;;
	any)
		return
		;;
	esac
	if [[ -z $kind && $cur == -* ]]; then
		dashes=-
		[[ $cur == --* ]] && dashes=--
		mapfile -t COMPREPLY < <(compgen -P "$dashes" -W "${_sonde_flags//-/}" -- "${cur#"$dashes"}")
		return
	fi
	compopt -o filenames
	mapfile -t COMPREPLY < <(
		compgen -f -- "$cur"
		((COMP_CWORD == 1)) && compgen -W "help version $_sonde_commands" -- "$cur"
	)
}

complete -F _sonde sonde
