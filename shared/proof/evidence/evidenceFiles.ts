import { filePathFault } from '../../archive/filePath.ts';
import { SET_FILE, setFaults, setTextOf } from '../../archive/setManifest.ts';
import { countOf } from '../../values/counts.ts';
import { isDigest } from '../../values/digestPattern.ts';
import { inQuotes } from '../../values/quotes.ts';
import type { ProofCrypto } from '../crypto/algorithms.ts';
import { fromBase64 } from '../crypto/bytes.ts';
import { ifValid } from '../ledger/signedNote.ts';
import {
  type Evidence,
  type EvidenceClaim,
  type EvidenceFile,
  judge,
  recordIn,
  requireThat,
  sha256,
  stated,
} from './evidence.ts';

/** Checks that each file of the record is here, and that its bytes have the digest in the record. */
export function checkFiles(evidence: Evidence, crypto: ProofCrypto): EvidenceClaim[] {
  const { kind, recorded, page, files } = evidence;
  const versions = recordedFiles(kind, recorded.record);
  const expected = [
    ...(kind === 'pack' ? versions : versions.map((file) => ({ ...file, media_type: typeOf(evidence) }))),
    ...(page ? recordedFiles('page', page.record) : []),
  ];
  const recordedAs = Map.groupBy(expected, ({ name }) => name);
  const given = new Set(files.map(({ name }) => name));
  const missing = expected.filter(({ name }) => !given.has(name));
  return [
    ...files.map((file) => checkFile(file, recordedAs.get(file.name)?.[0], crypto)),
    ...missing.map(
      ({ name }): EvidenceClaim => ({
        id: 'file',
        name: `The file ${inQuotes(name)} is in this evidence.`,
        state: 'fails',
        detail: 'The record lists it, but it was removed.',
      }),
    ),
  ];
}

/** The type of the versions of an event: by it they are decoded, and words are looked for in them. */
function typeOf({ retrieval, page }: Evidence): string {
  // What a browser saw is kept as text.
  if (page) return 'text/plain; charset=utf-8';
  // A retrieval that cannot be read is a failure of its own.
  const type = ifValid(() => retrieval && recordIn(retrieval.retrieval))?.content_type;
  return typeof type === 'string' ? type : 'application/octet-stream';
}

/** A file as a record names it. Only that of a pack says more than the digest. */
interface RecordedFile {
  name: string;
  sha256: string;
  bytes?: number;
  media_type?: string;
}

/** The files that a record names; none if it cannot be read, which is a failure of its own. */
function recordedFiles(kind: Evidence['kind'] | 'page', record: string): RecordedFile[] {
  let parsed: {
    sha256?: string | null;
    previous_sha256?: string | null;
    picture?: string;
    files?: (Omit<RecordedFile, 'name'> & { path: string })[];
  };
  try {
    parsed = JSON.parse(record) as typeof parsed;
  } catch (error) {
    if (error instanceof SyntaxError) return [];
    throw error;
  }
  if (kind === 'pack') return (parsed.files ?? []).map(({ path, ...file }) => ({ ...file, name: path }));
  const versions: (Omit<RecordedFile, 'sha256'> & { sha256?: string | null | undefined })[] =
    kind === 'page'
      ? [{ name: 'picture', sha256: parsed.picture, media_type: 'image/png' }]
      : [
          { name: 'after', sha256: parsed.sha256 },
          { name: 'before', sha256: parsed.previous_sha256 },
        ];
  return versions.filter((version): version is RecordedFile => typeof version.sha256 === 'string');
}

function checkFile(
  file: EvidenceFile,
  recorded: RecordedFile | undefined,
  crypto: ProofCrypto,
): EvidenceClaim {
  const { name, sha256: digest, content } = file;
  const expected = recorded?.sha256;
  const { bytes = file.bytes, media_type = file.media_type } = recorded ?? {};
  if (bytes !== file.bytes || media_type !== file.media_type)
    return {
      id: 'file',
      name: `The file ${inQuotes(name)} is as the record says.`,
      state: 'fails',
      detail: 'The record names another size or another type.',
    };
  if (content === null) {
    const claim = `The file ${inQuotes(name)} has the digest ${digest}.`;
    if (expected !== digest)
      return { id: 'file', name: claim, state: 'fails', detail: 'The record names another digest.' };
    return stated(
      claim,
      'Its bytes are not in this file. Whoever has them can compare their SHA-256 with the record.',
    );
  }
  return judge(
    'file',
    `The bytes of ${inQuotes(name)} match the record.`,
    `Their SHA-256 is ${expected}.`,
    () => {
      const bytes = fromBase64(content);
      requireThat(
        sha256(bytes, crypto) === expected && digest === expected && bytes.length === file.bytes,
        `The bytes or the digest of ${inQuotes(name)} were altered.`,
      );
    },
  );
}

