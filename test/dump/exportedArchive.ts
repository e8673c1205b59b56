import { createReadStream, createWriteStream } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type StreamedFile, streamedZip } from '../../server/zip/writeZip.ts';
import { sampleRecord, uploadNewPack } from '../support/archive/packs.ts';
import { extract } from '../support/extract.ts';
import { openTestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';

const MANIFEST = 'manifest-sha256.txt';

/** Writes a ZIP of files as an archive is exported. */
export async function saveZip(file: string, files: Iterable<StreamedFile>): Promise<void> {
  const content = streamedZip(files, { directoryFile: `${file}.directory`, modified: new Date(0) });
  await pipeline(Readable.from(content), createWriteStream(file));
}

/** A file of a ZIP. */
export const textFile = (name: string, text: string, bytes = text.length): StreamedFile => ({
  name,
  bytes,
  isCompressed: name.endsWith('.txt'),
  read: async function* () {
    yield Buffer.from(text);
  },
});

/** Exports an archive with some small files; returns the exported file and the folder that holds only it. */
export async function exported(files: number): Promise<{ folder: string; file: string; blobs: number }> {
  const node = await openTestNode();
  const contents = Array.from({ length: files }, (_, number) => [`${number}.csv`, `x\n${number}\n`]);
  await uploadNewPack(node, sampleRecord(), Object.fromEntries(contents));
  await node.close();
  const folder = await temporaryFolder();
  const file = join(folder, 'archive.zip');
  const { stdout } = await runHere(['export', '--data', node.dataFolder, '--out', file, '--json']);
  return { folder, file, blobs: (JSON.parse(stdout) as { blobs: number }).blobs };
}

/** Writes an exported archive again, with another manifest, in the order that `readdir` has. */
export async function withManifest(
  file: string,
  changed: (lines: string[]) => Iterable<string>,
): Promise<string> {
  const own = await temporaryFolder();
  await extract(file, own);
  const files: StreamedFile[] = [];
  for (const entry of await readdir(own, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile()) continue;
    const lines = entry.name === MANIFEST ? ((await readFile(path, 'utf8')).match(/.*\n/g) ?? []) : undefined;
    files.push({
      name: relative(own, path),
      bytes: 0,
      isCompressed: true,
      read: async function* () {
        if (lines) for (const line of changed(lines)) yield Buffer.from(line);
        else yield* createReadStream(path) as AsyncIterable<Buffer>;
      },
    });
  }
  await saveZip(`${file}.again`, files);
  return `${file}.again`;
}
