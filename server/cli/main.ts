import { VERSION } from '../../shared/version.ts';
import type { NodeConfig } from '../config.ts';
import { type Command, type ExitCode, print, printError, UsageError } from './options.ts';
import { plainSentence } from './plainError.ts';

/** Each command is imported when it is called, so that it does not load the modules of the others. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import('./commands/serve.ts')).serve,
  'sign-in': async () => (await import('./commands/key.ts')).signIn,
  watch: async () => (await import('./commands/collect.ts')).watch,
  check: async () => (await import('./commands/collect.ts')).check,
  page: async () => (await import('./commands/pages.ts')).page,
  draw: async () => (await import('./commands/pages.ts')).draw,
  get: async () => (await import('./commands/get.ts')).get,
  'hand-in': async () => (await import('./commands/handIn.ts')).handIn,
  cite: async () => (await import('./commands/cite.ts')).cite,
  diff: async () => (await import('./commands/diff.ts')).diff,
  profile: async () => (await import('./commands/profile.ts')).profile,
  pack: async () => (await import('./commands/pack.ts')).pack,
  publish: async () => (await import('./commands/publish.ts')).publish,
  verify: async () => (await import('./commands/verify.ts')).verify,
  ledger: async () => (await import('./commands/ledger.ts')).ledger,
  audit: async () => (await import('./commands/audit.ts')).audit,
  import: async () => (await import('./commands/import.ts')).importFiles,
  rebuild: async () => (await import('./commands/rebuild.ts')).rebuild,
  key: async () => (await import('./commands/key.ts')).key,
  copy: async () => (await import('./commands/copy.ts')).copy,
  restore: async () => (await import('./commands/restore.ts')).restore,
  move: async () => (await import('./commands/move.ts')).move,
  export: async () => (await import('./commands/export.ts')).exportFile,
};

/** The app contains Node 24; in a checkout, `npm run` puts it on the path. */
const REQUIRED_NODE = 24;

/** Runs one command and returns its exit code. An error is printed as one sentence on standard error. */
export async function main([name, ...args]: string[], config: Partial<NodeConfig> = {}): Promise<ExitCode> {
  if (Number(process.versions.node.split('.')[0]) < REQUIRED_NODE) {
    printError(
      `Strongroom needs Node ${REQUIRED_NODE}; this is ${process.versions.node}. Run it as: npm run -s strongroom -- <command>`,
    );
    return 2;
  }
  if (name === undefined || name === '--help' || name === 'help') {
    print(await overview());
    return name === undefined ? 2 : 0;
  }
  if (name === '--version') {
    print(VERSION);
    return 0;
  }
  const command = Object.hasOwn(COMMANDS, name) ? await COMMANDS[name]?.() : undefined;
  if (!command) {
    printError(`There is no command ${JSON.stringify(name)}. “strongroom --help” lists the commands.`);
    return 2;
  }
  if (args.includes('--help')) {
    print(command.help);
    return 0;
  }
  try {
    return await command.run(args, config);
  } catch (error) {
    printError(errorMessage(error, command));
    return 2;
  }
}

async function overview(): Promise<string> {
  const commands = await Promise.all(Object.values(COMMANDS).map((load) => load()));
  const width = Math.max(...commands.map(({ name }) => name.length));
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
  return [
    'Usage: strongroom <command> [options]',
    '',
    ...lines,
    '',
    '“strongroom <command> --help” describes a command.',
  ].join('\n');
}

/** The message that is printed for an error: one sentence that says what to do, if that is known. */
export function errorMessage(error: unknown, command: Command): string {
  const isUsage = error instanceof UsageError || (error instanceof TypeError && 'code' in error);
  const plain = isUsage ? undefined : plainSentence(error);
  if (plain !== undefined) return plain;
  const message = error instanceof Error ? error.message : String(error);
  if (!isUsage) return message;
  const sentence = /[.?!]$/.test(message) ? message : `${message}.`;
  return `${sentence} “strongroom ${command.name} --help” lists its options.`;
}
