import {
  bagKindOf,
  bagWords,
  CASE_FILE,
  DECLARATION,
  DECLARATION_FILE,
  INFO_FILE,
  MANIFEST_FILE,
  SEAL_FILE,
} from '../archive/bagFiles.ts';
import { MAX_RECORD_BYTES } from '../limits.ts';
import { Problem } from '../problems.ts';
import { parseStrictJson } from '../values/canonicalJson.ts';
import type { About } from './about.ts';
import { checkCaseSeal, keyOfCaseSeal } from './caseSeal.ts';
import type { ProofCrypto } from './crypto/algorithms.ts';
import { judge, requireThat, sha256 } from './evidence/evidence.ts';
import type { KnownPage } from './evidence/evidencePage.ts';
import { MAX_EVIDENCE_BYTES } from './evidence/verifyEvidence.ts';
import { provenEvidence, provenTimestamp } from './fileVerdicts.ts';
import { parseTlogProof, provenTlogProof } from './ledger/tlogProof.ts';
import { bagKindIn, caseIn, formatIn, isCommonName, isPackZip } from './names.ts';
import { namedKeyClaims, type ProvenFile, provenFile } from './provenFile.ts';
import type { Claim, ClaimId } from './verdict.ts';

/** The files of a bag, by their paths in it. */
export interface BagFiles {
  has(name: string): boolean;
  /** Returns the bytes of a file; undefined if it is not there, or has more. */
  read(name: string, most: number): Promise<Uint8Array | undefined>;
}

/** What was found of the files of a bag, each by its manifest, its name and what it proves. */
export interface BagFindings {
  /** The SHA-256 of the files, by their paths in the bag. */
  digests: ReadonlyMap<string, string>;
  /** Whether no file is altered, missing or unknown, and nothing is beside the bag. */
  isIntact: boolean;
  /** Whether a signature covers each file that proves itself. */
  isSigned: boolean;
}

export interface BagProofsOptions {
  /** The pages of evidence files that are known, asked for with the first evidence file. */
  pages: () => Promise<readonly KnownPage[]>;
  /** The names that say what the bag is: those of its folder and of its file. */
  names: readonly string[];
  /** The key that the caller named, if any: what another one signed is unsigned. */
  key?: string | undefined;
}

/** A case has at most 1,000 items with notes of 2,000 characters. */
const MAX_CASE_BYTES = 16_777_216;

/**
 * What is in a bag and proves itself: evidence files, proofs and timestamps are verified as what they are, and the bag of a
 * case by its seal. Manifests alone say nothing, since whoever changes a file writes them anew. The command and the page
 * *Verify* both verify a bag by this. The pack files in it are for them to open.
 */
export class BagProofs {
  readonly #bag: BagFiles;
  readonly #crypto: ProofCrypto;
  readonly #options: BagProofsOptions;
  #key: Promise<string | undefined> | undefined;

  constructor(bag: BagFiles, crypto: ProofCrypto, options: BagProofsOptions) {
    this.#bag = bag;
    this.#crypto = crypto;
    this.#options = options;
  }

  /**
   * Returns what is claimed of a file, by itself and by what lies beside it. Returns a sentence that says what is missing for
   * that, and undefined for any other file.
   */
  async proofOf(name: string): Promise<ProvenFile | string | undefined> {
    if (formatIn(name) === 'evidence') return this.#evidence(name);
    if (/\.tlog-proof$/i.test(name)) return this.#proof(name);
    if (/\.tsr$/i.test(name)) return this.#timestamp(name);
    const kind = bagKindIn(name);
    return kind && `its name is that of ${bagWords(kind)}, and it was not verified as that: verify it alone`;
  }

