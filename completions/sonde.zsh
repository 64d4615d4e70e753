if [[ $words[2] == run ]]; then
	shift words
	((CURRENT--))
	_arguments -S $sonde_run_flags '1:program:_command_names -e' '*::arguments:_normal'
	return
fi
_arguments -S $sonde_flags '*:profile:_files'