/** The files of a set, as its checked manifest lists them. */
export interface SetFiles {
  files: { path: string; bytes: number; sha256: string }[];
  /** The size of all files together. */
  bytes: number;
}

/**
 * The evidence of the manifest of a set covers every file of the set: the manifest has their digests. Returns what is
 * claimed of them, and the files if that holds. There are no claims for any other pack or event.
 */
export function checkSet(
  { kind, recorded, files }: Pick<Evidence, 'kind' | 'recorded' | 'files'>,
  crypto: ProofCrypto,
): { claims: EvidenceClaim[]; set?: SetFiles } {
  const [only, ...others] = recordedFiles(kind, recorded.record);
  const file = files.find(({ name }) => name === SET_FILE);
  if (only?.name !== SET_FILE || others.length > 0 || !file) return { claims: [] };
  const { content } = file;
  const { seq } = recorded.entry;
  if (content === null) return { claims: [unread(seq, file.bytes)] };
  let set: SetFiles | undefined;
  const judged = judge('set', `The ledger entry ${seq} covers every file of the set.`, '', () => {
    const bytes = fromBase64(content);
    const text = setTextOf(bytes);
    if (text === undefined) return;
    requireThat(sha256(bytes, crypto) === only.sha256, `${SET_FILE} was altered.`);
    requireThat(sha256(recorded.record, crypto) === recorded.entry.digest, 'The record was altered.');
    set = readSet(text);
  });
  if (judged.state !== 'holds') return { claims: [judged] };
  if (!set) return { claims: [] };
  const detail = `${SET_FILE} lists ${sizeOf(set)}, each with its SHA-256. The record has the SHA-256 of ${SET_FILE}, and the entry that of the record.`;
  const bytesOfFiles = stated(
    'The files of the set have these digests.',
    'Their bytes are not in this file. Whoever has them can compare their SHA-256 with the list.',
  );
  return { claims: [{ ...judged, detail }, bytesOfFiles], set };
}

/** The size of a set in words: `4 files (34,000 bytes)`. */
export function sizeOf({ files, bytes }: SetFiles): string {
  return `${countOf(files.length, 'file')} (${countOf(bytes, 'byte')})`;
}

function unread(seq: number, bytes: number): EvidenceClaim {
  return stated(
    `The ledger entry ${seq} covers every file that ${SET_FILE} lists.`,
    `${SET_FILE} (${countOf(bytes, 'byte')}) is not in this file. Get it from the archive and compare its SHA-256 with the record. If it is the list of a set, it has the SHA-256 of every file.`,
  );
}

/** Reads `set.json` as strictly as a node. @throws ProofError */
function readSet(text: string): SetFiles {
  const { files } = JSON.parse(text) as { files?: unknown };
  requireThat(Array.isArray(files) && files.length > 0, `${SET_FILE} lists no files.`);
  const listed = files as SetFile[];
  for (const [index, file] of listed.entries())
    requireThat(isSetFile(file), `${SET_FILE} is not valid: file ${index + 1}.`);
  // Nothing is named twice, so every program reads the same list; and nothing has another name.
  const names = text.replace(STRINGS, '').split(':').length - 1;
  const entries = listed.reduce((sum, { parts }) => sum + 1 + parts.length, 0);
  requireThat(names === 2 + 4 * entries, `${SET_FILE} is not valid: a field is there twice, or unknown.`);
  const [fault] = setFaults(listed);
  requireThat(!fault, `${SET_FILE} is not valid: ${fault?.path} ${fault?.message}`);
  return {
    files: listed.map(({ path, bytes, sha256: digest }) => ({ path, bytes, sha256: digest })),
    bytes: listed.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

const STRINGS = /"[^"\\]*(?:\\.[^"\\]*)*"/g;

interface SetPart {
  pack: string;
  path: string;
  bytes: number;
  sha256: string;
}
type SetFile = Omit<SetPart, 'pack'> & { parts: SetPart[] };

function isSetFile(file: Partial<SetFile> | null): boolean {
  return (
    hasBytes(file) &&
    Array.isArray(file?.parts) &&
    file.parts.every((part) => hasBytes(part) && /^pk_[0-9a-f]{20}$/.test(part.pack))
  );
}

function hasBytes(value: Partial<Omit<SetPart, 'pack'>> | null): boolean {
  const { path, bytes, sha256: digest } = value ?? {};
  return (
    typeof path === 'string' &&
    path.isWellFormed() &&
    filePathFault(path) === undefined &&
    Number.isSafeInteger(bytes) &&
    Number(bytes) >= 0 &&
    typeof digest === 'string' &&
    isDigest(digest)
  );
}
