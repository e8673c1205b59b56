import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { nodeCrypto } from '../../server/ledger/checkpoint.ts';
import type { KnownPage } from '../../shared/proof/evidence/evidencePage.ts';
import { checkEvidenceData, verifyEvidence } from '../../shared/proof/evidence/verifyEvidence.ts';
import { decide } from '../../shared/proof/verdict.ts';
import {
  type ForgedFormat,
  type Forgery,
  forgeBytes,
  forgeLines,
  pick,
  type Random,
  sha256,
} from './forgery.ts';
import { canonical, OtherKey, parsed } from './formats.ts';
import { forgeJson, nodesOf } from './json.ts';

/** The members of the data that are made anew after a change. */
interface Data {
  key: string;
  recorded: Recorded;
  retrieval: (Recorded & { retrieval: string; hashes: string[] }) | null;
  files: { sha256: string; bytes: number; content: string | null }[];
  seal: { text: string; signature: string } | null;
}

interface Recorded {
  entry: Record<string, unknown> & { digest: string; hash: string };
  record: string;
  proofs: { checkpoint: string; hashes: string[] }[];
}

/** Does what a forger can do without a key: makes digests and hashes anew. */
function rehashed(data: Data): Data {
  const copy = structuredClone(data);
  for (const file of copy.files)
    if (file.content !== null) {
      const bytes = Buffer.from(file.content, 'base64');
      [file.sha256, file.bytes] = [sha256(bytes), bytes.length];
    }
  const { entry, record } = copy.recorded;
  entry.digest = sha256(record);
  const { hash: _, ...rest } = entry;
  entry.hash = sha256(canonical(rest) ?? '');
  if (copy.seal) copy.seal.text = sealOf(copy, copy.seal.text);
  return copy;
}

/** The text of a seal, with the digests that the parts have now. */
function sealOf(data: object, text: string): string {
  return text.replace(/^(\w+) [0-9a-f]{64}$/gm, (_, part: string) => {
    const value = (data as Record<string, unknown>)[part];
    return `${part} ${sha256(canonical(value) ?? '')}`;
  });
}

/** Signs all of it with a key of somebody else, under the name of the genuine one: a ledger of this entry alone. */
function signedByOther(data: Data, key: OtherKey): Data {
  const copy = rehashed(data);
  const { entry, proofs } = copy.recorded;
  const [name] = copy.key.split('+');
  const leaf = Buffer.concat([Buffer.from([0]), Buffer.from(canonical({ ...entry, seq: 1 }) ?? '')]);
  entry['seq'] = 1;
  const root = Buffer.from(sha256(leaf), 'hex').toString('base64');
  copy.recorded.proofs = proofs.slice(0, 1).map(() => ({
    checkpoint: key.signNote(`${name}\n1\n${root}\n\n`),
    hashes: [],
  }));
  const text = sealOf(copy, copy.seal?.text ?? '');
  copy.seal = { text, signature: key.sign(text).toString('base64') };
  return copy;
}

const isData = (value: unknown): value is Data => {
  const { recorded, files } = (value ?? {}) as Partial<Data>;
  return typeof recorded?.entry === 'object' && typeof recorded.record === 'string' && Array.isArray(files);
};

/** The data in an evidence file: every node of it, and what can be made anew with it. */
export function evidenceDataFormat(
  name: string,
  genuine: readonly [string, string],
  share: number,
): ForgedFormat<string> {
  const values = genuine.map(parsed) as [Data, Data];
  const nodes = new Map(values.map((value) => [value, [...nodesOf(value)]]));
  const other = new OtherKey(values[0].key, 'evidence');
  return {
    name,
    share,
    genuine,
    forge: (_one, _another, random) => {
      const forged = forgeJson(values[0], values[1], random, nodes.get(values[0]));
      const then = pick(random, [
        '',
        '',
        'made anew',
        'made anew, no seal',
        'no seal',
        'signed by another',
        'no proofs',
      ] as const);
      const { value, text } = forged.input;
      const done = (data: unknown) => ({
        ...forged,
        operation: `${forged.operation}, ${then}`,
        input: JSON.stringify(data),
      });
      if (then === '' || !isData(value)) return { ...forged, input: text };
      try {
        if (then === 'no seal') return done({ ...value, seal: null });
        if (then === 'made anew') return done(rehashed(value));
        if (then === 'made anew, no seal') return done({ ...rehashed(value), seal: null });
        if (then === 'no proofs')
          return done({ ...rehashed(value), seal: null, recorded: { ...value.recorded, proofs: [] } });
        return done(signedByOther(value, other));
      } catch (error) {
        // It was made something else than what is made anew.
        if (error instanceof TypeError) return { ...forged, input: text };
        throw error;
      }
    },
    verdict: (text) => decide('evidence', checkEvidenceData(text, nodeCrypto).claims as never).verdict,
    content: (text) => canonical(parsed(text)),
  };
}

/** The page around the data: what a person sees who opens it. */
export function evidencePageFormat(
  genuine: readonly [string, string],
  pages: readonly KnownPage[],
  folder: string,
): ForgedFormat<string> {
  return {
    name: 'evidence page',
    share: 2_000,
    genuine,
    forge: (one, another, random) => forgePage(one, another, random),
    verdict: (html) => {
      const checked = verifyEvidence(Buffer.from(html), pages, nodeCrypto);
      return checked ? decide('evidence_file', checked.claims).verdict : 'unknown';
    },
    command: async (html) => {
      const file = join(folder, 'forged.evidence.html');
      await writeFile(file, html);
      return [file];
    },
    content: (html) => html,
  };
}

/** Elements of a page: each a tag, or the text between two. */
function forgePage(one: string, another: string, random: Random): Forgery<string> {
  const kind = random();
  if (kind < 0.3) return forgeLines(one, another, random);
  if (kind < 0.4) {
    const forged = forgeBytes(Buffer.from(one), Buffer.from(another), random);
    return { ...forged, input: forged.input.toString() };
  }
  const nodes = one.match(/<[^>]*>|[^<]+/g) ?? [];
  const at = Math.floor(random() * nodes.length);
  const node = nodes[at] ?? '';
  const operation = pick(random, [
    'delete',
    'duplicate',
    'empty',
    'extra',
    'attribute',
    'comment',
    'genuine in a comment',
  ] as const);
  const replaced = (by: string) => [...nodes.slice(0, at), by, ...nodes.slice(at + 1)].join('');
  const data = /<script type="application\/json" id="evidence">[^<]*<\/script>/.exec(one)?.[0] ?? '';
  const made = {
    delete: () => replaced(''),
    duplicate: () => replaced(node + node),
    empty: () => replaced(node.startsWith('<') ? '<p>' : ' '),
    extra: () =>
      replaced(
        node +
          pick(random, ['<p>More</p>', '<script>1</script>', '<style>*{}</style>', '<base href=x>', '\n']),
      ),
    attribute: () => replaced(node.replace(/^<(\w+)/, '<$1 title="x"')),
    comment: () => replaced(`${node}<!-- x -->`),
    'genuine in a comment': () => `<!doctype html><p>Nothing of it</p><!--${data}-->`,
  };
  return { operation, pointer: `node ${at}: ${node.slice(0, 30)}`, input: made[operation]() };
}
