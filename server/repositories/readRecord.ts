import { runInThread } from '../runtime/threads.ts';
import { readDataverse } from './kinds/dataverse.ts';
import { readDryad } from './kinds/dryad.ts';
import { readFigshare } from './kinds/figshare.ts';
import { readInvenio } from './kinds/invenio.ts';
import { readLandingPage } from './kinds/landingPage.ts';
import { readOsf } from './kinds/osf.ts';
import { MAX_LISTED_FILES, type PlacedFile, placeFiles } from './planFiles.ts';
import { bounded, publishedAddress } from './recordFields.ts';
import {
  type Answer,
  Answers,
  isNoAnswer,
  type ReadRepository,
  type RepositoryRecord,
  UnreadablePartError,
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

/** A record with the places of its files. */
export interface ReadRecord extends Omit<RepositoryRecord, 'files'> {
  files: PlacedFile[];
  /** How many files the repository lists. */
  listed: number;
}

/** The record, the addresses that must be asked first, the part that could not be read, or nothing. */
export type ReadingOutcome =
  | { record: ReadRecord }
  | { wanted: readonly string[] }
  | { unreadable: string }
  | { record: undefined };

/** Less is read in a few milliseconds. Starting a thread takes longer. */
const SMALL_CHARACTERS = 65_536;
/** Reading never takes nearly as long. */
const MAX_READING_MS = 20_000;

/** Reading took too long. */
export class SlowRecordError extends Error {
  constructor() {
    super('Its description takes too long to read.');
    this.name = 'SlowRecordError';
  }
}

/** Reads a record from what was answered so far; a long description in a thread. @throws SlowRecordError; the signal's reason */
export async function readInThread(input: ReadingInput, signal: AbortSignal): Promise<ReadingOutcome> {
  const characters = input.answers.reduce((sum, { text }) => sum + text.length, 0);
  if (characters < SMALL_CHARACTERS) return readRecord(input);
  const timeout = AbortSignal.timeout(MAX_READING_MS);
  try {
    return await runInThread<ReadingOutcome>('readRecord', input, {
      signal: AbortSignal.any([signal, timeout]),
    });
  } catch (error) {
    if (timeout.aborted && !signal.aborted) throw new SlowRecordError();
    throw error;
  }
}

/** Does the work of `readInThread` in the thread that calls it. */
export function readRecord({ start, answers: given }: ReadingInput): ReadingOutcome {
  const answers = new Answers(given);
  try {
    const landing = answers.get(start);
    for (const read of READERS) {
      const record = read(landing, answers);
      if (!record) continue;
      const warnings = [...record.warnings, ...gapsIn(record, given, answers)];
      return { record: boundedRecord({ ...record, warnings }) };
    }
    return { record: undefined };
  } catch (error) {
    if (error instanceof WantedError) return { wanted: error.urls };
    if (error instanceof UnreadablePartError) return { unreadable: error.url };
    throw error;
  }
}

/** Says what is not in a record although its repository has it. */
function gapsIn({ repository }: RepositoryRecord, given: readonly Answer[], { refused }: Answers): string[] {
  const silent = repository === 'Signposting and schema.org' ? given.find(isNoAnswer) : undefined;
  return [
    ...(silent
      ? [`${publishedAddress(silent.url)} could not be read, so only what the page itself says was taken.`]
      : []),
    ...(refused.size > 0
      ? ['The repository does not give all parts of the record to the public. They were left out.']
      : []),
  ];
}

const MAX_NAME_CHARACTERS = 2_000;
const MAX_WARNINGS = 20;

/** A record is handled by the main thread from here on, so nothing in it is long. */
function boundedRecord(record: RepositoryRecord): ReadRecord {
  return {
    ...record,
    ...bounded(record),
    license: record.license?.slice(0, MAX_NAME_CHARACTERS) ?? null,
    files: placeFiles(
      record.files
        .slice(0, MAX_LISTED_FILES)
        .map((file) => ({ ...file, name: file.name.slice(0, MAX_NAME_CHARACTERS) })),
    ),
    listed: record.files.length,
    warnings: record.warnings.slice(0, MAX_WARNINGS),
  };
}
