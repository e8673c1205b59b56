import { inQuotes } from '../../values/quotes.ts';
import type { ProofCrypto } from '../crypto/algorithms.ts';
import { fromBase64, isSameBytes, toBase64, utf8 } from '../crypto/bytes.ts';
import {
  countLines,
  lineKeyOf,
  linesByKey,
  noteBody,
  openCheckpoint,
  openCosignature,
  ProofError,
  parseCheckpoint,
  rawKeyOf,
} from '../ledger/signedNote.ts';
import { type VerifiedTimestamp, verifyTimestamp } from '../ledger/timestamp.ts';
import { rootFromLeaf } from '../ledger/tree.ts';
import { shownKey, shownKeyName } from '../words.ts';
import {
  canonicalOf,
  type Evidence,
  type EvidenceClaim,
  judge,
  type ProvenEntry,
  requireThat,
  sha256,
  stated,
} from './evidence.ts';

/*
 * What proves an entry of the ledger in an evidence file: its hash, its place under the checkpoints, the lines of witnesses,
 * and timestamps.
 */

/** What is known of a time that a node states. */
export const OWN_CLOCK = 'It is from the node’s clock.';
export const NOT_LATER = 'Timestamps and witnesses only say by when it was there.';

type ClaimIds = EvidenceClaim['id'];

export function checkEntry(
  id: ClaimIds,
  name: string,
  { entry }: ProvenEntry,
  crypto: ProofCrypto,
): EvidenceClaim {
  return judge(id, name, 'Its hash is the SHA-256 of the rest of it.', () => {
    const { hash, ...unsealed } = entry;
    requireThat(sha256(canonicalOf(unsealed), crypto) === hash, 'The ledger entry was altered.');
  });
}

function entriesOf(size: string): string {
  return size === '1' ? '1 entry' : `${size} entries`;
}

type Proven = Pick<Evidence, 'recorded' | 'key' | 'witnesses'>;

/** Each checkpoint: its signature, the entry in it, and the lines of witnesses. */
export function checkCheckpoints({ recorded, key, witnesses }: Proven, crypto: ProofCrypto): EvidenceClaim[] {
  const sizes = recorded.proofs.map(({ checkpoint }) => sizeIn(checkpoint));
  const named = Map.groupBy(witnesses, cosignerOf);
  const seen = new Set<string>();
  const claims = recorded.proofs.flatMap(({ checkpoint }, index) => {
    const size = sizes[index] ?? '';
    const isSigned = judge(
      'checkpoint',
      `The node signed its ledger of ${entriesOf(size)}.`,
      'Its Ed25519 signature is over this checkpoint.',
      () => {
        requireSigned(checkpoint, { key, witnesses }, crypto);
        requireThat(sizes.indexOf(size) === index, 'It is there twice.');
      },
    );
    const isIncluded = judge(
      'inclusion',
      `The entry ${recorded.entry.seq} is in that ledger of ${entriesOf(size)}.`,
      'The Merkle proof leads from the entry to the root in the checkpoint.',
      () => requireIncluded(recorded, index, key, crypto),
    );
    const lines = linesByKey(checkpoint);
    const cosigning = witnesses.filter((witness) => lines.has(lineKeyOf(witness)));
    for (const witness of cosigning) seen.add(witness);
    const cosigned = [...Map.groupBy(cosigning, cosignerOf)].map(([cosigner, names]) =>
      checkCosignature(
        { body: noteBody(checkpoint), lines, names, known: named.get(cosigner) },
        size,
        key,
        crypto,
      ),
    );
    return [isSigned, isIncluded, ...cosigned];
  });
  // The keys of those that signed nothing would be shown beside the others.
  const idle = witnesses.filter((witness) => !seen.has(witness));
  return [...claims, ...idle.map(idleWitness)];
}

function sizeIn(checkpoint: string): string {
  return checkpoint.split('\n', 2)[1] ?? '';
}

