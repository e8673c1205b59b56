/*
 * One way to decide what is said of a file that proves itself. Each format lists the claims that must hold; a check that
 * was left out, or a part that was removed, is then never taken for proof.
 */

/**
 * `holds`: recomputed here. `fails`: recomputed, and different, or a part is missing. `unproven`: what would prove it is
 * not there, or cannot be checked here. `claimed`: nothing in the file can prove it, only somebody says so.
 */
export type ClaimState = 'holds' | 'fails' | 'unproven' | 'claimed';

/** One claim of a file, with a stable id. A format may have several claims with one id, such as one for each file. */
export interface Claim<Id extends string = string> {
  id: Id;
  /** What is claimed, as a sentence. */
  name: string;
  state: ClaimState;
  /** How it was checked, who claims it, or what is wrong. */
  detail: string;
}

/**
 * `unsigned`: nothing is wrong, but no valid signature of the named key covers it. `unknown`: something could not be
 * checked.
 */
export type Verdict = 'intact' | 'unsigned' | 'altered' | 'unknown';

/**
 * `must`: at least one claim with this id is there, and all hold. `signature`: the same, and without it the file is
 * unsigned. `part`: there need not be one, but those that are there must hold. `stated`: what only somebody says.
 */
type Rule = 'must' | 'signature' | 'part' | 'stated';

/** What the data of an evidence file must prove. */
const EVIDENCE = {
  form: 'must',
  key: 'signature',
  record: 'must',
  entry: 'must',
  checkpoint: 'signature',
  inclusion: 'signature',
  seal: 'signature',
  sealed_part: 'part',
  cosignature: 'part',
  witness: 'part',
  timestamp: 'part',
  retrieval: 'part',
  page_capture: 'part',
  seen_by: 'part',
  finding: 'part',
  sealed: 'part',
  passage: 'part',
  file: 'part',
  set: 'part',
  stated: 'stated',
} as const;

/** The claims of each format. Every claim of a verdict is in the list of its format. */
export const FORMATS = {
  /** What the page in an evidence file checks of itself. */
  evidence: EVIDENCE,
  /** The file as a whole: its page is what this program writes for the data. */
  evidence_file: { ...EVIDENCE, page: 'must', place: 'part' },
  /** A signed note of a ledger. */
  checkpoint: { form: 'must', key: 'must', checkpoint: 'signature' },
  /** A C2SP tlog-proof with its entry. */
  tlog_proof: {
    form: 'must',
    key: 'signature',
    entry: 'must',
    checkpoint: 'signature',
    inclusion: 'must',
    record: 'part',
  },
  /** The reply of a timestamp authority, with the stamped text. Whose the certificate is, is the reader's to check. */
  timestamp: { text: 'must', signature: 'must', place: 'part', stated: 'stated' },
  /** A pack file. It has no signature of its own: its fingerprint is what the ledger covers. */
  pack: { bag: 'must', record: 'must', fingerprint: 'must', files: 'must' },
  bag: { declaration: 'must', manifest: 'must', files: 'must', record: 'part' },
  /** The bag of a case. Each file in it has a verdict of its own. */
  case_bag: {
    declaration: 'must',
    files: 'must',
    place: 'must',
    proofs: 'signature',
    key: 'signature',
    seal: 'signature',
  },
  dump: {
    form: 'must',
    ledger: 'must',
    records: 'must',
    key: 'signature',
    checkpoint: 'signature',
    trailer: 'signature',
  },
  export: { bag: 'must', dump: 'must', objects: 'must', key: 'signature', checkpoint: 'signature' },
  copy: {
    list: 'must',
    files: 'must',
    records: 'must',
    objects: 'must',
    key: 'signature',
    checkpoint: 'signature',
    stated: 'stated',
  },
  wacz: { form: 'must', files: 'must', signature: 'signature', stated: 'stated' },
} as const satisfies Record<string, Record<string, Rule>>;

export type Format = keyof typeof FORMATS;
export type ClaimId<Of extends Format> = keyof (typeof FORMATS)[Of] & string;

/** What is said of a file, and why. */
export interface Decision {
  verdict: Verdict;
  /** The claims for which it is not intact; none if it is. */
  because: readonly Claim[];
}

/**
 * Decides the verdict of a file from its claims: `intact` only if each claim that its format must have is there and holds,
 * and every other claim that can be proven holds too.
 */
export function decide<Of extends Format>(format: Of, claims: readonly Claim<ClaimId<Of>>[]): Decision {
  const rules: Readonly<Record<string, Rule>> = FORMATS[format];
  const unlisted = claims.find(({ id }) => !Object.hasOwn(rules, id));
  if (unlisted) throw new Error(`The format ${format} has no claim ${unlisted.id}.`);
  const failed = claims.filter(({ state }) => state === 'fails');
  if (failed.length > 0) return { verdict: 'altered', because: failed };
  const open = Object.entries(rules).flatMap(([id, rule]) => {
    const own = claims.filter((claim) => claim.id === id);
    const without = rule === 'stated' ? [] : own.filter(({ state }) => state !== 'holds');
    const isAbsent = own.length === 0 && (rule === 'must' || rule === 'signature');
    return (isAbsent ? [absent(id)] : without).map((claim) => ({ rule, claim }));
  });
  const because = open.map(({ claim }) => claim);
  if (open.some(({ rule }) => rule !== 'signature')) return { verdict: 'unknown', because };
  return { verdict: open.length > 0 ? 'unsigned' : 'intact', because };
}

/** Whether valid signatures cover a file, according to its claims. */
export function isSigned<Of extends Format>(format: Of, claims: readonly Claim<ClaimId<Of>>[]): boolean {
  const rules: Readonly<Record<string, Rule>> = FORMATS[format];
  const signatures = Object.keys(rules).filter((id) => rules[id] === 'signature');
  return signatures.every((signature) => {
    const own = claims.filter(({ id }) => id === signature);
    return own.length > 0 && own.every(({ state }) => state === 'holds');
  });
}

function absent(id: string): Claim {
  return {
    id,
    name: `The file proves its ${id}.`,
    state: 'unproven',
    detail: 'Nothing in the file proves it.',
  };
}
