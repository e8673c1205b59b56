@rem package.json starts programs with "exec", which is built into the shells of other systems.
@%*
