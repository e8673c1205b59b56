import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import {
  DECLARATION_FILE,
  INFO_FILE,
  MANIFEST_FILE,
  TAG_MANIFEST_FILE,
} from '../archive/packs/bag/bagNames.ts';
import { DECLARATION, infoText, manifestLine } from '../archive/packs/bag/tagText.ts';

/** A file of the payload. It is read when its turn comes. */
export interface PayloadFile {
  /** The path below `data/`. */
  path: string;
  read: () => AsyncIterable<Uint8Array>;
  /** Text is compressed; files that are compressed already are not. */
  isText?: boolean;
}

interface BagDescription {
  folder: string;
  info: readonly (readonly [label: string, value: string])[];
  modified: Date;
}

/**
 * Yields a ZIP with one BagIt 1.0 bag (RFC 8493). The payload is hashed while it is sent, so the manifest follows it.
 * Memory does not grow with the size of the files.
 */
export async function* zippedBag(
  files: readonly PayloadFile[],
  { folder, info, modified }: BagDescription,
): AsyncGenerator<Uint8Array> {
  const zip = new ZipFile();
  const output = zip.outputStream as Readable;
  const manifest: string[] = [];
  const tags = new Map<string, string>();
  let bytes = 0;
  const add = (name: string, read: () => AsyncIterable<Uint8Array>, compress: boolean) =>
    zip.addReadStreamLazy(`${folder}/${name}`, { mtime: modified, compress }, (callback) => {
      const stream = Readable.from(read(), { objectMode: false });
      stream.on('error', (error) => output.destroy(error));
      callback(undefined, stream);
    });
  const addTag = (name: string, textOf: () => string) =>
    add(
      name,
      async function* () {
        const text = textOf();
        tags.set(name, text);
        yield Buffer.from(text);
      },
      true,
    );
  addTag(DECLARATION_FILE, () => DECLARATION);
  for (const { path, read, isText = false } of files) {
    const hashed = async function* () {
      const sha256 = createHash('sha256');
      for await (const chunk of read()) {
        sha256.update(chunk);
        bytes += chunk.length;
        yield chunk;
      }
      manifest.push(manifestLine(sha256.digest('hex'), `data/${path}`));
    };
    add(`data/${path}`, hashed, isText);
  }
  addTag(MANIFEST_FILE, () => manifest.join(''));
  addTag(INFO_FILE, () => infoText([...info, ['Payload-Oxum', `${bytes}.${files.length}`]]));
  addTag(TAG_MANIFEST_FILE, () =>
    [...tags]
      .map(([name, text]) => manifestLine(createHash('sha256').update(text).digest('hex'), name))
      .join(''),
  );
  zip.on('error', (error: Error) => output.destroy(error));
  zip.end();
  try {
    for await (const chunk of output) yield chunk as Uint8Array;
  } finally {
    output.destroy();
  }
}
