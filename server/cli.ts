#!/usr/bin/env node
import { enableCodeCache } from './cli/compileCache.ts';

// Whoever reads the output may stop early, as “| head” does; that is no failure of the command.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The terminal was closed; a signal says so too, and ends the command in order.
  if (error.code === 'EIO') return;
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

enableCodeCache();
const { main } = await import('./cli/main.ts');
process.exitCode = await main(process.argv.slice(2));
