import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { opendir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { compareByUtf8 } from '../../../../shared/archive/filePath.ts';
import { packUploadRecordSchema } from '../../../../shared/archive/pack.ts';
import { MAX_PACK_BYTES, MAX_PACK_FILES } from '../../../../shared/limits.ts';
import { Problem } from '../../../../shared/problems.ts';
import { checkBody } from '../../../../shared/values/checkBody.ts';
import { requireMatchingFiles } from '../addPack.ts';
import { checkRecord, omitsFiles, packTooLarge, requireNewPaths } from '../checkRecord.ts';
import { packFileTooLarge, type ReceivedFile, readPackFile } from './readPackFile.ts';
import { filesOf, writePackFile } from './writePackFile.ts';

interface PackFolderInput {
  /** The folder whose files are packed. */
  folder: string;
  /** Paths in the folder that are excluded. */
  except: ReadonlySet<string>;
  /** The parsed record. If it omits `files`, they are taken from the folder. */
  record: unknown;
  /** Returns the path of the pack file to write, from the pack's id. */
  fileOf: (id: string) => string;
}

export interface PackedFolder {
  id: string;
  digest: string;
  file: string;
  /** The size of the pack file. */
  bytes: number;
  files: number;
}

/**
 * Creates a pack file from a folder. It is checked like an upload, written under a temporary name, read back, and then
 * renamed.
 *
 * @throws Problem with the same code as an upload of the pack; I/O errors.
 */
export async function packFolder({ folder, except, record, fileOf }: PackFolderInput): Promise<PackedFolder> {
  checkBody(packUploadRecordSchema, record);
  const paths = (await listFolder(folder)).filter((path) => !except.has(path));
  const files = await readFolder(folder, paths);
  const sent = omitsFiles(record) ? { ...record, files: filesOf(paths, files) } : record;
  const checked = checkRecord(sent);
  requireNewPaths(
    checked.record.files.map(({ path }) => path),
    (path) => checked.pointerTo(path, 'path'),
  );
  requireMatchingFiles(checked, files);
  const output = writePackFile(checked.record, {
    read: ({ path }, range) => createReadStream(join(folder, path), range),
  });
  if (output.bytes > MAX_PACK_BYTES) throw packFileTooLarge();
  const file = fileOf(output.id);
  const unfinished = join(dirname(file), `.${output.id}-${randomBytes(4).toString('hex')}.unfinished`);
  try {
    await pipeline(
      output.zip(await output.check()).read(),
      createWriteStream(unfinished, { flags: 'wx', flush: true }),
    );
    const written = await readPackFile(unfinished, HASHER);
    requireMatchingFiles(written.checked, written.files);
    await rename(unfinished, file);
  } finally {
    await rm(unfinished, { force: true });
  }
  return { id: output.id, digest: output.digest, file, bytes: output.bytes, files: files.size };
}

/** Hashes the files of a folder. Sizes are checked before anything is read, because the folder may be huge. */
async function readFolder(folder: string, paths: readonly string[]): Promise<Map<string, ReceivedFile>> {
  if (paths.length > MAX_PACK_FILES) {
    throw new Problem(
      'invalid_field',
      `The folder has ${paths.length} files, but a pack can have at most ${MAX_PACK_FILES}.`,
    );
  }
  let total = 0;
  for (const path of paths) total += (await stat(join(folder, path))).size;
  if (total > MAX_PACK_BYTES) throw packTooLarge();
  const files = new Map<string, ReceivedFile>();
  for (const path of paths) files.set(path, await HASHER.receive(createReadStream(join(folder, path))));
  return files;
}

/** Computes digest and size of each file and stores nothing. */
const HASHER = {
  receive: async (chunks: AsyncIterable<Uint8Array>) => {
    const hash = createHash('sha256');
    let bytes = 0;
    for await (const chunk of chunks) {
      bytes += chunk.length;
      hash.update(chunk);
    }
    return { sha256: hash.digest('hex'), bytes };
  },
  discard: async () => {},
};

/**
 * Returns the paths of all files in a folder, separated by `/` and sorted as in a record.
 *
 * @throws Problem `symlink_entry` for a symbolic link, because its target may be outside the folder; `unsafe_path` for
 * anything that is neither a file nor a folder.
 */
export async function listFolder(folder: string): Promise<string[]> {
  const paths: string[] = [];
  const folders = [''];
  // One folder at a time: a list of all entries would take the memory of the paths several times.
  for (const within of folders) {
    for await (const entry of await opendir(join(folder, within))) {
      const path = within === '' ? entry.name : `${within}/${entry.name}`;
      if (entry.isDirectory()) {
        folders.push(path);
        continue;
      }
      if (entry.isSymbolicLink()) {
        throw new Problem('symlink_entry', `${path} is a symbolic link. Replace it with the file itself.`, {
          members: { path },
        });
      }
      if (!entry.isFile()) {
        throw new Problem('unsafe_path', `${path} is neither a file nor a folder.`, { members: { path } });
      }
      paths.push(path);
    }
  }
  return paths.sort(compareByUtf8);
}