  async #evidence(name: string): Promise<ProvenFile | string> {
    const bytes = await this.#bag.read(name, MAX_EVIDENCE_BYTES);
    if (!bytes) return 'too large for an evidence file';
    const key = await this.#sealKey();
    const alsoOf = (about: About, isSigned: boolean) => [
      ...(key === undefined
        ? []
        : [
            judge('place', 'It names the key that sealed the bag.', '', () =>
              requireThat(about.key === key, 'It names another key than the one that sealed the bag.'),
            ),
          ]),
      ...namedKeyClaims({ key: about.key, isSigned }, this.#options.key),
    ];
    const proven = provenEvidence({ name, bytes }, await this.#options.pages(), this.#crypto, alsoOf);
    return proven ?? 'the evidence in it cannot be read';
  }

  /** A proof lies beside the entry that it is of, and what the entry recorded. */
  async #proof(name: string): Promise<ProvenFile | string> {
    const [, base = '', sealed] = /^(.*?)(\.sealed(?:\.cosigned|\.\d+)?)?\.tlog-proof$/i.exec(name) ?? [];
    const entry = await this.#text(sealed ? `${base}.sealed.json` : `${base}.entry.json`);
    const record = await this.#bytes(`${base}.json`);
    const text = await this.#text(name);
    if (entry === undefined || text === undefined || !record)
      return 'the entry that it proves, or its record, is not beside it';
    const salt = sealed ? ((await this.#text(`${base}.salt`)) ?? '') : undefined;
    const key = await this.#sealKey();
    return provenTlogProof(text, { entry, record, salt, key }, this.#crypto);
  }

  /** The stamped text lies beside the reply, and is that of the checkpoint in the proof beside it. */
  async #timestamp(name: string): Promise<ProvenFile> {
    const base = name.slice(0, -'.tsr'.length);
    const [reply, text, proof] = [
      await this.#bytes(name),
      await this.#bytes(`${base}.txt`),
      await this.#text(`${base}.tlog-proof`),
    ];
    const place =
      proof === undefined || !text
        ? []
        : [
            judge('place', 'It stamps the checkpoint of its proof.', '', () => {
              const stamped = `${new TextDecoder().decode(text)}\n— `;
              const isOfProof = parseTlogProof(proof)?.checkpoint.startsWith(stamped) === true;
              requireThat(isOfProof, 'It stamps another checkpoint than that of its proof.');
            }),
          ];
    return provenTimestamp(reply ?? new Uint8Array(), text, `${base}.txt`, this.#crypto, place);
  }

  /** Returns what is claimed of the bag of a case as a whole. Of other bags nothing is: `UNSIGNED_BAG` says so. */
  async ofCase({ digests, isIntact, isSigned }: BagFindings): Promise<ProvenFile | undefined> {
    if (bagKindOf(this.#bag) !== 'case') return undefined;
    const sealed = { info: digests.get(INFO_FILE) ?? '', manifest: digests.get(MANIFEST_FILE) ?? '' };
    const claim = (id: 'files' | 'proofs', name: string, holds: boolean): Claim<ClaimId<'case_bag'>> => ({
      id,
      name,
      state: holds ? 'holds' : 'unproven',
      detail: holds ? '' : 'See what is said of each.',
    });
    const declaration = await this.#text(DECLARATION_FILE);
    const seal = checkCaseSeal(await this.#text(SEAL_FILE), sealed, this.#crypto);
    const claims = [
      judge('declaration', 'It is declared as a node declares bags.', '', () =>
        // No seal covers it, and another version or encoding would give the manifests another meaning.
        requireThat(declaration === DECLARATION, `${DECLARATION_FILE} was altered.`),
      ),
      claim('files', 'Nothing in the bag is altered, missing or unknown.', isIntact),
      claim('proofs', 'A signature covers each file in it that proves itself.', isSigned),
      ...seal,
    ];
    // The seal can be that of another bag.
    const key = seal.every(({ state }) => state === 'holds') ? await this.#sealKey() : undefined;
    const bytes = await this.#bag.read(CASE_FILE, MAX_CASE_BYTES);
    const about = bytes && aboutCase(bytes, key ?? '', this.#crypto);
    const place = caseClaims(about, this.#options.names);
    const named = namedKeyClaims({ key, isSigned: true }, this.#options.key);
    return provenFile('case_bag', [...claims, ...place, ...named], {
      // Without a seal that holds, no key says which case it is.
      about: key === undefined ? undefined : about,
      detail: 'It is sealed by this key',
    });
  }

  #sealKey(): Promise<string | undefined> {
    return (this.#key ??= this.#text(SEAL_FILE).then((note) => note && keyOfCaseSeal(note, this.#crypto)));
  }

  #bytes(name: string): Promise<Uint8Array | undefined> {
    return this.#bag.read(name, MAX_RECORD_BYTES);
  }

  async #text(name: string): Promise<string | undefined> {
    const bytes = await this.#bytes(name);
    return bytes && new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  }
}

/** Says which case it is according to the file in its bag, which the seal covers; undefined if that does not say it. */
function aboutCase(bytes: Uint8Array, key: string, crypto: ProofCrypto): About | undefined {
  const { id, title, revision, changed_at: at } = caseOf(bytes);
  const isCase = typeof id === 'string' && /^ca_[0-9a-f]{20}$/.test(id) && Number.isSafeInteger(revision);
  if (!isCase || typeof title !== 'string' || typeof at !== 'string') return undefined;
  return {
    subject: `case ${id} revision ${String(revision)}`,
    name: title,
    at,
    sha256: sha256(bytes, crypto),
    key,
  };
}

function caseOf(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const value = parseStrictJson(new TextDecoder().decode(bytes));
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch (error) {
    // That it says no case is among the claims.
    if (error instanceof Problem) return {};
    throw error;
  }
}

/** The bag says which case it is, and that is the one whose name it has. Another case of the node could otherwise stand for it. */
function caseClaims(about: About | undefined, names: readonly string[]): Claim<'place'>[] {
  const all = names.map(caseIn).filter((named) => named !== undefined);
  return [
    judge('place', 'It says which case it is.', '', () =>
      requireThat(about !== undefined, `${CASE_FILE} is not that of a case.`),
    ),
    ...all.map((named) =>
      judge('place', 'It is the case that its name says.', '', () =>
        requireThat(about?.subject.startsWith(`case ${named} `) === true, `It is not ${named}.`),
      ),
    ),
  ];
}

/**
 * Says of a file of a pack that would prove something by itself, that it is only what the record lists: anybody can make a pack of
 * anything. Undefined for any other file.
 */
export function unprovenInPack(name: string): string | undefined {
  return isNamedProof(name) ? `a file of the pack; ${UNVERIFIED}` : undefined;
}

/**
 * Says of a file of any other bag, of which nothing was verified but its digest, that this is all, if its name says that it would
 * prove something by itself. Undefined for any other file.
 */
export function unprovenInBag(name: string): string | undefined {
  return isNamedProof(name) ? `only compared with the manifests; ${UNVERIFIED}` : undefined;
}

/** Whether a name says that a file would prove something by itself, and no other software gives such names. */
function isNamedProof(name: string): boolean {
  return isPackZip(name) || (formatIn(name) !== undefined && !isCommonName(name));
}

const UNVERIFIED = 'what it says of itself was not verified: verify it alone';

/** Says of a bag of other software, in which nothing is wrong, what that proves. */
export const UNSIGNED_BAG =
  'A bag of other software. No signature covers it: whoever changes a file can write its manifests anew.';

/** Returns the digest that an object in the bag of a case is named by; undefined for any other file. */
export function objectIn(name: string): string | undefined {
  return /^data\/objects\/([0-9a-f]{64})$/.exec(name)?.[1];
}
