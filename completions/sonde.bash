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
