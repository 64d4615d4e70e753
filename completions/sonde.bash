# "sonde run [options] program [arguments]": what comes after the program is the program's.
_sonde_run() {
	local i=2
	while [[ ${COMP_WORDS[i]} == -?* ]] && ((i < COMP_CWORD)); do
		if [[ ${COMP_WORDS[i]} == -- ]]; then
			((i++))
			break
		elif [[ ${COMP_WORDS[i + 1]} == = ]]; then
			((i += 3))
		else
			((i += 2))
		fi
	done
	if ((i > COMP_CWORD)); then
		mapfile -t COMPREPLY < <(compgen -f -- "$1")
	elif ((i < COMP_CWORD)); then
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "$1")
	elif [[ $1 == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(printf -- '-%s ' $_sonde_run_flags)" -- "$1")
	else
		mapfile -t COMPREPLY < <(compgen -c -- "$1")
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
	[[ $prev == --* ]] && prev=${prev#-}

	if [[ ${COMP_WORDS[1]} == run ]] && ((COMP_CWORD > 1)); then
		_sonde_run "$cur" "$prev"
		return
	fi
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
	mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}

complete -F _sonde sonde
