import type { ProofCrypto } from '../crypto/algorithms.ts';
import { hexOf, toBase64, utf8 } from '../crypto/bytes.ts';
import type { Claim } from '../verdict.ts';
import type { Evidence, EvidenceFile } from './evidence.ts';

/*
 * The page of an evidence file. It is the same for every evidence but for its data, so a verifier writes it again and
 * compares: nothing can stand in the file that the program did not write.
 */

/** The script and the style that every evidence file carries. They are built with the interface. */
export interface EvidenceParts {
  script: string;
  style: string;
}

/** The digests of the script and the style that a version writes, in hex. */
export interface KnownPage {
  version: string;
  script: string;
  style: string;
}

/** The policy of an evidence file: its own script, the pictures in it, and no request. */
export function evidencePolicy(script: string, crypto: ProofCrypto): string {
  const hash = toBase64(crypto.digest('sha256', utf8(script)));
  return `default-src 'none'; script-src 'sha256-${hash}'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'`;
}

/** What the page shows until its script replaces it. */
export const WITHOUT_SCRIPT =
  'Your browser checks this file with the script in it. Allow scripts, and open it again.';

/** What stands before the style, the script, and the end. */
const STYLE = '<style>\n';
const SCRIPT = '</script>\n<script>';
const END = '</script>\n</body>\n</html>\n';

/**
 * Writes an evidence file in pieces: one HTML document that loads nothing. A policy allows its own script and the pictures in it, and no request at
 * all. The page shows nothing but what the script makes from the data, so that no text can contradict what was checked.
 */
export function* evidenceHtml(
  evidence: Evidence,
  { script, style }: EvidenceParts,
  crypto: ProofCrypto,
): Generator<string> {
  const policy = evidencePolicy(script, crypto);
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
${STYLE}${style}</style>
</head>
<body>
<main><p>${WITHOUT_SCRIPT}</p></main>
<script type="application/json" id="evidence">`;
  // “<” is written as an escape, so that no text in the data can end the element.
  for (const piece of jsonOf(evidence)) yield piece.replaceAll('<', '\\u003c');
  yield SCRIPT;
  yield script;
  yield END;
}

function* jsonOf({ files, ...rest }: Evidence): Generator<string> {
  yield `${JSON.stringify(rest).slice(0, -1)},"files":`;
  yield* jsonOfFiles(files, (file) => JSON.stringify(file));
  yield '}';
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

const DATA = /<script type="application\/json" id="evidence">([^<]*)/;

/** Returns the data in a file; undefined if it has none. */
export function dataIn(html: string): string | undefined {
  return DATA.exec(html)?.[1];
}

/** Checks that a file is, character for character, what a known version writes for the data in it. */
export function checkEvidencePage(
  html: string,
  evidence: Evidence,
  pages: readonly KnownPage[],
  crypto: ProofCrypto,
): Claim<'page'> {
  const name = 'The page is the one that Strongroom writes for this data.';
  const parts = partsIn(html);
  if (!parts || !isWritten(html, evidenceHtml(evidence, parts, crypto)))
    return {
      id: 'page',
      name,
      state: 'fails',
      detail:
        'Altered page: the file has other things in it, and may show something else than what was verified. A browser that saves a complete page changes it too: take the file itself.',
    };
  const digests = {
    script: hexOf(crypto.digest('sha256', utf8(parts.script))),
    style: hexOf(crypto.digest('sha256', utf8(parts.style))),
  };
  const known = pages.find(({ script, style }) => script === digests.script && style === digests.style);
  if (known) return { id: 'page', name, state: 'holds', detail: `It is the page of ${known.version}.` };
  return {
    id: 'page',
    name,
    state: 'unproven',
    detail: `Altered page, or page of an unknown version: this program does not know its script (SHA-256 ${digests.script}) or its style (SHA-256 ${digests.style}). Rely on what is said here, not on what the page shows.`,
  };
}

function partsIn(html: string): EvidenceParts | undefined {
  const style = html.indexOf(STYLE) + STYLE.length;
  const styleEnd = html.indexOf('</style>', style);
  const data = DATA.exec(html);
  if (!data || styleEnd < 0 || !html.endsWith(END)) return undefined;
  const script = data.index + data[0].length + SCRIPT.length;
  return { style: html.slice(style, styleEnd), script: html.slice(script, html.length - END.length) };
}

function isWritten(html: string, pieces: Iterable<string>): boolean {
  let at = 0;
  try {
    for (const piece of pieces) {
      if (!html.startsWith(piece, at)) return false;
      at += piece.length;
    }
  } catch (error) {
    // Nested so deeply that it cannot be written.
    if (error instanceof RangeError) return false;
    throw error;
  }
  return at === html.length;
}
