#!/usr/bin/env node
import { main } from './cli/main.ts';
import { restrictNewFiles } from './store/files.ts';

// The reader of the output may stop early, as in “| head”. The command has not failed then.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The terminal was closed. The process also gets a signal, which ends the command in order.
  if (error.code === 'EIO') return;
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

restrictNewFiles();
process.exitCode = await main(process.argv.slice(2));
