import { createReadStream } from 'node:fs';
import { readdir, rmdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '../../shared/clock.ts';
import { Problem } from '../../shared/problems.ts';
import { addPack } from '../archive/packs/addPack.ts';
import { stagePackFile } from '../archive/packs/file/stagePackFile.ts';
import { coverRetrievals } from '../collection/record/coverRetrievals.ts';
import { DumpError } from '../dump/dumpFile.ts';
import { importArchive, importDump, isArchiveFile } from '../dump/importArchive.ts';
import { openArchive } from '../ledger/openArchive.ts';
import { isMissing } from '../store/blobs/blobStore.ts';
import {
  type Command,
  DATA_OPTION,
  type ExitCode,
  JSON_OPTION,
  print,
  printError,
  UsageError,
} from './command.ts';
import { importCaptures, isWarc, requireObserver } from './importCaptures.ts';
import { shown } from './shown.ts';

const HELP = `Usage: strongroom import FILE… [options]

Reads files into a data folder, which no node may have open meanwhile:

  pack files (.pack.zip)     are added, checked like an upload
  a dump (.jsonl)            becomes a new archive with the same ledger; the blobs' bytes are not in a dump
  a whole archive (.zip)     as “strongroom export” writes it becomes a new archive with its blobs
  captures (.warc, .warc.gz) are added as captures of another observer, see docs/captures.md

A dump and a whole archive need a data folder that does not exist yet or is empty.

  --data DIR       the data folder (default: ./strongroom-data)
  --observer NAME  whose captures they are (default: the publisher, operator or collection that the file names, else
                   the file's own name)
  --json           one JSON object a file

Ends with 0 if everything was read in, 1 if a file was refused or is damaged, 2 if it could not be done.`;

interface Imported {
  file: string;
  ok: boolean;
  kind?: 'pack' | 'dump' | 'archive' | 'captures';
  sentence: string;
  code?: string;
  /** The line of a dump that is wrong. */
  line?: number;
  id?: string;
}

export const importFiles: Command = {
  name: 'import',
  summary: 'read pack files, captures, a dump or a whole archive into a data folder',
  help: HELP,
  async run(args): Promise<ExitCode> {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        data: DATA_OPTION,
        observer: { type: 'string' },
        json: JSON_OPTION,
      },
    });
    if (positionals.length === 0) throw new UsageError('Name the files to read in.');
    const folder = resolve(values.data);
    const observer = values.observer === undefined ? undefined : requireObserver(values.observer);
    let refused = 0;
    for (const file of positionals) {
      const imported = await importFile(folder, file, observer);
      if (!imported.ok) refused += 1;
      if (values.json) print(JSON.stringify(imported));
      else (imported.ok ? print : printError)(`${shown(file)}: ${shown(imported.sentence)}`);
    }
    return refused > 0 ? 1 : 0;
  },
};

async function importFile(folder: string, file: string, observer: string | undefined): Promise<Imported> {
  try {
    const beginning = await beginningOf(file);
    if (isWarc(beginning)) return await importCaptures(folder, file, observer);
    if (beginning.toString('latin1', 0, 2) === 'PK') {
      if (await isArchiveFile(file)) return await asArchive(folder, file);
      return await asPack(folder, file);
    }
    await requireNothingIn(folder);
    const { counts, checkpoint } = await importDump(folder, file, systemClock);
    const sentence = `${checkpoint.size} entries and ${counts.pack ?? 0} packs are in ${folder}; the ledger's head is the one that was signed.`;
    return { file, ok: true, kind: 'dump', sentence };
  } catch (error) {
    if (error instanceof Problem) return { file, ok: false, code: error.code, sentence: error.message };
    if (error instanceof DumpError) return { file, ok: false, sentence: error.message, line: error.line };
    throw error;
  }
}

async function asArchive(folder: string, file: string): Promise<Imported> {
  await requireNothingIn(folder);
  const { checkpoint, blobs } = await importArchive(folder, file, systemClock);
  const sentence = `${checkpoint.size} entries and ${blobs} blobs are in ${folder}; the ledger's head is the one that was signed.`;
  return { file, ok: true, kind: 'archive', sentence };
}

async function asPack(folder: string, file: string): Promise<Imported> {
  const { store } = await openArchive({ folder, clock: systemClock });
  try {
    await coverRetrievals(store);
    const staged = await stagePackFile(store.blobs, createReadStream(file));
    const { id, created } = await addPack(store, staged);
    return {
      file,
      ok: true,
      kind: 'pack',
      id,
      sentence: created ? `added as ${id}.` : `${id} is there already.`,
    };
  } finally {
    await store.close();
  }
}

/** The first bytes of a file, by which it is known what it is. */
async function beginningOf(file: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of createReadStream(file, { end: 7 }) as AsyncIterable<Buffer>) chunks.push(chunk);
  } catch (error) {
    if (isMissing(error)) throw new UsageError(`There is no file ${shown(file)}.`);
    throw error;
  }
  return Buffer.concat(chunks);
}

/** An empty folder makes way for the new one; a data folder in use is never touched. */
async function requireNothingIn(folder: string): Promise<void> {
  try {
    if ((await readdir(folder)).length > 0) {
      throw new UsageError(`${folder} is not empty; a dump or a whole archive needs a new data folder.`);
    }
    await rmdir(folder);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}
