import type { Finding, ObjectPassage } from '../../shared/findings/finding.ts';
import { Problem } from '../../shared/problems.ts';
import type { Evidence } from '../../shared/proof/evidence.ts';
import { MAX_SEEN_BYTES } from '../../shared/proof/passage.ts';
import { canonicalText } from '../../shared/values/canonicalJson.ts';
import type { Passages } from '../collection/derived/passages/passages.ts';
import { findingById, recordOfFinding, requireNotSealed } from '../findings/findings.ts';
import { sealedEntryOf } from '../findings/sealed.ts';
import { selectValue } from '../store/sqlite/engine/queries.ts';
import { type Reader, requireReadable } from '../withholding/withholding.ts';
import { collectEventEvidence, type EvidenceServices } from './eventEvidence.ts';
import { collectPackEvidence } from './packEvidence.ts';
import { proveAtHead, proveEntry } from './proveEntry.ts';
import { sealed } from './seal.ts';

export interface FindingEvidenceServices extends EvidenceServices {
  passages: Pick<Passages, 'place' | 'isSeen'>;
  /** The findings whose words were seen in their bytes. Neither changes, and looking takes up to a second in large texts. */
  seen: Set<string>;
}

/**
 * Collects the evidence of a quoted passage for a reader: the finding, and the event or pack that the quoted bytes came with.
 *
 * @throws Problem `not_found`, `finding_sealed`, `no_passage`; `withheld`, `released` if the reader may not read the bytes; the errors of
 * `Checkpoints.sign`
 */
export async function findingEvidence(
  services: FindingEvidenceServices,
  id: string,
  reader: Reader,
): Promise<Evidence> {
  const { store, checkpoints } = services;
  const finding = findingById(store.read, id);
  if (!finding) {
    requireNotSealed(store.read, id);
    throw new Problem('not_found', `There is no finding ${id}.`);
  }
  const { sha256 } = finding.passage ?? {};
  if (!finding.passage || !sha256)
    throw new Problem('no_passage', 'It quotes no object. Use the evidence file of what it is about.');
  const passage = { ...finding.passage, sha256 };
  requireReadable(store.read, sha256, reader);
  await requireInText(services, passage);
  const base = await collectOrigin(services, finding, sha256, reader);
  const { ledger_entry } = finding;
  const record = canonicalText(recordOfFinding(finding));
  const sealEntry = sealedEntryOf(store.read, id);
  const salt = finding.sealed?.salt;
  const seal =
    sealEntry !== undefined && salt ? await proveEntry(store, checkpoints, sealEntry, record) : undefined;
  const evidence: Omit<Evidence, 'seal'> = {
    ...base,
    format: 'strongroom-evidence@3',
    finding: await proveAtHead(store, checkpoints, ledger_entry, record),
    ...(seal &&
      salt && {
        sealed: { ...seal.recorded, witnesses: seal.witnesses, timestamps: seal.timestamps, salt },
      }),
  };
  if (!services.seen.has(id)) await requireSeen(services, evidence, passage);
  services.seen.add(id);
  // The bytes may have been withheld meanwhile.
  requireReadable(store.read, sha256, reader);
  return sealed(evidence, checkpoints);
}

/** A quotation of older versions, and one that was handed in, was not placed when it was recorded. */
async function requireInText({ passages }: FindingEvidenceServices, passage: ObjectPassage): Promise<void> {
  if (passage.derived) return;
  const placed = await passages.place(passage, 'normal');
  if (!placed?.derived) throw notInText();
}

function notInText(): Problem {
  return new Problem(
    'no_passage',
    'The text of the object does not have the quoted words at one place, so there is nothing to prove.',
  );
}

/** Collects the evidence of the event that brought the quoted bytes, or of the pack that has them. */
function collectOrigin(
  services: FindingEvidenceServices,
  { target }: Finding,
  sha256: string,
  reader: Reader,
): Promise<Omit<Evidence, 'seal'>> {
  const { read } = services.store;
  if (target.kind === 'pack') return collectPackEvidence(services, target.id, reader);
  const event = eventWith(read, { sha256, target: target.kind === 'event' ? target.id : null });
  if (event !== undefined) return collectEventEvidence(services, String(event), reader);
  if (target.kind === 'event') return collectEventEvidence(services, target.id, reader);
  const pack = packWith(read, { sha256 });
  if (pack !== undefined) return collectPackEvidence(services, pack, reader);
  throw new Problem('no_passage', 'No event and no pack of this archive came with the quoted bytes.');
}

/** The event that a finding is about if it brought the object, else the first that did: of its source, or of any. */
const eventWith = selectValue<number, [values: { sha256: string; target: string | null }]>(`
  SELECT e.id FROM events e WHERE e.sha256 = @sha256 AND (@target IS NULL OR e.source_key =
    (SELECT t.source_key FROM events t WHERE t.id = CAST(@target AS INTEGER)))
  ORDER BY e.id <> coalesce(CAST(@target AS INTEGER), 0), e.id LIMIT 1`);

const packWith = selectValue<string, [values: { sha256: string }]>(`
  SELECT p.id FROM pack_files f JOIN packs p ON p.ledger_entry = f.pack WHERE f.sha256 = @sha256
  ORDER BY p.ledger_entry LIMIT 1`);

/** An evidence file whose own check would not find the words is not made. */
async function requireSeen(
  { passages }: FindingEvidenceServices,
  { files }: Pick<Evidence, 'files'>,
  passage: ObjectPassage,
): Promise<void> {
  const file = files.find(({ sha256 }) => sha256 === passage.sha256);
  if (!file?.content || file.bytes > MAX_SEEN_BYTES) return;
  const isSeen = await passages.isSeen(passage, Buffer.from(file.content, 'base64'), file.media_type);
  if (isSeen === undefined)
    throw new Problem(
      'no_passage',
      'The quoted words could not be looked for in the bytes within the time and memory there is for it.',
    );
  if (!isSeen) throw notInText();
}