/**
 * What tells a witness from others: its key. Whoever has a key can sign under any name with it, and the name of a witness stays
 * when it gets another key.
 */
function cosignerOf(witness: string): string {
  return rawKeyOf(witness) ?? witness;
}

function idleWitness(witness: string): EvidenceClaim {
  const name = `The witness ${shownKeyName(witness)} cosigned the ledger.`;
  return { id: 'witness', name, state: 'fails', detail: 'No checkpoint in this file has a line of it.' };
}

/** @throws ProofError, RangeError if the node did not sign it, or somebody else did whose key is not known */
function requireSigned(
  checkpoint: string,
  { key, witnesses }: Pick<Proven, 'key' | 'witnesses'>,
  crypto: ProofCrypto,
): void {
  openCheckpoint(checkpoint, key, crypto);
  const lines = linesByKey(checkpoint);
  const known = witnesses.filter((witness) => lines.has(lineKeyOf(witness)));
  requireThat(
    countLines(checkpoint) === known.length + 1,
    'The checkpoint has a signature line from an unknown key.',
  );
}

/** @throws ProofError, RangeError */
function requireIncluded(
  { entry, proofs }: ProvenEntry,
  index: number,
  key: string,
  crypto: ProofCrypto,
): void {
  const proof = proofs[index];
  if (!proof) throw new ProofError('There is no proof for it.');
  const { size, root } = openCheckpoint(proof.checkpoint, key, crypto);
  const computed = rootFromLeaf(canonicalOf(entry), { index: entry.seq - 1, size }, proof.hashes, crypto);
  requireThat(isSameBytes(computed, root), 'The entry or its proof was altered: they lead to another root.');
}

/** What a checkpoint has of one witness. */
interface Cosigned {
  body: string;
  lines: ReturnType<typeof linesByKey>;
  /** The verifier keys with lines: it is one witness under all of these names. */
  names: readonly string[];
  /** All verifier keys with its key in the file. */
  known: readonly string[] | undefined;
}

function checkCosignature(
  { body, lines, names, known }: Cosigned,
  size: string,
  key: string,
  crypto: ProofCrypto,
): EvidenceClaim {
  const [own = ''] = names;
  // On each checkpoint, it has the name that is first in the file, so that readers see one witness.
  const [first = own, ...others] = known ?? names;
  let at = 0;
  const judged = judge(
    'cosignature',
    `The witness ${shownKeyName(first)} cosigned the ledger of ${entriesOf(size)}.`,
    '',
    () => {
      requireThat(cosignerOf(own) !== rawKeyOf(key), 'Its key is that of the node itself.');
      at = Math.max(
        ...names.map((witness) => {
          const line = lines.get(lineKeyOf(witness)) ?? [];
          return openCosignature(`${body}\n${line.join('\n')}\n`, witness, crypto) ?? 0;
        }),
      );
    },
  );
  if (judged.state !== 'holds') return judged;
  const also = others.length > 0 ? ` It is the same witness as ${others.map(shownKeyName).join(', ')}.` : '';
  const detail = `It states that it did so at ${new Date(at).toISOString()}, after checking that this ledger continues the previous one.${also} Compare its key: ${shownKey(first)}`;
  return { ...judged, detail };
}

/** Each timestamp: that it is of a checkpoint with this entry, and valid. */
export function checkTimestamps(
  recorded: ProvenEntry,
  timestamps: Evidence['timestamps'],
  crypto: ProofCrypto,
  of: 'entry' | 'seal' = 'entry',
): EvidenceClaim[] {
  const bodies = new Set(recorded.proofs.map(({ checkpoint }) => noteBody(checkpoint)));
  const seen = new Map<string, string>();
  return timestamps.flatMap((timestamp) => checkTimestamp(timestamp, { of, bodies, seen }, crypto));
}

/**
 * @param bodies the texts of the checkpoints
 * @param seen the authority of each timestamp before, by what tells it from others
 */
