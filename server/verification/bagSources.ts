import { createReadStream } from 'node:fs';
import { basename, join, relative, resolve, sep } from 'node:path';
import { createDigester } from '../archive/packs/bag/bagCheck.ts';
import { DECLARATION_FILE } from '../archive/packs/bag/tagFiles.ts';
import { packLayout } from '../archive/packs/file/readPackFile.ts';
import { type OpenZip, openZip, type ZipMember } from '../zip/openZip.ts';
import { hashFiles } from './hashFiles.ts';
import type { BagSource } from './verifyBag.ts';
import { walkFolder } from './walkFolder.ts';

/** The maximum size of an extracted pack file, tag files included. */
const MAX_EXPANDED_BYTES = 134_217_728;
const MAX_ENTRIES = 15_000;
/** The maximum number of files in an exported archive. Their size is not limited, because they are only read. */
const MAX_ARCHIVE_ENTRIES = 20_000_000;
/** Matches a bag's declaration at the top level or in one folder. */
const BAG_ROOT = new RegExp(`^((?:[^/]+/)?)${DECLARATION_FILE.replace('.', '\\.')}$`);

export type ZippedBag = BagSource & Pick<OpenZip, 'close'>;

/** Opens a bag in a folder. Symbolic links are not followed; their targets count as missing. */
export async function openFolderBag(path: string, onProgress: (bytes: number) => void): Promise<BagSource> {
  const sizes = new Map<string, number>();
  for await (const entries of walkFolder(path)) {
    for (const entry of entries) {
      if (entry.kind === 'file') sizes.set(relative(path, entry.path).replaceAll(sep, '/'), entry.bytes);
    }
  }
  const files = [...sizes].map(([name, bytes]) => ({ name, bytes, path: join(path, name) }));
  return {
    path: path.replace(/[/\\]+$/, ''),
    folderName: basename(resolve(path)),
    files: new Map(
      files.map((file) => [file.name, { bytes: file.bytes, read: () => createReadStream(file.path) }]),
    ),
    async *hash(algorithms) {
      const needed = [...algorithms];
      const wanted = files.map((file) => ({ ...file, algorithms: needed }));
      let index = 0;
      for await (const batch of hashFiles([wanted], onProgress)) {
        for (const hashed of batch) {
          const name = wanted[index]?.name ?? '';
          index += 1;
          if ('failure' in hashed) yield { name, failure: hashed.failure };
          else yield { name, digests: new Map(Object.entries(hashed.digests)) };
        }
      }
    },
  };
}

/**
 * Opens the bag, or the pack without a bag, in a pack file. The caller closes it.
 *
 * @throws Problem if the ZIP is malformed or holds no pack
 */
export async function openPackFileBag(path: string, onProgress: (bytes: number) => void): Promise<ZippedBag> {
  const zip = await openZip(path, { maxEntries: MAX_ENTRIES, maxBytes: MAX_EXPANDED_BYTES });
  try {
    const { tagFiles, payload, root } = packLayout(zip.members);
    const inData = [...payload].map(([name, member]) => [`data/${name}`, member] as const);
    return zipSource(path, {
      root,
      files: new Map([...tagFiles, ...inData]),
      onProgress,
      close: () => zip.close(),
    });
  } catch (error) {
    await zip.close();
    throw error;
  }
}

/**
 * Opens a bag in a ZIP that is not a pack file, such as an exported archive. The caller closes it.
 *
 * @returns undefined if the ZIP does not hold exactly one bag
 * @throws Problem if the ZIP is malformed
 */
export async function openZippedBag(
  path: string,
  onProgress: (bytes: number) => void,
): Promise<ZippedBag | undefined> {
  const zip = await openZip(path, { maxEntries: MAX_ARCHIVE_ENTRIES, maxBytes: Number.MAX_SAFE_INTEGER });
  const members = zip.members.filter(({ folder }) => !folder);
  const root = members.map(({ name }) => BAG_ROOT.exec(name)?.[1]).find((found) => found !== undefined);
  const files = new Map(members.map((member) => [member.name.slice(root?.length ?? 0), member]));
  const isOneBag =
    root !== undefined && members.every(({ name }) => name.startsWith(root)) && files.size === members.length;
  if (isOneBag) return zipSource(path, { root, files, onProgress, close: () => zip.close() });
  await zip.close();
  return undefined;
}

interface ZippedFiles {
  root: string;
  files: ReadonlyMap<string, ZipMember>;
  onProgress: (bytes: number) => void;
  close: () => Promise<void>;
}

function zipSource(path: string, { root, files, onProgress, close }: ZippedFiles): ZippedBag {
  return {
    path,
    folderName: root.replace(/\/$/, ''),
    files,
    async *hash(algorithms) {
      for (const [name, member] of files) {
        const { update, digests } = createDigester(algorithms);
        for await (const chunk of member.read()) {
          update(chunk);
          onProgress(chunk.length);
        }
        yield { name, digests: digests() };
      }
    },
    close,
  };
}
