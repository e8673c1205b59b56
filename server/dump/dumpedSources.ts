import type { z } from 'zod';
import { SELF } from '../../shared/collection/event.ts';
import { recordedSource } from '../collection/sources/sourceRevisions.ts';
import { sourceIdOf } from '../collection/sources/sources.ts';
import { fingerprintOf } from '../ledger/entry.ts';
import { rulesDigest } from '../store/sqlite/collection/timeline/eventNoise.ts';
import { type DumpedArchive, type DumpedSource, requireThat, stateAfter } from './dumpedArchive.ts';
import type { oldRetrievalLine, sourceLine } from './sourceLineSchemas.ts';

type SourceLine = z.output<typeof sourceLine>;

/** Checks the line of a source: its settings must be those of its newest revision, and its state must be possible. */
export function checkSourceLine(archive: DumpedArchive, source: SourceLine, line: number): void {
  const { key, id, url, revision, noise_rules, rules_digest, last_sha256, last_event_type } = source;
  requireThat(id === sourceIdOf(url), 'its id is not that of its URL.', line);
  requireThat(
    !archive.sources.has(key) && !archive.sourceKeys.has(id),
    'an earlier line defines this source.',
    line,
  );
  const type = archive.ledger.typeOf(revision);
  requireThat(
    (type === 'source.added' || type === 'source.changed') &&
      archive.ledger.digestOf(revision) === fingerprintOf(recordOf(source)),
    `it was altered: it differs from what entry ${revision} recorded.`,
    line,
  );
  requireThat(
    (rules_digest ?? null) === rulesDigest(noise_rules ?? []),
    'its rules_digest is not that of its noise_rules.',
    line,
  );
  checkState(source, line);
  archive.sources.set(key, {
    key,
    id,
    url,
    line,
    declared: { revision, last_sha256, last_event_type },
    found: { revision: 0, last_sha256: null, last_event_type: null },
  });
  archive.sourceKeys.set(id, key);
}

function recordOf({ header_names, noise_rules, ignore_robots, paused, removed, ...settings }: SourceLine) {
  return recordedSource({
    ...settings,
    headers: Object.fromEntries(header_names.map((name) => [name, ''])),
    noise_rules: noise_rules ?? [],
    every: settings.every ?? null,
    time_zone: settings.time_zone ?? null,
    active_hours: settings.active_hours ?? null,
    follow: settings.follow ?? null,
    found_in: settings.found_in ?? null,
    ignore_robots: ignore_robots === 1,
    paused: paused === 1,
    removed: removed === 1,
    // Neither in the ledger nor in the dump.
    allow_private: null,
  });
}

function checkState(source: SourceLine, line: number): void {
  const { state, last_event_type, failures, consecutive, failing_since } = source;
  requireThat(state === stateAfter(last_event_type), 'its state does not match its last event.', line);
  requireThat(
    failures <= consecutive && (consecutive === 0) === (failing_since === null),
    'its failures contradict each other.',
    line,
  );
}

/** Checks a retrieval against its source, and keeps its number for later lines. */
export function addRetrieval(
  archive: DumpedArchive,
  source: DumpedSource,
  retrieval: Pick<
    z.output<typeof oldRetrievalLine>,
    'id' | 'round' | 'url' | 'observer' | 'error' | 'sha256' | 'bytes'
  >,
  line: number,
): void {
  const { id, round, url, observer, error, sha256, bytes } = retrieval;
  requireThat(url === source.url, 'its url is not that of its source.', line);
  requireThat(round === null || archive.rounds.has(round), 'no earlier line defines its round.', line);
  requireThat(
    sha256 === null ? bytes === null : bytes !== null || sha256 === source.found.last_sha256,
    'its sha256 and its bytes do not fit together.',
    line,
  );
  if (observer === SELF && error === null && sha256 !== null) source.found.last_sha256 = sha256;
  archive.retrievals.append(id, source.key);
}
