import { readFile, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { z } from 'zod';
import { isMissing, writeFileDurably } from '../../store/files.ts';
import { type CopyRow, copyById } from '../../store/sqlite/node/copies.ts';
import type { Store } from '../../store/store.ts';
import { contractOf } from './contract.ts';
import { type FolderReaders, openFolder } from './folderTarget.ts';
import { CopyError, type CopyTarget, type RawTarget } from './target.ts';

/** Visitors read the pages of a copy through a web server. One without pages holds what is withheld too. */
export function readersOf({ pages }: Pick<CopyRow, 'pages'>): FolderReaders {
  return pages === 1 ? 'all' : 'owner';
}

/** Where a copy is, as the owner names it. */
export interface TargetAddress {
  /** `file:///…` or `s3://bucket/prefix`. */
  target: string;
  endpoint?: string | null | undefined;
  region?: string | null | undefined;
  access_key?: string | null | undefined;
  secret_key?: string | null | undefined;
}

/** Passes a place on, changed or not, before it is used. Tests let places fail. */
export type AroundPlace = (place: RawTarget) => RawTarget;

interface OpenOptions {
  isNew?: boolean;
  /** Of a copy in a folder that is written to: who may read its files on this machine. */
  readers?: FolderReaders | undefined;
  around?: AroundPlace | undefined;
}

/**
 * Opens the target of a copy. Only for a new copy is a missing folder created.
 *
 * @throws CopyError if it cannot be reached or the address cannot be understood
 */
export async function openTarget(
  address: TargetAddress,
  { isNew = false, readers, around = (place) => place }: OpenOptions = {},
): Promise<CopyTarget> {
  return contractOf(around(await openPlace(address, { isNew, readers })));
}

async function openPlace(
  address: TargetAddress,
  { isNew, readers }: { isNew: boolean; readers: FolderReaders | undefined },
): Promise<RawTarget> {
  const url = URL.parse(address.target);
  if (url?.protocol === 'file:' && url.host === '') return openFolder(folderOf(url), { isNew, readers });
  if (url?.protocol !== 's3:' || url.host === '')
    throw new CopyError('A copy is in a folder (file:///path) or in a bucket (s3://bucket/prefix).');
  // The client of the object store takes a while to load, and most nodes never need it.
  const { openBucket } = await import('./s3Target.ts');
  const path = decoded(url).replace(/^\/+|\/+$/g, '');
  const { endpoint, region, access_key, secret_key } = address;
  const hasKey = access_key && secret_key;
  return openBucket({
    bucket: url.host,
    prefix: path === '' ? '' : `${path}/`,
    endpoint: endpoint ?? undefined,
    region: region ?? undefined,
    credentials: hasKey ? { accessKeyId: access_key, secretAccessKey: secret_key } : undefined,
  });
}

/**
 * Returns the place that an address names, in one form: `file:///a/` and a symbolic link to `/a` are `file:///a`.
 *
 * @throws CopyError
 */
export async function realPlace({ target }: Pick<TargetAddress, 'target'>): Promise<string> {
  const url = URL.parse(target);
  if (url?.protocol !== 'file:') return target.replace(/\/+$/, '');
  return pathToFileURL(await realFolder(folderOf(url))).href;
}

/** Returns whether an address names a folder or what is within it. @throws CopyError */
export async function isWithin(folder: string, address: Pick<TargetAddress, 'target'>): Promise<boolean> {
  if (!address.target.startsWith('file:')) return false;
  const path = relative(await realFolder(folder), fileURLToPath(await realPlace(address)));
  return path.split(sep)[0] !== '..' && !isAbsolute(path);
}

/** The folder that a path leads to. One that does not exist yet is where its parent leads to. */
async function realFolder(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    // Opening it says what is wrong.
    const parent = dirname(path);
    return parent === path ? path : join(await realFolder(parent), basename(path));
  }
}

function folderOf(url: URL): string {
  try {
    return fileURLToPath(url);
  } catch (cause) {
    throw new CopyError(`${url.href} does not name a folder of this machine.`, { cause });
  }
}

function decoded(url: URL): string {
  try {
    return decodeURIComponent(url.pathname);
  } catch (cause) {
    throw new CopyError(`${url.href} is not a valid address: write % as %25.`, { cause });
  }
}

/** The access key of a bucket. */
export interface Credentials {
  access_key: string;
  secret_key: string;
}

/** How the copies of an archive are opened. */
export interface CopyOpener {
  /** The data folder, which has their access keys. */
  folder: string;
  around?: AroundPlace | undefined;
}

/** Opens a copy, with its access key or the given one. The caller closes it. @throws CopyError */
export async function openCopy(
  { folder, around }: CopyOpener,
  copy: CopyRow,
  given?: Credentials,
): Promise<CopyTarget> {
  const credentials = given ?? (await readCredentials(folder))[copy.id];
  return openTarget({ ...copy, ...credentials }, { around, readers: readersOf(copy) });
}

/** Opens a copy that may have been removed meanwhile. @throws CopyError */
export async function openCopyById(
  opener: CopyOpener,
  { read }: Pick<Store, 'read'>,
  id: string,
): Promise<CopyTarget> {
  const copy = copyById(read, id);
  if (!copy) throw new CopyError('The copy was removed.');
  return openCopy(opener, copy);
}

const credentialsSchema = z.record(z.string(), z.object({ access_key: z.string(), secret_key: z.string() }));

/** The access keys of the copies, by the copy's id, in a file of the data folder that only its owner can read. */
function credentialsFile(folder: string): string {
  return join(folder, 'copy-credentials');
}

export async function readCredentials(folder: string): Promise<Record<string, Credentials>> {
  try {
    return credentialsSchema.parse(JSON.parse(await readFile(credentialsFile(folder), 'utf8')));
  } catch (error) {
    if (isMissing(error)) return {};
    throw error;
  }
}

/** Changes the file of access keys. Writes wait for each other, because each changes one key of the file. */
export class CredentialsWriter {
  readonly #folder: string;
  #last: Promise<void> = Promise.resolve();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Keeps the access key of a copy, or forgets it. */
  set(copy: string, credentials: Credentials | undefined): Promise<void> {
    return this.#change((all) => {
      if (credentials) all[copy] = credentials;
      else delete all[copy];
    });
  }

  /** Forgets the access keys of all other copies. */
  keepOnly(isKnown: (copy: string) => boolean): Promise<void> {
    return this.#change((all) => {
      for (const copy of Object.keys(all)) if (!isKnown(copy)) delete all[copy];
    });
  }

  #change(apply: (all: Record<string, Credentials>) => void): Promise<void> {
    const change = async () => {
      const all = await readCredentials(this.#folder);
      const before = JSON.stringify(all);
      apply(all);
      const text = JSON.stringify(all);
      if (text !== before) await writeFileDurably(credentialsFile(this.#folder), `${text}\n`, 0o600);
    };
    // Whoever asked for the write before gets its error.
    const write = this.#last.then(change, change);
    this.#last = write;
    return write;
  }
}
