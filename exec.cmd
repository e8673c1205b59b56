@rem package.json starts programs with "exec", which the shells of other systems have built in.
@%*
