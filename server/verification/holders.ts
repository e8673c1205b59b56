import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { blobPath } from '../store/blobs/paths.ts';

/** An archive that can be asked whether it holds a file. */
export interface ReferenceArchive {
  /** As findings name it. */
  name: string;
  holds(sha256: string, bytes: number): Promise<boolean>;
}

/** How long a node may take to answer one question. */
const ANSWER_MS = 30_000;

/**
 * A node by its address, or a data folder by its path.
 *
 * @throws Error in a sentence where there is neither.
 */
export async function openReferenceArchive(place: string): Promise<ReferenceArchive> {
  if (/^https?:\/\//i.test(place)) return nodeAt(place.replace(/\/+$/, ''));
  const folder = resolve(place);
  const blobs = await stat(`${folder}/blobs`).catch(() => undefined);
  if (!blobs?.isDirectory()) {
    throw new Error(`${place} is neither the address of a node nor a data folder: it has no folder “blobs”.`);
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
        if (status === 200) return true;
        if (status !== 404) throw new Error(`${url} does not say what it holds: it answers ${status}.`);
      }
      return false;
    },
  };
}

async function statusOf(address: string): Promise<number> {
  try {
    const signal = AbortSignal.timeout(ANSWER_MS);
    return (await fetch(address, { method: 'HEAD', redirect: 'error', signal })).status;
  } catch (cause) {
    throw new Error(`${new URL(address).origin} cannot be reached.`, { cause });
  }
}
