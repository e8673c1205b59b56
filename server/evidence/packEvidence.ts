import type { PackRecord } from '../../shared/archive/pack.ts';
import { Problem } from '../../shared/problems.ts';
import type { Evidence } from '../../shared/proof/evidence.ts';
import { canonicalText } from '../../shared/values/canonicalJson.ts';
import { requirePack } from '../archive/packs/readPack.ts';
import { sha256Of } from '../ledger/entry.ts';
import { recordTexts } from '../store/sqlite/archive/packs.ts';
import type { Reader } from '../withholding/withholding.ts';
import type { EvidenceServices } from './eventEvidence.ts';
import { withContent } from './evidenceFiles.ts';
import { proveEntry } from './proveEntry.ts';
import { sealed } from './seal.ts';

/**
 * Collects the evidence of a pack for a reader. @throws Problem `not_found`, `blob_damaged`; the errors of
 * `Checkpoints.sign`
 */
export async function packEvidence(
  services: Pick<EvidenceServices, 'store' | 'checkpoints'>,
  id: string,
  reader: Reader,
): Promise<Evidence> {
  return sealed(await collectPackEvidence(services, id, reader), services.checkpoints);
}

/** Like `packEvidence`, without the seal. */
export async function collectPackEvidence(
  { store, checkpoints }: Pick<EvidenceServices, 'store' | 'checkpoints'>,
  id: string,
  reader: Reader,
): Promise<Omit<Evidence, 'seal'>> {
  const { ledger_entry, digest } = requirePack(store.read, id);
  const stored = recordTexts(store.read, [ledger_entry])[0]?.record ?? 'null';
  const record = JSON.parse(stored) as PackRecord;
  const text = sha256Of(stored) === digest ? stored : canonicalText(record);
  if (sha256Of(text) !== digest) throw new Problem('database_damaged', `The record of ${id} was altered.`);
  return {
    format: 'strongroom-evidence@1',
    kind: 'pack',
    made_at: store.instant(),
    key: checkpoints.key.verifierKey,
    ...(await proveEntry(store, checkpoints, ledger_entry, text)),
    retrieval: null,
    files: await withContent(
      store,
      record.files.map(({ path, sha256, bytes, media_type }) => ({ name: path, sha256, bytes, media_type })),
      reader,
    ),
    diff: null,
  };
}
