import type { StudyStatus } from '../../shared/archive/study.ts';
import type { EventType } from '../../shared/collection/event.ts';
import type { SourceState } from '../../shared/collection/source.ts';
import { DumpedBatches } from './dumpedBatches.ts';
import { DumpedLedger } from './dumpedLedger.ts';
import { DumpError } from './dumpFile.ts';
import { NumberTable } from './numberTable.ts';

/** A source of a dump, with the values that later lines must lead to. */
export interface DumpedSource {
  key: number;
  id: string;
  url: string;
  line: number;
  /** The values in the source's own line. */
  declared: { revision: number; last_sha256: string | null; last_event_type: EventType | null };
  /** The values that result from the lines after it. */
  found: { revision: number; last_sha256: string | null; last_event_type: EventType | null };
}

/** The state of a source by the last event that this node observed. */
const STATE_AFTER: Record<EventType | 'none', SourceState> = {
  none: 'new',
  first_seen: 'available',
  changed: 'available',
  recovered: 'available',
  unavailable: 'unavailable',
  disappeared: 'gone',
};

export function stateAfter(event: EventType | null): SourceState {
  return STATE_AFTER[event ?? 'none'];
}

/** What was read from a dump so far: only what later lines may refer to. */
export class DumpedArchive {
  readonly ledger = new DumpedLedger();
  readonly batches = new DumpedBatches();
  readonly nodes = new Set<string>();
  readonly studies = new Map<string, StudyStatus>();
  readonly packs = new Set<string>();
  /** The item of each comment. */
  readonly comments = new Map<string, string>();
  /** The target of each finding; undefined once it is superseded, and for a withdrawal. */
  readonly findings = new Map<string, string | undefined>();
  readonly cases = new Set<string>();
  readonly sources = new Map<number, DumpedSource>();
  readonly sourceKeys = new Map<string, number>();
  readonly rounds = new Set<number>();
  /** The source of each retrieval. */
  readonly retrievals = new NumberTable();
  events = 0;
  /** Damages without a restoration: the digest of the object by the number of the ledger entry. */
  readonly damages = new Map<number, string>();

  source(key: number | undefined, line: number): DumpedSource {
    const source = key === undefined ? undefined : this.sources.get(key);
    if (!source) throw new DumpError('it names a source that no earlier line defines.', line);
    return source;
  }

  /** Called at the end. The values in the line of each source must be those that its later lines lead to. */
  requireSourceStates(): void {
    for (const { line, declared, found } of this.sources.values()) {
      if (declared.revision !== found.revision)
        throw new DumpError('its revision is not the newest one of this source.', line);
      if (declared.last_sha256 !== found.last_sha256)
        throw new DumpError('its last_sha256 is not that of its last retrieval.', line);
      if (declared.last_event_type !== found.last_event_type)
        throw new DumpError('its last_event_type is not that of its last event.', line);
    }
  }
}

/** @throws DumpError if the condition is false */
export function requireThat(condition: boolean, sentence: string, line: number): asserts condition {
  if (!condition) throw new DumpError(sentence, line);
}
