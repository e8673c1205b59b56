import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { blobPath } from '../store/files.ts';
import type { Finding } from './report.ts';

/** An archive in which files are looked up. */
export interface ReferenceArchive {
  /** Its name in findings. */
  name: string;
  /** `released`: it had the bytes and gave them up. */
  holds(sha256: string, bytes: number): Promise<boolean | 'released'>;
}

/** Looks an intact or unknown file up in the archive, if there is one. `bytes` is its size. */
export async function lookUp(
  archive: ReferenceArchive | undefined,
  found: Finding,
  bytes: number,
): Promise<Finding> {
  const { sha256, state } = found;
  if (!archive || sha256 === null || state === 'changed') return found;
  const { name } = archive;
  const held = await archive.holds(sha256, bytes);
  if (held === true) return { ...found, state: 'intact', against: found.against ?? name };
  const detail =
    held === 'released' ? `${name} released it: it gave up the bytes for good` : `${name} does not hold it`;
  return { ...found, state: 'unknown', against: name, detail };
}

const REQUEST_TIMEOUT_MS = 30_000;

/**
 * Opens a node by its URL or a data folder by its path.
 *
 * @throws Error if there is neither
 */
export async function openReferenceArchive(place: string): Promise<ReferenceArchive> {
  if (/^https?:\/\//i.test(place)) return nodeAt(place.replace(/\/+$/, ''));
  const folder = resolve(place);
  const blobs = await stat(`${folder}/blobs`).catch(() => undefined);
  if (!blobs?.isDirectory()) {
    throw new Error(`${place} is neither the URL of a node nor a data folder (it has no subfolder “blobs”).`);
  }
  return {
    name: place,
    holds: async (sha256, bytes) => {
      const found = await stat(blobPath(folder, sha256)).catch(() => undefined);
      return found?.size === bytes;
    },
  };
}

function nodeAt(url: string): ReferenceArchive {
  return {
    name: url,
    holds: async (sha256) => {
      for (const path of [`/api/blobs/${sha256}`, `/archive/${sha256}`]) {
        const status = await statusOf(url + path);
        // Withheld bytes are held, although they are not shown.
        if (status === 200 || status === 451) return true;
        if (status === 410) return 'released';
        if (status !== 404) throw new Error(`${url} cannot be checked: it answered with status ${status}.`);
      }
      return false;
    },
  };
}

async function statusOf(address: string): Promise<number> {
  try {
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
    return (await fetch(address, { method: 'HEAD', redirect: 'error', signal })).status;
  } catch (cause) {
    throw new Error(`${new URL(address).origin} cannot be reached.`, { cause });
  }
}
