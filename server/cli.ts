#!/usr/bin/env node
import { enableCodeCache } from './cli/compileCache.ts';

// The reader of the output may stop early, as in “| head”. The command has not failed then.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The terminal was closed. The process also gets a signal, which ends the command in order.
  if (error.code === 'EIO') return;
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

enableCodeCache();
const { main } = await import('./cli/main.ts');
process.exitCode = await main(process.argv.slice(2));
