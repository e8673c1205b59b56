import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { type CaptureResult, observerSchema } from '../../shared/captures.ts';
import { systemClock } from '../../shared/clock.ts';
import { READ_SIZE } from '../collection/captures/captures.ts';
import { importWarc } from '../collection/captures/importWarc.ts';
import type { FileDescription } from '../collection/captures/readWarcFile.ts';
import { coverRetrievals } from '../collection/record/coverRetrievals.ts';
import { ObjectReceiver } from '../collection/record/objectReceiver.ts';
import { openArchive } from '../ledger/openArchive.ts';
import { openSettings } from '../store/settings.ts';
import { UsageError } from './command.ts';

/** What came of a file of captures. */
export interface ImportedCaptures extends CaptureResult {
  file: string;
  ok: boolean;
  kind: 'captures';
  observer: string;
  sentence: string;
}

/** Whether a file that begins so holds captures: it is WARC, or gzip, which nothing else that is read here is. */
export function isWarc(beginning: Buffer): boolean {
  return beginning.toString('latin1', 0, 5) === 'WARC/' || (beginning[0] === 0x1f && beginning[1] === 0x8b);
}

/** @throws UsageError where it cannot be an observer's name. */
export function requireObserver(name: string): string {
  const checked = observerSchema.safeParse(name);
  if (checked.success) return checked.data;
  throw new UsageError(`--observer: ${checked.error.issues[0]?.message ?? 'It cannot be taken.'}`);
}

/**
 * Imports a WARC file into a data folder that no node has open. What is damaged is told, and what came before it is in.
 *
 * @throws Problem `invalid_capture`; FolderInUseError.
 */
export async function importCaptures(
  folder: string,
  file: string,
  asked: string | undefined,
): Promise<ImportedCaptures> {
  const { store } = await openArchive({ folder, clock: systemClock });
  try {
    await coverRetrievals(store);
    const settingsStore = openSettings(store);
    const settings = () => settingsStore.current;
    let observer = asked ?? '';
    const result = await importWarc(
      { store, receiver: new ObjectReceiver(store, settings), settings },
      {
        open: () => createReadStream(file, { highWaterMark: READ_SIZE }),
        observer: (description) => (observer ||= observerOf(description, file)),
        signal: new AbortController().signal,
      },
    );
    const ok = !result.refused.some(({ reason }) => reason === 'damaged' || reason === 'file_too_large');
    return { file, ok, kind: 'captures', observer, sentence: sentenceOf(result, observer), ...result };
  } finally {
    await store.close();
  }
}

/** What of a file's description names whose it is, the surest first. */
const NAMING_FIELDS = ['publisher', 'operator', 'ispartof'] as const;

function observerOf({ info }: FileDescription, file: string): string {
  const fromName = basename(file).replace(/\.warc(\.gz)?$/i, '');
  const names = [...NAMING_FIELDS.map((field) => info.get(field) ?? ''), fromName];
  return names.find((name) => observerSchema.safeParse(name).success) ?? 'captures';
}

function sentenceOf(result: CaptureResult, observer: string): string {
  const { captures, already_held, events, refused } = result;
  const parts = [`${captures} captures of ${observer}, ${events.length} events`];
  if (already_held > 0) parts.push(`${already_held} were there already`);
  if (refused.length > 0)
    parts.push(`refused: ${refused.map(({ reason, count }) => `${count} ${reason}`).join(', ')}`);
  return `${parts.join('; ')}.`;
}
