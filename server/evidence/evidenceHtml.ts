import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from '../../shared/problems.ts';
import { type Evidence, type EvidenceFile, sealText } from '../../shared/proof/evidence.ts';
import { canonicalText } from '../../shared/values/canonicalJson.ts';
import { nodeCrypto } from '../ledger/checkpoint.ts';
import type { Checkpoints } from '../ledger/checkpoints.ts';
import { yieldToEventLoop } from '../runtime/background.ts';
import { isMissing } from '../store/files.ts';

/** The script and the style that every evidence file carries. They are built with the interface. */
export interface EvidenceParts {
  script: string;
  style: string;
}

/** @throws Problem `interface_missing` */
export async function readEvidenceParts(rendererFolder: string): Promise<EvidenceParts> {
  try {
    const [script, style] = await Promise.all(
      ['check.js', 'style.css'].map((name) => readFile(join(rendererFolder, 'evidence', name), 'utf8')),
    );
    return { script: script ?? '', style: style ?? '' };
  } catch (error) {
    if (isMissing(error))
      throw new Problem('interface_missing', 'Build the interface with “npm run build”, and ask again.', {
        cause: error,
      });
    throw error;
  }
}

/** The policy of an evidence file: its own script, the pictures in it, and no request. */
export function evidencePolicy(script: string): string {
  const hash = createHash('sha256').update(script).digest('base64');
  return `default-src 'none'; script-src 'sha256-${hash}'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'`;
}

/**
 * Writes an evidence file in pieces: one HTML document that loads nothing. A policy allows its own script and the pictures in it, and no request at
 * all. The page shows nothing but what the script makes from the data, so that no text can contradict what was checked.
 */
export function* evidenceHtml(evidence: Evidence, { script, style }: EvidenceParts): Generator<string> {
  const policy = evidencePolicy(script);
  const { kind, recorded, finding } = evidence;
  const what = finding ? 'a passage' : kind === 'event' ? 'an event' : 'a pack';
  const title = `Evidence of ${what}, ledger entry ${(finding ?? recorded).entry.seq}`;
  yield `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>${title}</title>
<style>
${style}</style>
</head>
<body>
<main><p>Your browser checks this file with the script in it. Allow scripts, and open it again.</p></main>
<script type="application/json" id="evidence">`;
  // “<” is written as an escape, so that no text in the data can end the element.
  for (const piece of jsonOf(evidence)) yield piece.replaceAll('<', '\\u003c');
  yield `</script>
<script>${script}</script>
</body>
</html>
`;
}

function* jsonOf({ files, ...rest }: Evidence): Generator<string> {
  yield `${JSON.stringify(rest).slice(0, -1)},"files":`;
  yield* jsonOfFiles(files, (file) => JSON.stringify(file));
  yield '}';
}

/** Signs the digest of each part, so that a change of any part is noticed, also where no proof covers it. */
export async function signEvidence(
  evidence: Omit<Evidence, 'seal'>,
  checkpoints: Checkpoints,
): Promise<Evidence> {
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
function* jsonOfFiles(
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
