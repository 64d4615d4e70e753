_arguments -S $sonde_flags '*:profile:_files'
