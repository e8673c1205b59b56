import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '../../../shared/values/clock.ts';
import { countOf } from '../../../shared/values/counts.ts';
import {
  type Command,
  type ExitCode,
  JSON_OPTION,
  openProgress,
  optionsHelp,
  print,
  printError,
  printJson,
  requireOne,
  UsageError,
} from '../command.ts';
import { archiveFolder } from '../dataFolder.ts';

const OPTIONS = {
  'remove-old': {
    type: 'boolean',
    default: false,
    help: 'remove the folder from which the archive in DIR was moved',
  },
  json: JSON_OPTION,
} as const;

const HELP = `Usage: strongroom move FROM TO [options]
       strongroom move --remove-old DIR

Moves the archive in the data folder FROM to the folder TO, for example on another disk. Stop the node first. TO must not
exist or be empty; the folder that it is in must exist.

Everything is copied, synced, read back and compared. Then FROM is marked as moved, and the archive is in TO. If the
command is interrupted before that, the archive is still in FROM: run it again. FROM is kept, and opening it says where
the archive is, until you remove it with --remove-old.

${optionsHelp(OPTIONS)}

Exit code: 0 if the archive was moved, 1 if it was moved and had damaged objects before, 2 if nothing was moved.`;

export const move: Command = {
  name: 'move',
  summary: 'move an archive to another folder or disk',
  help: HELP,
  async run(args): Promise<ExitCode> {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: OPTIONS });
    if (values['remove-old']) return removeOld(positionals, values.json);
    const [from, to, ...others] = positionals;
    if (from === undefined || to === undefined || others.length > 0)
      throw new UsageError('Name the data folder of the archive and the new folder.');
    return moveFolder(archiveFolder(from), resolve(to), values.json);
  },
};

async function moveFolder(from: string, to: string, json: boolean): Promise<ExitCode> {
  // Loaded here, so that the list of commands does not wait for it.
  const { moveArchive } = await import('../../moving/moveArchive.ts');
  const line = openProgress(process.stderr);
  let read = 0;
  try {
    const moved = await moveArchive({
      from,
      to,
      clock: systemClock,
      signal: new AbortController().signal,
      progress: (done, total) => {
        if (read === 0) line.found(total);
        line.read(done - read);
        read = done;
      },
    });
    line.clear();
    if (json) printJson({ ok: moved.damaged.length === 0, ...moved });
    else {
      if (moved.damaged.length > 0)
        printError(
          `${countOf(moved.damaged.length, 'object was', 'objects were')} damaged before, and copied as they are. “strongroom audit --data ${moved.to}” lists them.`,
        );
      print(
        `The archive is now in ${moved.to}: ${countOf(moved.files, 'file')}, ${moved.bytes} bytes, all compared.`,
      );
      print(`${moved.from} is kept. Remove it with “strongroom move --remove-old ${moved.to}”.`);
    }
    return moved.damaged.length === 0 ? 0 : 1;
  } finally {
    line.clear();
  }
}

async function removeOld(positionals: readonly string[], json: boolean): Promise<ExitCode> {
  const folder = archiveFolder(
    requireOne(positionals, 'Name the data folder into which the archive was moved.'),
  );
  const { readDataFolder, removeOldFolder } = await import('../../moving/archivePlace.ts');
  const old = readDataFolder(folder).moved_from;
  await removeOldFolder(folder);
  if (json) printJson({ ok: true, removed: old?.folder ?? null });
  else print(`${old?.folder ?? 'The old folder'} was removed.`);
  return 0;
}
