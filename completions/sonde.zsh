if (($#sonde_own && CURRENT > 2)); then
	shift words
	((CURRENT--))
	_arguments -S $sonde_own
	return
fi
((CURRENT == 2)) && _describe command sonde_commands
_arguments -S $sonde_flags '*:profile:_files'
