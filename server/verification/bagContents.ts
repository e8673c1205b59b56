import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MAX_RECORD_BYTES } from '../../shared/limits.ts';
import { Problem } from '../../shared/problems.ts';
import { checkCaseSeal, keyOfCaseSeal } from '../../shared/proof/caseSeal.ts';
import { checkTlogProof, parseTlogProof } from '../../shared/proof/tlogProof.ts';
import { CASE_FILE, INFO_FILE, MANIFEST_FILE, SEAL_FILE } from '../archive/packs/bag/tagFiles.ts';
import { nodeCrypto } from '../ledger/checkpoint.ts';
import { EVIDENCE_FILE, type VerifyContext } from './plainFiles.ts';
import { type Finding, finding, namedKeyClaims, proofFinding } from './report.ts';
import { type BagSource, openPackFileBag, verifyBag } from './verifyBag.ts';
import { bytesOf, timestampFinding, verifyEvidenceFile } from './verifyProofFile.ts';

/** A pack file has at most 50 MiB of data, and its tag files. */
const MAX_PACK_FILE_BYTES = 134_217_728;

/**
 * Verifies the files in a bag that can be verified by themselves: evidence files, pack files, proofs and timestamps, and the
 * bag of a case by its seal. Manifests prove nothing: someone who changes a file can write them again.
 */
export class BagContents {
  readonly #bag: BagSource;
  readonly #context: Pick<VerifyContext, 'pages' | 'key'>;
  readonly #digests = new Map<string, string>();
  #key: Promise<string | undefined> | undefined;
  #isIntact = true;

  constructor(bag: BagSource, context: Pick<VerifyContext, 'pages' | 'key'>) {
    this.#bag = bag;
    this.#context = context;
  }

  /** Returns what is found of a file that has the digest in the manifest. */
  async completed(found: Finding): Promise<Finding[]> {
    const name = found.path.slice(this.#bag.path.length + 1);
    if (found.sha256 !== null) this.#digests.set(name, found.sha256);
    const all = found.state === 'intact' ? await this.#verified(name, found) : [found];
    if (all.some(({ state }) => state !== 'intact' && state !== 'unsigned')) this.#isIntact = false;
    return all;
  }

  async #verified(name: string, found: Finding): Promise<Finding[]> {
    const file = this.#bag.files.get(name);
    if (!file) return [found];
    const read = () => file.read();
    if (EVIDENCE_FILE.test(name)) return [await this.#evidence(name, found, read)];
    if (name.endsWith('.pack.zip')) return this.#pack(name, found, read);
    if (name.endsWith('.tlog-proof')) return [await this.#proof(name, found)];
    if (name.endsWith('.tsr')) return [await this.#timestamp(name, found)];
    const [, digest] = /^data\/objects\/([0-9a-f]{64})$/.exec(name) ?? [];
    if (digest !== undefined && digest !== found.sha256)
      return [{ ...found, state: 'changed', expected: digest, detail: 'not named by its digest' }];
    return [found];
  }

  async #evidence(name: string, found: Finding, read: () => AsyncIterable<Uint8Array>): Promise<Finding> {
    const { pages, key: named } = this.#context;
    const verified = await verifyEvidenceFile(found.path, read, { pages: await pages(), key: named });
    const [, event, pack] = /^data\/evidence\/(?:event-(\d+)|(pk_\w+))\.evidence\.html$/.exec(name) ?? [];
    const subject = event === undefined ? pack && `pack ${pack}` : `event ${event}`;
    const isOther =
      subject !== undefined && verified.about !== undefined && verified.about.subject !== subject;
    if (verified.state !== 'intact') return verified;
    const altered = { ...verified, state: 'changed', verdict: 'altered' } as const;
    if (isOther) return { ...altered, detail: `It is not the evidence of ${subject}.` };
    const key = await this.#sealKey();
    if (key === undefined || verified.about?.key === key) return verified;
    return { ...altered, detail: 'It is signed by another key than the bag.' };
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
        const [, id] = /(pk_[0-9a-f]{20})\.pack\.zip$/.exec(name) ?? [];
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

  /** A proof lies beside the entry that it is of, and what the entry recorded. */
  async #proof(name: string, found: Finding): Promise<Finding> {
    const [, base = '', sealed] = /^(.*?)(\.sealed(?:\.cosigned|\.\d+)?)?\.tlog-proof$/.exec(name) ?? [];
    const entry = await this.#text(sealed ? `${base}.sealed.json` : `${base}.entry.json`);
    const record = await this.#bytes(`${base}.json`);
    const text = await this.#text(name);
    if (entry === undefined || text === undefined || !record)
      return finding(found.path, 'unknown', {
        sha256: found.sha256,
        detail: 'the entry that it proves, or its record, is not beside it',
      });
    const salt = sealed ? ((await this.#text(`${base}.salt`)) ?? '') : undefined;
    const key = await this.#sealKey();
    const claims = checkTlogProof(text, { entry, record, salt, key }, nodeCrypto);
    return proofFinding(found.path, 'tlog_proof', claims, { sha256: found.sha256, against: 'its entry' });
  }

  /** The stamped text lies beside the reply, and is that of the checkpoint in the proof beside it. */
  async #timestamp(name: string, found: Finding): Promise<Finding> {
    const base = name.slice(0, -'.tsr'.length);
    const [reply, text, proof] = [
      await this.#bytes(name),
      await this.#bytes(`${base}.txt`),
      await this.#text(`${base}.tlog-proof`),
    ];
    const verified = timestampFinding(found.path, reply ?? Buffer.alloc(0), text, `${base}.txt`);
    const isOfProof =
      proof === undefined || parseTlogProof(proof)?.checkpoint.startsWith(`${text?.toString()}\n— `);
    if (verified.state !== 'intact' || isOfProof) return verified;
    return { ...verified, state: 'changed', detail: 'It stamps another checkpoint than that of its proof.' };
  }

  /** Returns what is found of the bag of a case as a whole; nothing of other bags. */
  async ofCase(): Promise<Finding[]> {
    const note = await this.#text(SEAL_FILE);
    if (note === undefined && !this.#bag.files.has(CASE_FILE)) return [];
    const claims = checkCaseSeal(
      note,
      { info: this.#digests.get(INFO_FILE) ?? '', manifest: this.#digests.get(MANIFEST_FILE) ?? '' },
      nodeCrypto,
    );
    const files = {
      id: 'files' as const,
      name: 'Nothing in the bag is altered, missing or unknown.',
      state: this.#isIntact ? ('holds' as const) : ('unproven' as const),
      detail: this.#isIntact ? '' : 'See what is said of each.',
    };
    const key = await this.#sealKey();
    const named = namedKeyClaims(key, this.#context.key);
    const detail = `the case, sealed by the key ${key}`;
    return [
      proofFinding(this.#bag.path, 'case_bag', [files, ...claims, ...named], { against: SEAL_FILE, detail }),
    ];
  }

  #sealKey(): Promise<string | undefined> {
    return (this.#key ??= this.#text(SEAL_FILE).then((note) => note && keyOfCaseSeal(note)));
  }

  async #bytes(name: string): Promise<Buffer | undefined> {
    const file = this.#bag.files.get(name);
    return file && bytesOf(file.read(), MAX_RECORD_BYTES);
  }

  async #text(name: string): Promise<string | undefined> {
    return (await this.#bytes(name))?.toString('utf8');
  }
}
