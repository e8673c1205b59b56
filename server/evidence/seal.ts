import { createHash } from 'node:crypto';
import type { Evidence, EvidenceFile } from '../../shared/proof/evidence.ts';
import { sealText } from '../../shared/proof/seal.ts';
import { canonicalText } from '../../shared/values/canonicalJson.ts';
import { nodeCrypto } from '../ledger/checkpoint.ts';
import type { Checkpoints } from '../ledger/checkpoints.ts';
import { yieldToEventLoop } from '../runtime/background.ts';

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
