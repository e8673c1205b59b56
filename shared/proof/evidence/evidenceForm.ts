import * as z from 'zod/mini';
import { INSTANT } from '../../values/clock.ts';
import { ProofError } from '../ledger/signedNote.ts';
import { EVIDENCE_FORMATS, type Evidence, formatOf } from './evidence.ts';

/*
 * The form of the data in an evidence file. A node writes exactly these members: one that is missing, unknown or of
 * another kind was changed by somebody else.
 */

const digest = z.string().check(z.regex(/^[0-9a-f]{64}$/));
const text = z.string().check(z.refine((value) => value.isWellFormed()));
const count = z.int().check(z.minimum(0));
const instant = z.string().check(z.regex(INSTANT));

/*
 * What is checked once for each checkpoint is bounded, so that no small file takes minutes. A node has at most 20 witnesses and 10
 * authorities at a time, and writes a checkpoint for each authority that it ever had.
 */
const MAX_KEYS = 256;
const MAX_PROOFS = 128;
const id = text.check(z.maxLength(2_000));

const keys = z.array(id).check(
  z.maxLength(MAX_KEYS),
  z.refine((all) => new Set(all).size === all.length),
);

const entry = z.strictObject({
  seq: z.int().check(z.minimum(1)),
  at: instant,
  type: id,
  subject: id,
  digest,
  prev: digest,
  hash: digest,
});

const proof = z.strictObject({
  checkpoint: text.check(z.maxLength(100_000)),
  hashes: z.array(z.string()),
});
const PROVEN = { entry, record: text, proofs: z.array(proof).check(z.maxLength(MAX_PROOFS)) };
const proven = z.strictObject(PROVEN);

const timestamps = z
  .array(z.strictObject({ authority: text, text, reply: z.string() }))
  .check(z.maxLength(MAX_PROOFS));

const file = z.strictObject({
  name: text,
  sha256: digest,
  bytes: count,
  media_type: text,
  content: z.nullable(z.string()),
});

const form = z.strictObject({
  format: z.enum(EVIDENCE_FORMATS),
  kind: z.enum(['event', 'pack']),
  made_at: instant,
  key: id,
  witnesses: keys,
  recorded: proven,
  retrieval: z.nullable(z.strictObject({ ...PROVEN, retrieval: text, hashes: z.array(z.string()) })),
  page: z.optional(proven),
  finding: z.optional(proven),
  sealed: z.optional(
    z.strictObject({
      ...PROVEN,
      salt: digest,
      witnesses: z.optional(keys),
      timestamps: z.optional(timestamps),
    }),
  ),
  seen_by: z.optional(z.array(proven).check(z.minLength(1), z.maxLength(MAX_PROOFS))),
  timestamps,
  files: z.array(file),
  diff: z.unknown(),
  seal: z.nullable(z.strictObject({ text, signature: z.string() })),
});

/** Reads the data of an evidence file. @throws ProofError that says what about its form is wrong */
export function readEvidence(json: string): Evidence {
  const evidence = formed(parse(json));
  const { kind, retrieval, page, seen_by, diff, finding, sealed, format, files } = evidence;
  const isOfEvent = retrieval !== null || page || seen_by || diff !== null;
  if (kind === 'pack' && isOfEvent)
    throw wrong('retrieval', 'the evidence of a pack has no parts of an event');
  if (sealed && !finding) throw wrong('sealed', 'there is no finding that it sealed');
  if (format !== formatOf(evidence))
    throw wrong('format', 'a part was removed or added, since it is that of other parts');
  if (new Set(files.map(({ name }) => name)).size < files.length)
    throw wrong('files', 'two files have one name');
  return evidence;
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw new ProofError('It was altered or cut. It is not JSON.', { cause });
  }
}

/** Returns the value itself, not a copy in another order: the page is written from it again. */
function formed(value: unknown): Evidence {
  const { error } = form.safeParse(value);
  const [issue] = error?.issues ?? [];
  if (issue) {
    const at = issue.path.map(String).join('.');
    if (issue.code === 'unrecognized_keys')
      throw wrong([at, issue.keys[0]].filter(Boolean).join('.'), 'unknown');
    throw wrong(at || 'the data', 'missing, or not what a node writes');
  }
  return value as Evidence;
}

function wrong(where: string, why: string): ProofError {
  return new ProofError(`${where}: ${why}.`);
}
