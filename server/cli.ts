#!/usr/bin/env node
import { main } from './cli/main.ts';

// Whoever reads the output may stop early, as “| head” does; that is no failure of the command.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

process.exitCode = await main(process.argv.slice(2));
