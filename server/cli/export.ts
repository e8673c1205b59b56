import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '../../shared/clock.ts';
import { ExportError, exportArchive } from '../dump/exportArchive.ts';
import { openForExport } from '../dump/openForExport.ts';
import {
  archiveFolder,
  type Command,
  DATA_OPTION,
  type ExitCode,
  JSON_OPTION,
  print,
  printError,
  UsageError,
} from './command.ts';

const HELP = `Usage: strongroom export [options]

Writes a whole archive, its dump and every blob, as one BagIt bag in a ZIP that “strongroom import” reads back into an
equal archive. Every blob is re-hashed on the way. The node may be running meanwhile: what is written is the archive as
it stood at the beginning.

  --data DIR   the data folder (default: ./strongroom-data)
  --out FILE   where the archive is written (default: strongroom-archive.zip)
  --json       one JSON object

Ends with 0 if it was written, 1 if a blob is missing or damaged (then nothing is written), 2 if it could not be done.`;

export const exportFile: Command = {
  name: 'export',
  summary: 'write the whole archive, dump and blobs, as one file',
  help: HELP,
  async run(args): Promise<ExitCode> {
    const { values } = parseArgs({
      args,
      options: {
        data: DATA_OPTION,
        out: { type: 'string', default: 'strongroom-archive.zip' },
        json: JSON_OPTION,
      },
    });
    const folder = archiveFolder(values.data);
    const file = resolve(values.out);
    if (existsSync(file)) throw new UsageError(`${file} exists; give another name with --out.`);
    const archive = await openForExport(folder, systemClock);
    try {
      const written = await exportArchive(archive, file);
      if (values.json) print(JSON.stringify({ ok: true, file, ...written }));
      else print(`${file}: ${written.blobs} blobs of ${written.bytes} bytes and the dump.`);
      return 0;
    } catch (error) {
      if (!(error instanceof ExportError)) throw error;
      if (values.json) print(JSON.stringify({ ok: false, sentence: error.message }));
      else printError(error.message);
      return 1;
    } finally {
      await archive.close();
    }
  },
};
