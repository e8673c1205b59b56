import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import type { KnownPage } from '../../../../shared/proof/evidence/evidencePage.ts';
import { provenEvidence } from '../../../../shared/proof/fileVerdicts.ts';
import { browserCrypto } from '../../../evidence/browserCrypto.ts';
import { hashStream } from '../../hashing/sha256.ts';
import { type FileProof, type PackedFileResult, proofOf, verifyBagFile } from './bagFile.ts';

/** Several small files or one file of any size to hash, or one file that may be evidence or a bag. */
export type VerifyRequest = { id: number } & (
  | { files: readonly File[] }
  | { evidence: File; pages: readonly KnownPage[] }
  | { bag: File; pages: readonly KnownPage[] }
);

export interface HashOutcome {
  sha256: string | null;
  /** Why the file could not be hashed. */
  error: string | null;
}

/** What an evidence file proves, and the digest of the file; null if it is none. */
export type EvidenceOutcome = { sha256: string; proof: FileProof } | null;

/** The files in a pack file or bag, as they were found; null if it is none. */
export type BagOutcome = PackedFileResult[] | null;

/** The bytes of a large file read so far, the outcomes in the order of the files, or that of an evidence file or a bag. */
export type VerifyReply = { id: number } & (
  | { bytes: number }
  | { outcomes: HashOutcome[] }
  | { evidence: EvidenceOutcome }
  | { bag: BagOutcome }
);

/** Smaller files are hashed at once by the browser's own SHA-256, where it offers one (a secure context). */
const SMALL_BYTES = 8_388_608;
const REPORT_EVERY_BYTES = 16_777_216;

const scope = self as unknown as {
  onmessage: ((event: MessageEvent<VerifyRequest>) => void) | null;
  postMessage(reply: VerifyReply): void;
};

/** One batch at a time, so that memory stays flat. The files of a batch are read at the same time. */
let queue = Promise.resolve();

scope.onmessage = ({ data }) => {
  queue = queue
    .then(async () => scope.postMessage({ id: data.id, ...(await answerTo(data)) }))
    // As an error of the worker it ends all that waits for answers; as a rejection it would leave it waiting.
    .catch((error: unknown) => void setTimeout(() => reportError(error)));
};

async function answerTo(
  request: VerifyRequest,
): Promise<{ outcomes: HashOutcome[] } | { evidence: EvidenceOutcome } | { bag: BagOutcome }> {
  if ('files' in request)
    return { outcomes: await Promise.all(request.files.map((file) => hashFile(request.id, file))) };
  if ('bag' in request) return { bag: await verifiedBag(request.bag, request.pages) };
  return { evidence: await verifiedEvidence(request.evidence, request.pages) };
}

async function verifiedBag(file: File, pages: readonly KnownPage[]): Promise<BagOutcome> {
  try {
    return (await verifyBagFile(file, pages)) ?? null;
  } catch (error) {
    if (error instanceof DOMException) return null;
    throw error;
  }
}

/** A file that cannot be read or verified is hashed like any other, which says why. */
async function verifiedEvidence(file: File, pages: readonly KnownPage[]): Promise<EvidenceOutcome> {
  let bytes: Uint8Array;
  try {
    bytes = new Uint8Array(await file.arrayBuffer());
  } catch (error) {
    if (error instanceof DOMException) return null;
    throw error;
  }
  const proven = provenEvidence({ name: file.name, bytes }, pages, browserCrypto);
  return proven ? { sha256: bytesToHex(sha256(bytes)), proof: proofOf(proven) } : null;
}

async function hashFile(id: number, file: File): Promise<HashOutcome> {
  try {
    return { sha256: await digestOf(id, file), error: null };
  } catch (error) {
    const reason =
      error instanceof Error && error.name === 'ChangedError' ? error.message : 'The file could not be read.';
    return { sha256: null, error: reason };
  }
}

async function digestOf(id: number, file: File): Promise<string> {
  // `subtle` is undefined on pages that are neither HTTPS nor on loopback.
  const subtle = globalThis.crypto.subtle as SubtleCrypto | undefined;
  if (file.size <= SMALL_BYTES && subtle)
    return bytesToHex(new Uint8Array(await subtle.digest('SHA-256', await file.arrayBuffer())));
  let reported = 0;
  const { sha256: digest, bytes } = await hashStream(file.stream(), (done) => {
    if (done - reported < REPORT_EVERY_BYTES) return;
    reported = done;
    scope.postMessage({ id, bytes: done });
  });
  if (bytes !== file.size) throw new ChangedError();
  return digest;
}

class ChangedError extends Error {
  constructor() {
    super('The file changed while it was being read.');
    this.name = 'ChangedError';
  }
}
