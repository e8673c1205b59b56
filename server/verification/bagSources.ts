import { createReadStream } from 'node:fs';
import { basename, join, relative, resolve, sep } from 'node:path';
import { DECLARATION_FILE } from '../archive/packs/bag/bag.ts';
import { createDigester } from '../archive/packs/bag/bagCheck.ts';
import { packLayout } from '../archive/packs/file/packLayout.ts';
import { type OpenZip, openZip, type ZipMember } from '../archive/packs/zip/openZip.ts';
import { hashFiles } from './hashFiles.ts';
import type { BagSource } from './verifyBag.ts';
import { walkFolder } from './walkFolder.ts';

/** A pack file is at most this large expanded, tag files and all; what is larger is no pack file. */
const MAX_EXPANDED_BYTES = 134_217_728;
const MAX_ENTRIES = 15_000;
/** A whole archive may hold this many files, of any size: they are only read. */
const MAX_ARCHIVE_ENTRIES = 20_000_000;
/** Where a bag's declaration lies: at the top, or in the one folder that the bag is. */
const BAG_ROOT = new RegExp(`^((?:[^/]+/)?)${DECLARATION_FILE.replace('.', '\\.')}$`);

export type ZippedBag = BagSource & Pick<OpenZip, 'close'>;

/** A bag in a folder. Symbolic links in it are not followed; what they stand for is missing. */
export async function openFolderBag(path: string, tell: (bytes: number) => void): Promise<BagSource> {
  const sizes = new Map<string, number>();
  for await (const entry of walkFolder(path)) {
    if (entry.kind === 'file') sizes.set(relative(path, entry.path).replaceAll(sep, '/'), entry.bytes);
  }
  const files = [...sizes].map(([name, bytes]) => ({ name, bytes, path: join(path, name) }));
  return {
    path: path.replace(/[/\\]+$/, ''),
    folderName: basename(resolve(path)),
    files: new Map(
      files.map((file) => [file.name, { bytes: file.bytes, read: () => createReadStream(file.path) }]),
    ),
    async *hash(algorithms) {
      const wanted = files.map((file) => ({ ...file, algorithms: [...algorithms] }));
      let index = 0;
      for await (const hashed of hashFiles(wanted, tell)) {
        const name = wanted[index]?.name ?? '';
        index += 1;
        if ('failure' in hashed) yield { name, failure: hashed.failure };
        else yield { name, digests: new Map(Object.entries(hashed.digests)) };
      }
    },
  };
}

/**
 * The bag, or the bare pack, in a pack file; close it in the end.
 *
 * @throws Problem for an archive that is malformed, or that holds no pack.
 */
export async function openPackFileBag(path: string, tell: (bytes: number) => void): Promise<ZippedBag> {
  const zip = await openZip(path, { maxEntries: MAX_ENTRIES, maxBytes: MAX_EXPANDED_BYTES });
  try {
    const { tagFiles, payload, root } = packLayout(zip.members);
    const inData = [...payload].map(([name, member]) => [`data/${name}`, member] as const);
    return zipSource(path, {
      root,
      files: new Map([...tagFiles, ...inData]),
      tell,
      close: () => zip.close(),
    });
  } catch (error) {
    await zip.close();
    throw error;
  }
}

/**
 * A bag in a ZIP that is no pack file, such as a whole archive; close it in the end.
 *
 * @returns undefined for a ZIP that holds no bag, or more than that. @throws Problem for a ZIP that is malformed.
 */
export async function openZippedBag(
  path: string,
  tell: (bytes: number) => void,
): Promise<ZippedBag | undefined> {
  const zip = await openZip(path, { maxEntries: MAX_ARCHIVE_ENTRIES, maxBytes: Number.MAX_SAFE_INTEGER });
  const members = zip.members.filter(({ folder }) => !folder);
  const root = members.map(({ name }) => BAG_ROOT.exec(name)?.[1]).find((found) => found !== undefined);
  const files = new Map(members.map((member) => [member.name.slice(root?.length ?? 0), member]));
  const isOneBag =
    root !== undefined && members.every(({ name }) => name.startsWith(root)) && files.size === members.length;
  if (isOneBag) return zipSource(path, { root, files, tell, close: () => zip.close() });
  await zip.close();
  return undefined;
}

interface ZippedFiles {
  root: string;
  files: ReadonlyMap<string, ZipMember>;
  tell: (bytes: number) => void;
  close: () => Promise<void>;
}

function zipSource(path: string, { root, files, tell, close }: ZippedFiles): ZippedBag {
  return {
    path,
    folderName: root.replace(/\/$/, ''),
    files,
    async *hash(algorithms) {
      for (const [name, member] of files) {
        const { update, digests } = createDigester(algorithms);
        for await (const chunk of member.read()) {
          update(chunk);
          tell(chunk.length);
        }
        yield { name, digests: digests() };
      }
    },
    close,
  };
}
