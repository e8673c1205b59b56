import type { ProofCrypto } from './algorithms.ts';
import { fromBase64 } from './bytes.ts';
import type { Claim, Evidence, EvidenceFile } from './evidence.ts';
import { judge, requireThat, sha256 } from './judge.ts';

/** Checks that each file of the record is here, and that its bytes have the digest in the record. */
export function checkFiles(evidence: Evidence, crypto: ProofCrypto): Claim[] {
  const { kind, recorded, page, files } = evidence;
  const expected = [
    ...recordedFiles(kind, recorded.record),
    ...(page ? recordedFiles('page', page.record) : []),
  ];
  const missing = expected.filter(({ name }) => !files.some((file) => file.name === name));
  return [
    ...files.map((file) => checkFile(file, expected.find(({ name }) => name === file.name)?.sha256, crypto)),
    ...missing.map(
      ({ name }): Claim => ({
        verdict: 'fails',
        claim: `The file ${name} is in this evidence.`,
        detail: 'The record lists it, but it was removed.',
      }),
    ),
  ];
}

/** The names and digests in a record; none if it cannot be read, which is a failure of its own. */
export function recordedFiles(
  kind: Evidence['kind'] | 'page',
  record: string,
): { name: string; sha256: string }[] {
  let parsed: {
    sha256?: string | null;
    previous_sha256?: string | null;
    picture?: string;
    files?: { path: string; sha256: string }[];
  };
  try {
    parsed = JSON.parse(record) as typeof parsed;
  } catch (error) {
    if (error instanceof SyntaxError) return [];
    throw error;
  }
  if (kind === 'pack')
    return (parsed.files ?? []).map(({ path, sha256: digest }) => ({ name: path, sha256: digest }));
  const versions =
    kind === 'page'
      ? [{ name: 'picture', sha256: parsed.picture }]
      : [
          { name: 'after', sha256: parsed.sha256 },
          { name: 'before', sha256: parsed.previous_sha256 },
        ];
  return versions.filter(
    (version): version is { name: string; sha256: string } => typeof version.sha256 === 'string',
  );
}

function checkFile(file: EvidenceFile, expected: string | undefined, crypto: ProofCrypto): Claim {
  const { name, sha256: digest, content } = file;
  if (content === null) {
    return {
      verdict: expected === digest ? 'claimed' : 'fails',
      claim: `The file ${name} has the digest ${digest}.`,
      detail:
        expected === digest
          ? 'Its bytes are not in this file. Whoever has them can compare their SHA-256 with the record.'
          : 'The record names another digest.',
    };
  }
  return judge(`The bytes of ${name} match the record.`, `Their SHA-256 is ${expected}.`, () => {
    const bytes = fromBase64(content);
    requireThat(
      sha256(bytes, crypto) === expected && digest === expected && bytes.length === file.bytes,
      `The bytes or the digest of ${name} were altered.`,
    );
  });
}
