import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '../../../shared/values/clock.ts';
import { ExportError, exportArchive } from '../../dump/exportArchive.ts';
import { openForExport } from '../../dump/openForExport.ts';
import { archiveFolder, type Command, type ExitCode, print, printError, UsageError } from '../command.ts';
import { ARCHIVE_OPTIONS, optionsHelp } from '../options.ts';

const OPTIONS = {
  ...ARCHIVE_OPTIONS,
  out: {
    type: 'string',
    default: 'strongroom-archive.zip',
    value: 'FILE',
    help: 'the file to write (default: strongroom-archive.zip)',
  },
} as const;

const HELP = `Usage: strongroom export [options]

Writes the whole archive (its dump and all blobs) as one BagIt bag in a ZIP file. “strongroom import” restores an equal
archive from it. Every blob is re-hashed. A node may be running: the file holds the archive as it was when the export
started.

${optionsHelp(OPTIONS)}

Exit code: 0 if the file was written, 1 if a blob is missing or damaged (then no file is written), 2 if the export could
not be done.`;

export const exportFile: Command = {
  name: 'export',
  summary: 'write the whole archive (dump and blobs) as one file',
  help: HELP,
  async run(args): Promise<ExitCode> {
    const { values } = parseArgs({ args, options: OPTIONS });
    const folder = archiveFolder(values.data);
    const file = resolve(values.out);
    if (existsSync(file)) throw new UsageError(`${file} already exists; choose another name with --out.`);
    const archive = await openForExport(folder, systemClock);
    // Loaded here, so that the list of commands does not wait for it.
    const { ReadThrough } = await import('../../copies/offload/readThrough.ts');
    try {
      const written = await exportArchive(archive, file, (opened) => new ReadThrough(opened));
      if (values.json) print(JSON.stringify({ ok: true, file, ...written }));
      else print(`${file} was written: the dump and ${written.blobs} blobs of ${written.bytes} bytes.`);
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
