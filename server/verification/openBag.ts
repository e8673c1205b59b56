import { createReadStream } from 'node:fs';
import { basename, join, relative, resolve, sep } from 'node:path';
import { bagRootsIn } from '../../shared/archive/bagFiles.ts';
import { type BagFile, createDigester, type Digests } from '../archive/packs/bag/bagCheck.ts';
import { DECLARATION_FILE } from '../archive/packs/bag/tagFiles.ts';
import { packLayout } from '../archive/packs/file/readPackFile.ts';
import { type OpenZip, openZip, type ZipMember } from '../zip/openZip.ts';
import { hashFiles } from './plainFiles.ts';
import type { Finding } from './report.ts';
import { walkFolder } from './walkFolder.ts';

/** A bag, possibly incomplete, in a folder or a ZIP. */
export interface BagSource {
  /** The prefix of the paths in its findings. */
  path: string;
  /** The name of its folder; for a pack, the pack's id. */
  folderName: string;
  /** Its files by their paths in the bag. */
  files: ReadonlyMap<string, BagFile>;
  /** Whether it is an exported archive. */
  isArchive?: boolean;
  /**
   * What is odd about entries of its ZIP (those beside the bag, and those of one name) or of its folder (whatever is no file). By
   * their paths in the bag.
   */
  oddEntries?: ReadonlyMap<string, { state: Finding['state']; detail: string }>;
  /** Hashes all files. A file that cannot be read has a `failure` instead of digests. */
  hash(algorithms: ReadonlySet<string>): AsyncIterable<{ name: string; digests?: Digests; failure?: string }>;
}

/** The names that say what a bag is: those of its folder and of its file. */
export function namesOf({ folderName, path }: Pick<BagSource, 'folderName' | 'path'>): string[] {
  return [folderName, path];
}

/** The maximum size of an extracted pack file, tag files included. */
const MAX_EXPANDED_BYTES = 134_217_728;
const MAX_ENTRIES = 15_000;
/** The maximum number of files in an exported archive. Their size is not limited, because they are only read. */
const MAX_ARCHIVE_ENTRIES = 20_000_000;
/** Matches the record of a pack and the manifest of a bag at the top level or in one folder. */
const OF_PACK_OR_BAG = /^(?:[^/]+\/)?(?:pack\.json|manifest-[a-z0-9-]+\.txt)$/;
const UNDECLARED = `The ZIP holds files of a pack or a bag, but no ${DECLARATION_FILE}. Extract it and verify the folder.`;

export type ZippedBag = BagSource & Pick<OpenZip, 'close'>;

/** Opens a bag in a folder. Symbolic links are not followed: those that are listed count as missing, and others are named. */
export async function openFolderBag(path: string, onProgress: (bytes: number) => void): Promise<BagSource> {
  const sizes = new Map<string, number>();
  const oddEntries = new Map<string, { state: Finding['state']; detail: string }>();
  for await (const entries of walkFolder(path)) {
    for (const entry of entries) {
      const name = relative(path, entry.path).replaceAll(sep, '/');
      if (entry.kind === 'file') sizes.set(name, entry.bytes);
      else if (entry.kind === 'other') oddEntries.set(name, { state: 'unknown', detail: entry.detail });
    }
  }
  const files = [...sizes].map(([name, bytes]) => ({ name, bytes, path: join(path, name) }));
  return {
    path: path.replace(/[/\\]+$/, ''),
    folderName: basename(resolve(path)),
    oddEntries,
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

/** Entries beside a bag that are named. */
const MAX_BESIDE = 100;

/**
 * Opens a bag in a ZIP that is not a pack file, such as an exported archive. Entries beside the bag, as the Finder adds them in
 * `__MACOSX/`, are named. The caller closes it.
 *
 * @returns undefined if the ZIP holds no bag; a sentence if it holds several, or files of one without its declaration
 * @throws Problem if the ZIP is malformed
 */
export async function openZippedBag(
  path: string,
  onProgress: (bytes: number) => void,
): Promise<ZippedBag | string | undefined> {
  const zip = await openZip(path, { maxEntries: MAX_ARCHIVE_ENTRIES, maxBytes: Number.MAX_SAFE_INTEGER });
  const members = zip.members.filter(({ folder }) => !folder);
  const [root, other] = bagRootsIn(members.map(({ name }) => name));
  if (root === undefined || other !== undefined) {
    await zip.close();
    if (root !== undefined) return 'The ZIP holds several bags. Extract it and verify the folders.';
    return members.some(({ name }) => OF_PACK_OR_BAG.test(name)) ? UNDECLARED : undefined;
  }
  const files = new Map<string, ZipMember>();
  const oddEntries = new Map<string, { state: Finding['state']; detail: string }>();
  for (const member of members) {
    const name = member.name.slice(root.length);
    if (!member.name.startsWith(root)) {
      if (oddEntries.size < MAX_BESIDE)
        oddEntries.set(`../${member.name}`, { state: 'unknown', detail: 'beside the bag in the ZIP' });
    } else if (files.has(name))
      oddEntries.set(name, { state: 'changed', detail: 'two entries of the ZIP have this name' });
    else files.set(name, member);
  }
  return { ...zipSource(path, { root, files, onProgress, close: () => zip.close() }), oddEntries };
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
