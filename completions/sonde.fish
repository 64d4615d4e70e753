
complete -c sonde -n 'test (count (commandline -opc)) -eq 1' -a 'help run version'
complete -c sonde -n '__fish_seen_subcommand_from run' -x -a '(__fish_complete_subcommand)'
