import { MEGABYTE } from '../../../shared/limits.ts';
import type { RestoreDrill } from '../../../shared/node/copy.ts';
import { errorCode } from '../../../shared/values/errorCode.ts';
import { DumpError } from '../../dump/dumpFile.ts';
import { isNoSpace } from '../../store/files.ts';
import type { TargetAddress } from '../targets/openTarget.ts';
import { CopyError, InvalidCopyError } from '../targets/target.ts';

/** What the thread of a drill is given. */
export interface DrillInput {
  /** The data folder of this archive, which is only read. */
  archive: string;
  verifierKey: string;
  /** The folder for what is restored. The caller removes it. */
  folder: string;
  address: TargetAddress;
  copy: {
    owner_token: string;
    /** Whether the copy does not hold the key that decrypts its withheld objects. */
    lacksKey: boolean;
    /** The digest of its file of the key; undefined if it has none. */
    keyFile: string | undefined;
  };
  /** The bytes that may be written. */
  room: number;
  /** A random digest, at which the sample begins. */
  start: string;
}

/** What the thread reports: how many bytes it needs, then how many objects of its sample it has read. */
export type DrillProgress = { needed: number } | { done: number; total: number };

/** What a drill found. */
export type DrillFinding = Omit<RestoreDrill, 'at'>;

/** There is too little room for a drill. */
export class NoRoomError extends Error {
  readonly needed: number;

  constructor(needed: number, why: string) {
    super(`A restore test needs ${megabytes(needed)} on the disk of this archive. ${why} Free some space.`);
    this.name = 'NoRoomError';
    this.needed = needed;
  }

  /** Before anything is restored. */
  static before(needed: number, room: number): NoRoomError {
    const why = `There are ${megabytes(Math.max(0, room))} to spare, beyond what the settings keep free.`;
    return new NoRoomError(needed, why);
  }

  /** While it is restored. */
  static during(needed: number): NoRoomError {
    return new NoRoomError(needed, 'The disk filled up during the test, so it was ended.');
  }
}

function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / MEGABYTE).toLocaleString('en-US')} MB`;
}

/** Returns what an error says of the copy. `needed` is the room that the drill needs. @throws any other error */
export function findingOf(error: unknown, needed: number): DrillFinding {
  if (isNoSpace(error) || errorCode(error) === 'SQLITE_FULL')
    return findingOf(NoRoomError.during(needed), needed);
  const found = (outcome: DrillFinding['outcome'], sentence: string): DrillFinding => ({
    outcome,
    sentence,
    restored: null,
    needed_bytes: null,
  });
  if (error instanceof NoRoomError) return { ...found('no_room', error.message), needed_bytes: error.needed };
  if (error instanceof InvalidCopyError) return found('damaged', error.message);
  if (error instanceof DumpError)
    return found(
      'damaged',
      `The records of the copy are damaged: ${error.message} Check the copy: what is damaged is sent again.`,
    );
  if (error instanceof CopyError) return found('unreachable', error.message);
  throw error;
}
