import { nodeKeyOf, privateKeyOfSeed, signCheckpoint } from '../../../server/ledger/checkpoint.ts';
import { consistencyPath } from '../../../server/ledger/prove.ts';
import { GrowingTree, leafHash } from '../../../server/ledger/tree.ts';

/** A log whose owner may rewrite it: it signs whatever tree it is given. */
export class ScriptedLog {
  readonly #key = nodeKeyOf('log.example/scripted', privateKeyOfSeed(Buffer.alloc(32, 7)));

  get key(): string {
    return this.#key.verifierKey;
  }

  checkpoint(leaves: readonly string[]): string {
    return signCheckpoint(this.#key, { size: leaves.length, root: rootOf(leaves, 0, leaves.length) });
  }

  /** The request by which a witness is asked to cosign the tree of these leaves, after it cosigned the first `old`. */
  request(leaves: readonly string[], old: number): string {
    const path = consistencyPath(old, leaves.length, (from, to) => rootOf(leaves, from, to));
    const proof = path.map((hash) => `${hash.toString('base64')}\n`).join('');
    return `old ${old}\n${proof}\n${this.checkpoint(leaves)}`;
  }
}

function rootOf(leaves: readonly string[], from: number, to: number): Buffer {
  const tree = new GrowingTree();
  for (const leaf of leaves.slice(from, to)) tree.append(leafHash(leaf));
  return tree.root();
}

/** The first leaves of a history with this name. */
export function history(name: string, size: number): string[] {
  return Array.from({ length: size }, (_, index) => `${name} ${index}`);
}
