import type { EventType } from '../../shared/event.ts';
import type { SourceState } from '../../shared/source.ts';
import type { StudyStatus } from '../../shared/study.ts';
import { DumpedBatches } from './dumpedBatches.ts';
import { DumpedLedger } from './dumpedLedger.ts';
import { DumpError } from './dumpFile.ts';
import { NumberTable } from './numberTable.ts';

/** What later lines are held against of a source, and what they must come to. */
export interface DumpedSource {
  key: number;
  id: string;
  url: string;
  line: number;
  /** What its line says. */
  said: { revision: number; last_sha256: string | null; last_event_type: EventType | null };
  /** What the lines after it say. */
  found: { revision: number; last_sha256: string | null; last_event_type: EventType | null };
}

/** The state that a source has after the node's own last event; null stands for none. */
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

/** What is known of the lines of a dump so far: what later ones may name, and no more. */
export class DumpedArchive {
  readonly ledger = new DumpedLedger();
  readonly batches = new DumpedBatches();
  readonly nodes = new Set<string>();
  readonly studies = new Map<string, StudyStatus>();
  readonly packs = new Set<string>();
  /** The item of each comment. */
  readonly comments = new Map<string, string>();
  readonly sources = new Map<number, DumpedSource>();
  readonly sourceKeys = new Map<string, number>();
  readonly rounds = new Set<number>();
  /** The source of each retrieval. */
  readonly retrievals = new NumberTable();
  events = 0;
  /** Damages that last, with their objects. */
  readonly damages = new Map<number, string>();

  source(key: number | undefined, line: number): DumpedSource {
    const source = key === undefined ? undefined : this.sources.get(key);
    if (!source) throw new DumpError('it names a source that is not before it.', line);
    return source;
  }

  /** Called at the end: what was said of sources is what their own retrievals, events and revisions come to. */
  requireSourceStates(): void {
    for (const { line, said, found } of this.sources.values()) {
      if (said.revision !== found.revision)
        throw new DumpError('its revision is not the newest one of this source.', line);
      if (said.last_sha256 !== found.last_sha256)
        throw new DumpError('its last_sha256 is not the one that its last retrieval brought.', line);
      if (said.last_event_type !== found.last_event_type)
        throw new DumpError('its last_event_type is not that of its last event.', line);
    }
  }
}

/** @throws DumpError where a condition of a line does not hold. */
export function requireThat(condition: boolean, sentence: string, line: number): asserts condition {
  if (!condition) throw new DumpError(sentence, line);
}
