import { sign } from 'node:crypto';
import { nodeCrypto, nodeKeyOf, privateKeyOfSeed, signCheckpoint } from '../../server/ledger/checkpoint.ts';
import { hashOf, sha256Of } from '../../server/ledger/entry.ts';
import { inclusionPath } from '../../server/ledger/prove.ts';
import { GrowingTree, leafHash } from '../../server/ledger/tree.ts';
import { type Cosigner, cosign } from '../../server/ledger/witness/cosignature.ts';
import type { LedgerEntry } from '../../shared/ledger/ledger.ts';
import {
  type EntryProof,
  type Evidence,
  formatOf,
  type ProvenEntry,
  sealText,
} from '../../shared/proof/evidence/evidence.ts';
import { noteBody } from '../../shared/proof/ledger/signedNote.ts';
import { canonicalText } from '../../shared/values/canonicalJson.ts';

export const MADE_AT = '2026-11-29T12:00:00.000Z';

/** A key, made of a number. */
export function keyOf(name: string, seed: number) {
  return nodeKeyOf(name, privateKeyOfSeed(new Uint8Array(32).fill(seed)));
}

/** The owner of a key, who signs whatever they like with it: any ledger, any checkpoint, any evidence. */
export class SigningOwner {
  readonly key = keyOf('owner.example', 7);
  readonly #entries: LedgerEntry[] = [];

  /** Appends an entry that records a text. */
  add(type: string, subject: string, record: string, at = MADE_AT, digest = sha256Of(record)): LedgerEntry {
    const prev = this.#entries.at(-1)?.hash ?? '0'.repeat(64);
    const unsealed = { seq: this.#entries.length + 1, at, type, subject, digest, prev };
    const entry = { ...unsealed, hash: hashOf(unsealed as LedgerEntry) } as LedgerEntry;
    this.#entries.push(entry);
    return entry;
  }

  /** Proves an entry in the ledger of this size, with the lines of witnesses. */
  prove({ seq }: LedgerEntry, size = this.#entries.length, witnesses: readonly Cosigner[] = []): EntryProof {
    const rangeRoot = (from: number, to: number) => {
      const tree = new GrowingTree();
      for (const entry of this.#entries.slice(from, to)) tree.append(leafHash(canonicalText(entry)));
      return tree.root();
    };
    const note = signCheckpoint(this.key, { size, root: rangeRoot(0, size) });
    return {
      checkpoint: note + witnesses.map((each) => cosign(each, noteBody(note), Date.parse(MADE_AT))).join(''),
      hashes: inclusionPath(seq - 1, size, rangeRoot).map((hash) => hash.toString('base64')),
    };
  }

  /** An entry with what it recorded, proven in the whole ledger. */
  proven(entry: LedgerEntry, record: string): ProvenEntry {
    return { entry, record, proofs: [this.prove(entry)] };
  }

  /** Seals evidence, as a node does. */
  seal(parts: Partial<Evidence> & Pick<Evidence, 'kind' | 'recorded'>): Evidence {
    const evidence = {
      format: formatOf(parts as Evidence),
      made_at: MADE_AT,
      key: this.key.verifierKey,
      witnesses: [],
      retrieval: null,
      timestamps: [],
      files: [],
      diff: null,
      ...parts,
    };
    const text = sealText(evidence, nodeCrypto);
    const signature = sign(null, Buffer.from(text), this.key.privateKey).toString('base64');
    return { ...evidence, seal: { text, signature } };
  }
}
