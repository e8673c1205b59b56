import { runWorker } from '../runtime/runWorker.ts';
import { workerUrl } from '../runtime/workerUrl.ts';
import { readDataverse } from './kinds/dataverse.ts';
import { readDryad } from './kinds/dryad.ts';
import { readFigshare } from './kinds/figshare.ts';
import { readInvenio } from './kinds/invenio.ts';
import { readLandingPage } from './kinds/landingPage.ts';
import { readOsf } from './kinds/osf.ts';
import {
  type Answer,
  Answers,
  type ReadRepository,
  type RepositoryRecord,
  WantedError,
} from './repository.ts';

/** The readers in the order in which they are tried. A page that says what it is comes last: an interface says more. */
const READERS: readonly ReadRepository[] = [
  readDataverse,
  readInvenio,
  readOsf,
  readFigshare,
  readDryad,
  readLandingPage,
];

export interface ReadingInput {
  /** The address that was given. */
  start: string;
  answers: readonly Answer[];
}

/** The record, the addresses that must be asked first, or nothing. */
export type ReadingOutcome =
  | { record: RepositoryRecord }
  | { wanted: readonly string[] }
  | { record: undefined };

/** Less is read in a few milliseconds. Starting a thread takes longer. */
const SMALL_CHARACTERS = 65_536;
/** Reading never takes nearly as long. */
const MAX_READING_MS = 20_000;

/** Reads a record from what was answered so far; a long description in a thread. @throws the signal's reason */
export function readInThread(input: ReadingInput, signal: AbortSignal): Promise<ReadingOutcome> {
  const characters = input.answers.reduce((sum, { text }) => sum + text.length, 0);
  if (characters < SMALL_CHARACTERS) return Promise.resolve(readRecord(input));
  return runWorker<ReadingOutcome>(workerUrl('readRecord', import.meta.url), input, {
    signal: AbortSignal.any([signal, AbortSignal.timeout(MAX_READING_MS)]),
  });
}

/** Does the work of `readInThread` in the thread that calls it. */
export function readRecord({ start, answers: given }: ReadingInput): ReadingOutcome {
  const answers = new Answers(given);
  try {
    const landing = answers.get(start);
    for (const read of READERS) {
      const record = read(landing, answers);
      if (record) return { record };
    }
    return { record: undefined };
  } catch (error) {
    if (error instanceof WantedError) return { wanted: error.urls };
    throw error;
  }
}
