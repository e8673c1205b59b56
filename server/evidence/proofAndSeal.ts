import { createHash } from 'node:crypto';
import type { Evidence, EvidenceFile, EvidenceTimestamp, ProvenEntry } from '../../shared/proof/evidence.ts';
import { sealText } from '../../shared/proof/seal.ts';
import { noteBody } from '../../shared/proof/signedNote.ts';
import { canonicalText } from '../../shared/values/canonicalJson.ts';
import { nodeCrypto } from '../ledger/checkpoint.ts';
import type { Checkpoints } from '../ledger/checkpoints.ts';
import { entryText } from '../ledger/entry.ts';
import { proveInclusion } from '../ledger/prove.ts';
import { withCosignatures } from '../ledger/witness/cosignature.ts';
import { yieldToEventLoop } from '../runtime/background.ts';
import {
  cosignaturesOf,
  cosignedSizes,
  earliestTimestamps,
  entryAt,
  lastEntry,
} from '../store/sqlite/node/ledger.ts';
import type { Store } from '../store/store.ts';

/** What proves an entry: its proofs, the keys of the witnesses, and the earliest timestamp of each authority. */
export type EntryEvidence = Pick<Evidence, 'recorded' | 'witnesses' | 'timestamps'>;

/**
 * Collects what proves an entry of the ledger: a proof at the newest size, at the newest and the oldest that a witness
 * cosigned, and at each size that an authority stamped first.
 *
 * @param record the canonical JSON of what the entry recorded
 * @throws the errors of `Checkpoints.sign`
 */
export async function proveEntry(
  store: Store,
  checkpoints: Checkpoints,
  seq: number,
  record: string,
): Promise<EntryEvidence> {
  const { read } = store;
  const newest = lastEntry(read)?.seq ?? 0;
  const stamped = earliestTimestamps(read, seq);
  const origin = checkpoints.key.name;
  const sizes = new Set([newest, ...cosignedSizes(read, seq, origin), ...stamped.map(({ size }) => size)]);
  const witnesses = new Set<string>();
  const proofs: ProvenEntry['proofs'] = [];
  for (const size of sizes) {
    const { checkpoint, hashes, root } = await proofAt(store, checkpoints, seq, size);
    for (const { witness } of cosignaturesOf(read, { origin, size, root })) witnesses.add(witness);
    proofs.push({ checkpoint, hashes });
  }
  const bodies = new Set(proofs.map(({ checkpoint }) => noteBody(checkpoint)));
  const timestamps = stamped
    // After a restore the node has another name, so it cannot sign the text that was stamped before.
    .filter(({ text }) => bodies.has(text))
    .map(
      ({ authority, text, reply }): EvidenceTimestamp => ({
        authority,
        text,
        reply: reply.toString('base64'),
      }),
    );
  return {
    recorded: { entry: requireEntry(store, seq), record, proofs },
    witnesses: [...witnesses],
    timestamps,
  };
}

/** Proves another entry at the newest size. @throws the errors of `Checkpoints.sign` */
export async function proveAtHead(
  store: Store,
  checkpoints: Checkpoints,
  seq: number,
  record: string,
): Promise<ProvenEntry> {
  const { checkpoint, hashes } = await proofAt(store, checkpoints, seq, lastEntry(store.read)?.seq ?? 0);
  return { entry: requireEntry(store, seq), record, proofs: [{ checkpoint, hashes }] };
}

async function proofAt(
  store: Store,
  checkpoints: Checkpoints,
  seq: number,
  size: number,
): Promise<{ checkpoint: string; hashes: string[]; root: string }> {
  const proof = proveInclusion(store, seq, size);
  const root = Buffer.from(proof.root, 'base64');
  const note = await checkpoints.sign({ size, root });
  const hex = root.toString('hex');
  return { checkpoint: withCosignatures(store.read, note, size, hex), hashes: proof.hashes, root: hex };
}

function requireEntry({ read }: Pick<Store, 'read'>, seq: number): ProvenEntry['entry'] {
  const entry = entryAt(read, seq);
  if (!entry) throw new Error(`The ledger has no entry ${seq}.`);
  // Only the members that the hash is over, whatever else a row may hold.
  return JSON.parse(entryText(entry)) as ProvenEntry['entry'];
}

/** Signs the digest of each part, so that a change of any part is noticed, also where no proof covers it. */
export async function sealed(evidence: Omit<Evidence, 'seal'>, checkpoints: Checkpoints): Promise<Evidence> {
  const hash = createHash('sha256');
  for (const piece of jsonOfFiles(evidence.files, canonicalText)) {
    hash.update(piece);
    await yieldToEventLoop();
  }
  const text = sealText(evidence, nodeCrypto, { files: hash.digest('hex') });
  const signature = checkpoints.signStatement(text);
  return { ...evidence, seal: signature === null ? null : { text, signature } };
}

/** Writing and hashing so many characters takes some milliseconds. All the bytes at once would take hundreds. */
const PIECE_CHARACTERS = 1_048_576;
/** No string contains it, because its quotes would be escaped there. */
const CONTENT = '"content":""';

/** Yields the JSON of files in pieces. @param write writes a file without its bytes as JSON */
export function* jsonOfFiles(
  files: readonly EvidenceFile[],
  write: (file: EvidenceFile) => string,
): Generator<string> {
  let separator = '[';
  for (const { content, ...file } of files) {
    yield separator;
    separator = ',';
    if (content === null) {
      yield write({ ...file, content });
      continue;
    }
    const text = write({ ...file, content: '' });
    const at = text.indexOf(CONTENT) + CONTENT.length - 1;
    yield text.slice(0, at);
    for (let from = 0; from < content.length; from += PIECE_CHARACTERS)
      yield content.slice(from, from + PIECE_CHARACTERS);
    yield text.slice(at);
  }
  yield files.length === 0 ? '[]' : ']';
}
