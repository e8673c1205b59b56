import { vi } from 'vitest';
import { main } from '../../server/cli/main.ts';
import type { NodeConfig } from '../../server/config.ts';
import type { CommandResult } from './cli.ts';

let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a command of `strongroom` in this process, without the half second of the processor that a process of its own
 * takes, in this folder if one is given. Commands that are run at once follow each other, because they share the output.
 */
export function runHere(
  words: readonly string[],
  cwd?: string,
  config: Partial<NodeConfig> = {},
): Promise<CommandResult> {
  const result = last.then(() => run(words, cwd ?? process.cwd(), config));
  last = result.catch(() => undefined);
  return result;
}

async function run(
  words: readonly string[],
  cwd: string,
  config: Partial<NodeConfig>,
): Promise<CommandResult> {
  const before = process.cwd();
  let stdout = '';
  let stderr = '';
  const out = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    stdout += String(text);
    return true;
  });
  const error = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    stderr += String(text);
    return true;
  });
  process.chdir(cwd);
  try {
    const code = await main([...words], config);
    return { code, stdout, stderr };
  } finally {
    process.chdir(before);
    out.mockRestore();
    error.mockRestore();
  }
}
