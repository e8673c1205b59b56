import type { Diff } from '../../shared/collection/diff.ts';
import type { PageCapture } from '../../shared/collection/page.ts';
import { Problem } from '../../shared/problems.ts';
import type { Evidence, EvidenceFile, ProvenEntry } from '../../shared/proof/evidence.ts';
import { canonicalText } from '../../shared/values/canonicalJson.ts';
import { proveRetrieval } from '../collection/record/proveRetrieval.ts';
import type { Checkpoints } from '../ledger/checkpoints.ts';
import { pageById } from '../store/sqlite/collection/pages.ts';
import { type RecordedEventRow, recordedEvent } from '../store/sqlite/collection/timeline/events.ts';
import { blobBytes } from '../store/sqlite/node/blobs.ts';
import { observationsOfEvent } from '../store/sqlite/node/peers.ts';
import type { Store } from '../store/store.ts';
import type { Reader } from '../withholding/withholding.ts';
import { withContent } from './evidenceFiles.ts';
import { proveAtHead, proveEntry } from './proveEntry.ts';
import { sealed } from './seal.ts';

export interface EvidenceServices {
  store: Store;
  checkpoints: Checkpoints;
  /** Returns the diff of an event. */
  diffOf: (id: string, reader: Reader) => Promise<Diff>;
}

/** Collects the evidence of an event for a reader. @throws Problem `not_found`; the errors of `Checkpoints.sign` */
export async function eventEvidence(
  services: EvidenceServices,
  id: string,
  reader: Reader,
): Promise<Evidence> {
  return sealed(await collectEventEvidence(services, id, reader), services.checkpoints);
}

/** Like `eventEvidence`, without the seal. */
export async function collectEventEvidence(
  { store, checkpoints, diffOf }: EvidenceServices,
  id: string,
  reader: Reader,
): Promise<Omit<Evidence, 'seal'>> {
  const event = /^[1-9]\d{0,14}$/.test(id) ? recordedEvent(store.read, Number(id)) : undefined;
  if (!event) throw new Problem('not_found', `There is no event ${id}.`);
  const { ledger_entry, ...record } = event;
  const proven = await proveEntry(store, checkpoints, ledger_entry, canonicalText(record));
  const { retrieval, mediaType } = await provenRetrieval(store, checkpoints, event.retrieval);
  const page = event.page ? pageById(store.read, event.page) : undefined;
  const seen_by = await provenObservations(store, checkpoints, event.id);
  return {
    format:
      seen_by.length > 0 ? 'strongroom-evidence@4' : page ? 'strongroom-evidence@2' : 'strongroom-evidence@1',
    kind: 'event',
    made_at: store.instant(),
    key: checkpoints.key.verifierKey,
    ...proven,
    retrieval,
    ...(page && { page: await provenPage(store, checkpoints, page) }),
    ...(seen_by.length > 0 && { seen_by }),
    files: await withContent(
      store,
      // What a browser saw is kept as text, whatever the type of the document was.
      filesOf(store, event, page ? 'text/plain; charset=utf-8' : mediaType, page?.picture),
      reader,
    ),
    diff:
      event.sha256 !== null && event.previous_sha256 !== null
        ? await diffOrNull(() => diffOf(id, reader))
        : null,
  };
}

function filesOf(
  { read }: Pick<Store, 'read'>,
  { sha256, previous_sha256 }: RecordedEventRow,
  mediaType: string,
  picture: string | undefined,
): Omit<EvidenceFile, 'content'>[] {
  const versions = [
    { name: 'after', sha256, media_type: mediaType },
    { name: 'before', sha256: previous_sha256, media_type: mediaType },
    { name: 'picture', sha256: picture ?? null, media_type: 'image/png' },
  ];
  return versions.flatMap(({ name, sha256: digest, media_type }) =>
    digest === null ? [] : [{ name, sha256: digest, bytes: blobBytes(read, digest) ?? 0, media_type }],
  );
}

function provenPage(
  store: Store,
  checkpoints: Checkpoints,
  { ledger_entry, ...record }: PageCapture,
): Promise<ProvenEntry> {
  return proveAtHead(store, checkpoints, ledger_entry, canonicalText(record));
}

/** What peers signed that fetched the address of an event at the same time. */
function provenObservations(store: Store, checkpoints: Checkpoints, event: number): Promise<ProvenEntry[]> {
  return Promise.all(
    observationsOfEvent(store.read, event).map(({ ledger_entry, record }) =>
      proveAtHead(store, checkpoints, ledger_entry, canonicalText(record)),
    ),
  );
}

async function provenRetrieval(
  store: Store,
  checkpoints: Checkpoints,
  number: number,
): Promise<{ retrieval: Evidence['retrieval']; mediaType: string }> {
  try {
    const { retrieval, ledger_entry, first, last, root, hashes } = await proveRetrieval(
      store,
      String(number),
    );
    const record = canonicalText({ first, last, root });
    const proven = await proveAtHead(store, checkpoints, ledger_entry, record);
    return {
      retrieval: { ...proven, retrieval: canonicalText(retrieval), hashes },
      mediaType: retrieval.content_type ?? 'application/octet-stream',
    };
  } catch (error) {
    // No ledger entry covers a retrieval that another program inserted. The evidence file omits it.
    if (error instanceof Problem && error.code === 'not_found')
      return { retrieval: null, mediaType: 'application/octet-stream' };
    throw error;
  }
}

/** The diff is derived and may be impossible, or withheld. The evidence does not depend on it. */
async function diffOrNull(diffOf: () => Promise<Diff>): Promise<Diff | null> {
  try {
    return await diffOf();
  } catch (error) {
    if (error instanceof Problem) return null;
    throw error;
  }
}
