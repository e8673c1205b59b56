import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Problem } from '../../shared/problems.ts';
import { BagProofs, objectIn, UNSIGNED_BAG, unprovenInBag } from '../../shared/proof/bagProofs.ts';
import { isPackZip, packIn } from '../../shared/proof/names.ts';
import { createDigester } from '../archive/packs/bag/bagCheck.ts';
import { INFO_FILE, MANIFEST_FILE, SEAL_FILE } from '../archive/packs/bag/tagFiles.ts';
import { nodeCrypto } from '../ledger/checkpoint.ts';
import { type BagSource, namesOf, openPackFileBag } from './openBag.ts';
import type { VerifyContext } from './plainFiles.ts';
import { type Finding, finding, provenFinding } from './report.ts';
import { verifyBag } from './verifyBag.ts';
import { bytesOf } from './verifyProofFile.ts';

/** A pack file has at most 50 MiB of data, and its tag files. */
const MAX_PACK_FILE_BYTES = 134_217_728;

/**
 * Verifies the files in a bag that can be verified by themselves: evidence files, pack files, proofs and timestamps, and the
 * bag of a case by its seal. Manifests prove nothing: someone who changes a file can write them again.
 */
export class BagContents {
  readonly #bag: BagSource;
  readonly #proofs: BagProofs;
  readonly #key: string | undefined;
  #isIntact = true;
  #isSigned = true;

  constructor(bag: BagSource, { pages, key }: Pick<VerifyContext, 'pages' | 'key'>) {
    this.#bag = bag;
    this.#key = key;
    const files = {
      has: (name: string) => bag.files.has(name),
      read: async (name: string, most: number) => {
        const file = bag.files.get(name);
        return file && bytesOf(file.read(), most);
      },
    };
    this.#proofs = new BagProofs(files, nodeCrypto, { pages, names: namesOf(bag), key });
  }

  /** Returns what is found of a file that has the digest in the manifest. */
  async completed(found: Finding): Promise<Finding[]> {
    const name = found.path.slice(this.#bag.path.length + 1);
    const all = found.state === 'intact' ? await this.#verified(name, found) : [found];
    if (all.some(({ state }) => state !== 'intact' && state !== 'unsigned')) this.#isIntact = false;
    if (all.some(({ state }) => state === 'unsigned')) this.#isSigned = false;
    return all;
  }

  async #verified(name: string, found: Finding): Promise<Finding[]> {
    const file = this.#bag.files.get(name);
    if (!file) return [found];
    if (isPackZip(name)) return this.#pack(name, found, () => file.read());
    const digest = objectIn(name);
    if (digest !== undefined && digest !== found.sha256)
      return [{ ...found, state: 'changed', expected: digest, detail: 'not named by its digest' }];
    const proven = await this.#proofs.proofOf(name);
    if (proven !== undefined) return [provenFinding(found.path, proven, found)];
    return [{ ...found, detail: found.detail ?? unprovenInBag(name) ?? null }];
  }

  /** Verifies each file of a pack file in the bag. */
  async #pack(name: string, found: Finding, read: () => AsyncIterable<Uint8Array>): Promise<Finding[]> {
    const folder = await mkdtemp(join(tmpdir(), 'strongroom-verify-'));
    try {
      const file = join(folder, 'pack.zip');
      const bytes = await bytesOf(read(), MAX_PACK_FILE_BYTES);
      if (!bytes) return [{ ...found, state: 'changed', detail: 'too large for a pack file' }];
      await writeFile(file, bytes, { mode: 0o600 });
      const pack = await openPackFileBag(file, () => {});
      try {
        const all = [found];
        for await (const inside of verifyBag({ ...pack, path: found.path })) all.push(inside);
        const id = packIn(name);
        if (id !== undefined && pack.folderName !== id)
          all[0] = { ...found, state: 'changed', detail: `It is not the pack file of ${id}.` };
        return all;
      } finally {
        await pack.close();
      }
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      return [{ ...found, state: 'changed', detail: `${error.message} (${error.code})` }];
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Returns what is found of the bag as a whole. */
  async ofBag(): Promise<Finding[]> {
    const digests = await this.#digestsOf([INFO_FILE, MANIFEST_FILE]);
    const found = { digests, isIntact: this.#isIntact, isSigned: this.#isSigned };
    const { path } = this.#bag;
    const proven = await this.#proofs.ofCase(found);
    if (proven) return [provenFinding(path, proven, { against: SEAL_FILE })];
    if (!this.#isIntact) return [];
    const state = this.#key === undefined ? 'intact' : 'unsigned';
    return [finding(path, state, { against: 'its manifests', detail: UNSIGNED_BAG })];
  }

  /** The digests of what a seal covers. No manifest has to list these files. */
  async #digestsOf(names: readonly string[]): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    for (const name of names) {
      const { update, digests } = createDigester(['sha256']);
      const file = this.#bag.files.get(name);
      if (!file) continue;
      for await (const chunk of file.read()) update(chunk);
      found.set(name, digests().get('sha256') ?? '');
    }
    return found;
  }
}
