import { basename } from 'node:path';
import { Problem } from '../../shared/problems.ts';
import { isArchiveName } from '../../shared/proof/names.ts';
import { isDigest } from '../../shared/values/digestPattern.ts';
import { errorCode } from '../../shared/values/errorCode.ts';
import type { BagFile } from '../archive/packs/bag/bagCheck.ts';
import { ARCHIVE_BAG, PAYLOAD_FOLDER } from '../archive/packs/bag/tagFiles.ts';
import type { NamedObjects } from '../dump/checkDump.ts';
import type { BagSource } from './openBag.ts';
import type { VerifyContext } from './plainFiles.ts';
import { type Finding, finding } from './report.ts';

/** Returns the exported archive in a bag. A bag of other software may hold a file with the name of its dump. */
export async function archiveIn(
  bag: BagSource,
  { key }: Pick<VerifyContext, 'key'>,
): Promise<ExportedArchive | undefined> {
  const dump = bag.files.get(ARCHIVE_BAG.dump);
  if (!dump) return undefined;
  const isNamed = [bag.folderName, bag.path].some(isArchiveName) || hasObjects(bag);
  if (!isNamed && !isDump(await beginningOf(dump))) return undefined;
  const { NamedObjects } = await import('../dump/checkDump.ts');
  const objects = new Set<string>();
  const named = new NamedObjects((sha256) => objects.add(sha256));
  return new ExportedArchive(bag, { dump, key, objects, named });
}

/**
 * An exported archive. Its dump, the names of its objects and which there are, are also verified by themselves, which detects
 * what was changed, removed or added together with the manifests.
 */
class ExportedArchive {
  readonly #bag: BagSource;
  readonly #dump: BagFile;
  readonly #objects: ReadonlySet<string>;
  readonly #named: NamedObjects;
  readonly #key: string | undefined;
  /** What the manifests list and the bag does not have. */
  readonly #missing = new Set<string>();
  #dumpFinding: Promise<Finding | undefined> | undefined;

  constructor(
    bag: BagSource,
    {
      dump,
      key,
      objects,
      named,
    }: { dump: BagFile; key: string | undefined; objects: ReadonlySet<string>; named: NamedObjects },
  ) {
    this.#bag = bag;
    this.#key = key;
    this.#dump = dump;
    this.#objects = objects;
    this.#named = named;
  }

  async completed(found: Finding): Promise<Finding> {
    const name = found.path.slice(this.#bag.path.length + 1);
    if (found.state === 'missing') this.#missing.add(name);
    if (found.state !== 'intact') return found;
    if (name === ARCHIVE_BAG.dump) return { ...found, ...(await this.#ofDump()), sha256: found.sha256 };
    if (!name.startsWith(PAYLOAD_FOLDER)) return found;
    if (name === objectName(found.sha256 ?? '')) return this.#object(found, found.sha256 ?? '');
    const isObject = name.startsWith(ARCHIVE_BAG.blobs) && isDigest(basename(name));
    return isObject
      ? { ...found, state: 'changed', expected: basename(name), detail: 'not named by its digest' }
      : { ...found, state: 'unknown', detail: 'no part of an archive' };
  }

  /** Verifies the dump, once: it says which objects belong here. Returns undefined if it cannot be read, which is found elsewhere. */
  #ofDump(): Promise<Finding | undefined> {
    const verified = async () => {
      const { verifyDump } = await import('./verifyDump.ts');
      const path = `${this.#bag.path}/${ARCHIVE_BAG.dump}`;
      try {
        return await verifyDump(path, this.#dump.read(), { named: this.#named, key: this.#key });
      } catch (error) {
        if (error instanceof Problem || errorCode(error) !== undefined) return undefined;
        throw error;
      }
    };
    return (this.#dumpFinding ??= verified());
  }

  /** Whether the dump is known to its end. One that breaks off may not say which objects were given up. */
  async #isDumpWhole(): Promise<boolean> {
    const state = (await this.#ofDump())?.state;
    return state === 'intact' || state === 'unsigned';
  }

  /** Anybody can name bytes by their digest, so an object is one of the archive only if its records name it. */
  async #object(found: Finding, sha256: string): Promise<Finding> {
    if (!(await this.#isDumpWhole())) return found;
    if (!this.#objects.has(sha256)) return { ...found, state: 'unknown', detail: 'no record names it' };
    const isReleased = this.#named.released.has(sha256);
    return isReleased ? { ...found, state: 'unknown', detail: 'the archive gave it up' } : found;
  }

  /** Returns the objects that the dump names and that neither the bag nor its manifests have. */
  async missing(): Promise<Finding[]> {
    if (!(await this.#isDumpWhole())) return [];
    const withoutBytes = new Set(this.#named.withoutBytes());
    return [...this.#objects]
      .filter((sha256) => !withoutBytes.has(sha256))
      .map((sha256) => ({
        sha256,
        name: objectName(sha256),
      }))
      .filter(({ name }) => !this.#bag.files.has(name) && !this.#missing.has(name))
      .map(({ sha256, name }) =>
        finding(`${this.#bag.path}/${name}`, 'missing', { expected: sha256, against: ARCHIVE_BAG.dump }),
      );
  }
}

/** Whether a bag has objects where an exported archive has them. */
function hasObjects({ files }: BagSource): boolean {
  for (const name of files.keys()) if (name === objectName(basename(name))) return true;
  return false;
}

function objectName(sha256: string): string {
  return `${ARCHIVE_BAG.blobs}${sha256.slice(0, 2)}/${sha256.slice(2, 4)}/${sha256}`;
}

async function beginningOf(file: BagFile): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of file.read()) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= HEAD_BYTES) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The size of the beginning of a file by which it is recognised. */
export const HEAD_BYTES = 65_536;

/** Returns whether a file with this beginning is a dump, however its header is written, or broken. */
export function isDump(head: string): boolean {
  if (/^\s*\{\s*"kind"\s*:\s*"header"/.test(head)) return true;
  try {
    const header: unknown = JSON.parse(head.trimStart().split('\n', 1)[0] ?? '');
    return typeof header === 'object' && header !== null && 'kind' in header && header.kind === 'header';
  } catch {
    // Not JSON, or longer than any header.
    return false;
  }
}
