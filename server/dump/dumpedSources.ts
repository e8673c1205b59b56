import type { z } from 'zod';
import { SELF } from '../../shared/event.ts';
import { recordedSource } from '../collection/sources/sourceRevisions.ts';
import { sourceIdOf } from '../collection/sources/sources.ts';
import { fingerprintOf } from '../ledger/entry.ts';
import { rulesDigest } from '../store/sqlite/collection/eventNoise.ts';
import { type DumpedArchive, type DumpedSource, requireThat, stateAfter } from './dumpedArchive.ts';
import type { oldRetrievalLine, sourceLine } from './lineSchemas.ts';

type SourceLine = z.output<typeof sourceLine>;

/** What the owner said of a source must be what its newest revision recorded; how it stands must be possible. */
export function checkSourceLine(archive: DumpedArchive, source: SourceLine, line: number): void {
  const { key, id, url, revision, noise_rules, rules_digest, last_sha256, last_event_type } = source;
  requireThat(id === sourceIdOf(url), 'its id is not that of its address.', line);
  requireThat(
    !archive.sources.has(key) && !archive.sourceKeys.has(id),
    'there is such a source already.',
    line,
  );
  const type = archive.ledger.typeOf(revision);
  requireThat(
    (type === 'source.added' || type === 'source.changed') &&
      archive.ledger.digestOf(revision) === fingerprintOf(recordOf(source)),
    `it was altered: it is not what entry ${revision} recorded.`,
    line,
  );
  requireThat(
    (rules_digest ?? null) === rulesDigest(noise_rules ?? []),
    'its rules_digest is not that of its noise_rules.',
    line,
  );
  checkStanding(source, line);
  archive.sources.set(key, {
    key,
    id,
    url,
    line,
    said: { revision, last_sha256, last_event_type },
    found: { revision: 0, last_sha256: null, last_event_type: null },
  });
  archive.sourceKeys.set(id, key);
}

function recordOf({ header_names, noise_rules, ignore_robots, paused, removed, ...said }: SourceLine) {
  return recordedSource({
    ...said,
    headers: Object.fromEntries(header_names.map((name) => [name, ''])),
    noise_rules: noise_rules ?? [],
    ignore_robots: ignore_robots === 1,
    paused: paused === 1,
    removed: removed === 1,
    // Neither recorded nor dumped.
    allow_private: null,
  });
}

function checkStanding(source: SourceLine, line: number): void {
  const { state, last_event_type, failures, consecutive, failing_since } = source;
  requireThat(state === stateAfter(last_event_type), 'its state is not the one after its last event.', line);
  requireThat(
    failures <= consecutive && (consecutive === 0) === (failing_since === null),
    'its failures contradict each other.',
    line,
  );
}

/** Holds a retrieval against its source, and remembers it for the lines that name it. */
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
  requireThat(round === null || archive.rounds.has(round), 'its round is not before it.', line);
  requireThat(
    sha256 === null ? bytes === null : bytes !== null || sha256 === source.found.last_sha256,
    'it brought no bytes, or names bytes that nothing before it brought.',
    line,
  );
  if (observer === SELF && error === null && sha256 !== null) source.found.last_sha256 = sha256;
  archive.retrievals.append(id, source.key);
}
