import { createReadStream, openAsBlob } from 'node:fs';
import { basename } from 'node:path';
import { type CaptureResult, observerSchema } from '../../../shared/collection/captures.ts';
import { MAX_CAPTURE_FILE_BYTES } from '../../../shared/limits.ts';
import type { Job } from '../../../shared/node/job.ts';
import { systemClock } from '../../../shared/values/clock.ts';
import { READ_SIZE } from '../../collection/captures/captures.ts';
import { importWarc } from '../../collection/captures/warcImport/importWarc.ts';
import { type FileDescription, readDescription } from '../../collection/captures/warcImport/readWarcFile.ts';
import { ObjectReceiver } from '../../collection/record/objectReceiver.ts';
import { openArchiveForWriting } from '../../collection/record/openArchiveForWriting.ts';
import { openSettings } from '../../store/settings.ts';
import { UsageError } from '../command.ts';
import { finishedJob, type RunningNode } from '../runningNode.ts';

/** The result of importing a file of captures. */
export interface ImportedCaptures extends CaptureResult {
  file: string;
  ok: boolean;
  kind: 'captures';
  observer: string;
  sentence: string;
}

/** Returns whether a file with this beginning is WARC, plain or gzipped. No other format that is imported is gzip. */
export function isWarc(beginning: Buffer): boolean {
  return beginning.toString('latin1', 0, 5) === 'WARC/' || (beginning[0] === 0x1f && beginning[1] === 0x8b);
}

/** @throws UsageError if the name is not a valid observer name */
export function requireObserver(name: string): string {
  const checked = observerSchema.safeParse(name);
  if (checked.success) return checked.data;
  throw new UsageError(`--observer: ${checked.error.issues[0]?.message ?? 'This is not a valid name.'}`);
}

/**
 * Imports a WARC file into a data folder that no node has open. If the file is damaged, the captures before the damage
 * are imported and `refused` reports it.
 *
 * @param requested the observer's name; undefined to take it from the file
 * @throws Problem `invalid_capture`; FolderInUseError
 */
export async function importCaptures(
  folder: string,
  file: string,
  requested: string | undefined,
): Promise<ImportedCaptures> {
  const { store } = await openArchiveForWriting({ folder, clock: systemClock });
  try {
    const settingsStore = openSettings(store);
    const settings = () => settingsStore.current;
    let observer = requested ?? '';
    const result = await importWarc(
      { store, receiver: new ObjectReceiver(store, settings), settings },
      {
        open: () => createReadStream(file, { highWaterMark: READ_SIZE }),
        observer: (description) => (observer ||= observerOf(description, file)),
        signal: new AbortController().signal,
      },
    );
    return importedCaptures(file, observer, result);
  } finally {
    await store.close();
  }
}

/** Sends a WARC file to the node that has the data folder open, and waits until it is imported. */
export async function sendCaptures(
  node: RunningNode,
  file: string,
  requested: string | undefined,
): Promise<ImportedCaptures> {
  const open = () => createReadStream(file, { highWaterMark: READ_SIZE });
  const observer = requested ?? observerOf(await readDescription(open, MAX_CAPTURE_FILE_BYTES), file);
  const path = `/manage/captures?wait=false&observer=${encodeURIComponent(observer)}`;
  const bytes = await openAsBlob(file);
  const job = (await node.request('POST', path, { type: 'application/warc', bytes })) as Job;
  const result = (await finishedJob(node, job)) as CaptureResult;
  return importedCaptures(file, observer, result);
}

function importedCaptures(file: string, observer: string, result: CaptureResult): ImportedCaptures {
  const ok = !result.refused.some(({ reason }) => reason === 'damaged' || reason === 'file_too_large');
  return { file, ok, kind: 'captures', observer, sentence: summaryOf(result, observer), ...result };
}

/** The fields of a file's description that name its observer, in order of preference. */
const NAMING_FIELDS = ['publisher', 'operator', 'ispartof'] as const;

function observerOf({ info }: FileDescription, file: string): string {
  const fromName = basename(file).replace(/\.warc(\.gz)?$/i, '');
  const names = [...NAMING_FIELDS.map((field) => info.get(field) ?? ''), fromName];
  return names.find((name) => observerSchema.safeParse(name).success) ?? 'captures';
}

function summaryOf(result: CaptureResult, observer: string): string {
  const { captures, already_held, events, refused } = result;
  const parts = [`${captures} captures of ${observer}, ${events.length} events`];
  if (already_held > 0) parts.push(`${already_held} were already in the archive`);
  if (refused.length > 0)
    parts.push(`refused: ${refused.map(({ reason, count }) => `${count} ${reason}`).join(', ')}`);
  return `${parts.join('; ')}.`;
}