function checkTimestamp(
  { authority, text, reply }: Evidence['timestamps'][number],
  { of, bodies, seen }: { of: 'entry' | 'seal'; bodies: ReadonlySet<string>; seen: Map<string, string> },
  crypto: ProofCrypto,
): EvidenceClaim[] {
  let found: VerifiedTimestamp | undefined;
  const intact = judge(
    'timestamp',
    `The timestamp of ${inQuotes(authority)} covers a checkpoint with this ${of}.`,
    'Its imprint is the SHA-256 of the checkpoint, and its signature matches the certificate that it contains. Only the node states from where it is.',
    () => {
      requireThat(bodies.has(text) && text !== '', 'It covers a checkpoint that is not in this file.');
      const verified = verifyTimestamp(fromBase64(reply), utf8(text), crypto);
      const id = `${verified.certificate} ${verified.serial}`;
      const other = seen.get(id);
      // Shown under two names, one timestamp would be taken for those of two authorities.
      requireThat(other === undefined, `It is the same as the timestamp of ${inQuotes(other ?? '')}.`);
      seen.set(id, authority);
      found = verified;
    },
  );
  if (!found) return [intact];
  const { at, signer, issuer } = found;
  const detail = `The authority ${inQuotes(signer)} states this by its own clock. Its certificate names ${inQuotes(issuer)} as the issuer. Check the certificate with openssl ts -verify -CAfile.`;
  return [intact, stated(`The ${of} existed before ${new Date(at).toISOString()}.`, detail)];
}

/**
 * Checks that everything in a file belongs to one ledger. The holder of a key can sign two ledgers and show them to different
 * people.
 * Checkpoints of different sizes are not compared; a proof between them is not in the file.
 */
export function checkOneLedger(all: readonly ProvenEntry[]): EvidenceClaim {
  return judge(
    'entry',
    'The entries and the checkpoints in this file are of one ledger.',
    'No two checkpoints of one size have two roots, and no two entries have one number or do not follow each other.',
    () => {
      const roots = new Map<number, string>();
      const hashes = new Map<number, string>();
      for (const { entry, proofs } of all) {
        requireThat(
          (hashes.get(entry.seq) ?? entry.hash) === entry.hash,
          `There are two entries ${entry.seq}.`,
        );
        hashes.set(entry.seq, entry.hash);
        for (const { checkpoint } of proofs) {
          const head = parseCheckpoint(noteBody(checkpoint));
          const root = head && toBase64(head.root);
          if (!head || root === undefined) continue;
          const isOne = (roots.get(head.size) ?? root) === root;
          requireThat(isOne, `Two checkpoints of ${entriesOf(String(head.size))} have two roots.`);
          roots.set(head.size, root);
        }
      }
      for (const { entry } of all) {
        const before = hashes.get(entry.seq - 1) ?? entry.prev;
        requireThat(before === entry.prev, `The entry ${entry.seq} does not follow the one before it.`);
      }
    },
  );
}

/** An entry besides that of the record: its hash, and each of its proofs, of which there must be one. */
export function checkOtherEntry(
  id: ClaimIds,
  of: string,
  proven: ProvenEntry,
  { key, witnesses }: Pick<Evidence, 'key' | 'witnesses'>,
  crypto: ProofCrypto,
): EvidenceClaim[] {
  return [
    checkEntry(id, `The entry of the ${of} is intact.`, proven, crypto),
    judge(
      id,
      `The entry of the ${of} is in the signed ledger.`,
      'The Merkle proof leads to the root in the checkpoint.',
      () => {
        requireIncluded(proven, 0, key, crypto);
        for (const [index, { checkpoint }] of proven.proofs.entries()) {
          requireSigned(checkpoint, { key, witnesses }, crypto);
          requireIncluded(proven, index, key, crypto);
        }
      },
    ),
  ];
}
