
complete -c sonde -n 'test (count (commandline -opc)) -eq 1' -a 'help version'
