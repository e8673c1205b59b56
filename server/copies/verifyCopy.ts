import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { certificatesOf } from '../../shared/collection/connection.ts';
import type { RecordedRetrieval } from '../../shared/collection/retrieval.ts';
import type { LedgerEntry } from '../../shared/ledger/ledger.ts';
import { checkDump, type DumpHead } from '../dump/checkDump.ts';
import { READ_SIZE } from '../dump/dumpFile.ts';
import { objectPath } from './copyPaths.ts';
import { assembleDump } from './records/assembleDump.ts';
import { type TileDigest, TileDigests } from './records/tileDigests.ts';
import type { CopyTarget } from './targets/target.ts';

/** What verifying a copy found. */
export interface VerifiedCopy {
  ok: boolean;
  head: DumpHead;
  objects: number;
  bytes: number;
  /** Objects by their digest, and tiles by their path. */
  damaged: string[];
  missing: string[];
}

/**
 * Verifies a copy without a node: the signature of its checkpoint, every record against its ledger entry, every tile
 * against the entries, every object that the records name against its digest. Objects that the ledger records as damaged
 * may be missing.
 *
 * @throws CopyError, DumpError
 */
export async function verifyCopy(
  target: CopyTarget,
  { signal, progress }: { signal: AbortSignal; progress: (bytes: number) => void },
): Promise<VerifiedCopy> {
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-copy-'));
  try {
    const file = join(folder, 'dump.jsonl');
    await assembleDump(target, file, signal);
    const { head, named, tiles } = await readDump(file);
    const result: VerifiedCopy = { ok: false, head, objects: 0, bytes: 0, damaged: [], missing: [] };
    const limit = pLimit(target.concurrency);
    const verifyOne = async (path: string, sha256: string, name: string) => {
      const found = await target.digestOf(path, signal, progress);
      if (!found) result.missing.push(name);
      else if (found.sha256 !== sha256) result.damaged.push(name);
      return found?.bytes ?? 0;
    };
    const verifyObject = async (sha256: string) => {
      const bytes = await verifyOne(objectPath(sha256), sha256, sha256);
      result.bytes += bytes;
      result.objects += 1;
    };
    await Promise.all([
      ...[...named].map((sha256) => limit(() => verifyObject(sha256))),
      ...tiles.map(({ path, sha256 }) => limit(() => verifyOne(path, sha256, path))),
    ]);
    result.damaged.sort();
    result.missing.sort();
    result.ok = result.damaged.length + result.missing.length === 0;
    return result;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Checks a dump and returns its tiles, and the objects that its records name, but those that it records as damaged. */
async function readDump(file: string): Promise<{ head: DumpHead; named: Set<string>; tiles: TileDigest[] }> {
  const named = new Set<string>();
  const tiles = new TileDigests();
  const damages = new Map<number, string>();
  const lines = checkDump(createReadStream(file, { highWaterMark: READ_SIZE }));
  let step = await lines.next();
  for (; !step.done; step = await lines.next()) {
    const { kind, value } = step.value;
    if (kind === 'entry') tiles.add(value as unknown as LedgerEntry);
    else if (kind === 'pack') {
      const { files } = value.record as { files: { sha256: string }[] };
      for (const { sha256 } of files) named.add(sha256);
    } else if (kind === 'retrieval') {
      const retrieval = value as unknown as RecordedRetrieval;
      if (retrieval.sha256 !== null) named.add(retrieval.sha256);
      for (const { sha256 } of certificatesOf(retrieval)) named.add(sha256);
    } else if (kind === 'object_damage') damages.set(Number(value.ledger_entry), String(value.sha256));
    else if (kind === 'object_restoration') damages.delete(Number(value.damage));
  }
  for (const sha256 of damages.values()) named.delete(sha256);
  return { head: step.value, named, tiles: tiles.finish() };
}
