import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { browserCrypto } from '../../renderer/evidence/browserCrypto.ts';
import { type NodeKey, nodeCrypto, signNote } from '../../server/ledger/checkpoint.ts';
import { sha256Of } from '../../server/ledger/entry.ts';
import { leafHash } from '../../server/ledger/tree.ts';
import { cosignerFrom } from '../../server/ledger/witness/cosignature.ts';
import type { Evidence, EvidenceClaim, ProvenEntry } from '../../shared/proof/evidence/evidence.ts';
import { checkFiles } from '../../shared/proof/evidence/evidenceFiles.ts';
import {
  commitmentOf,
  observationText,
  REQUEST_HEADER,
  requestDigest,
  STATEMENT_HEADER,
} from '../../shared/proof/evidence/observation.ts';
import { checkEvidenceData } from '../../shared/proof/evidence/verifyEvidence.ts';
import { noteBody } from '../../shared/proof/ledger/signedNote.ts';
import { decide } from '../../shared/proof/verdict.ts';
import { canonicalText } from '../../shared/values/canonicalJson.ts';
import {
  closeTimestampAuthorities,
  EC_KEY,
  TimestampAuthority,
} from '../support/network/timestampAuthority.ts';
import { requirePrograms } from '../support/requirements.ts';
import { keyOf, MADE_AT, SigningOwner } from './signingOwner.ts';

/*
 * Whoever has the key of a node can sign any evidence with it, but not in the name of others. Evidence that counts one
 * witness twice, or gives the words of another a second meaning, is a forgery, whoever has signed it.
 */

afterAll(closeTimestampAuthorities);

/** Returns the verdict, the same as in a browser, and the claims. */
function judged(evidence: Evidence): { verdict: string; why: string; claims: EvidenceClaim[] } {
  const [here, there] = [nodeCrypto, browserCrypto].map((crypto) => {
    const { claims } = checkEvidenceData(JSON.stringify(evidence), crypto);
    const { verdict, because } = decide('evidence', claims);
    return { verdict, why: because.map(({ name, detail }) => `${name} ${detail}`).join(' '), claims };
  });
  expect(there).toEqual(here);
  if (!here) throw new Error('Nothing was judged.');
  return here;
}

const BYTES = Buffer.from('The fee is 20 euros.');
const DIGEST = sha256Of(BYTES.toString());

/** A pack of one file, and nothing else in the ledger. */
function packOf(owner: SigningOwner) {
  const file = { path: 'a.txt', sha256: DIGEST, bytes: BYTES.length, media_type: 'text/plain' };
  const record = canonicalText({ title: 'A title', files: [file] });
  const entry = owner.add('pack.added', `pk_${sha256Of(record).slice(0, 20)}`, record);
  const { path: name, ...rest } = file;
  return { record, entry, files: [{ name, ...rest, content: BYTES.toString('base64') }] };
}

const cosignatures = (claims: readonly EvidenceClaim[]) =>
  claims.filter(({ id }) => id === 'cosignature').map(({ name, state }) => `${state}: ${name}`);

test('a witness counts once, under however many names its key signs, and a node is no witness of itself', () => {
  const owner = new SigningOwner();
  const { record, entry, files } = packOf(owner);
  owner.add('study.created', 'st_1', '{}');
  const { privateKey } = keyOf('any', 1);
  const [one, same] = [cosignerFrom('one.example', privateKey), cosignerFrom('two.example', privateKey)];
  const other = cosignerFrom('other.example', keyOf('any', 2).privateKey);
  const renewed = cosignerFrom('other.example', keyOf('any', 3).privateKey);
  const own = cosignerFrom('third.example', owner.key.privateKey);
  const evidenceOf = (...sizes: { size: number; by: (typeof one)[] }[]) => {
    const witnesses = [...new Set(sizes.flatMap(({ by }) => by.map(({ verifierKey }) => verifierKey)))];
    const proofs = sizes.map(({ size, by }) => owner.prove(entry, size, by));
    return owner.seal({ kind: 'pack', files, witnesses, recorded: { entry, record, proofs } });
  };
  const twice = judged(evidenceOf({ size: 2, by: [one, same, other] }));
  expect(twice.verdict).toBe('intact');
  expect(cosignatures(twice.claims)).toEqual([
    'holds: The witness one.example cosigned the ledger of 2 entries.',
    'holds: The witness other.example cosigned the ledger of 2 entries.',
  ]);
  expect(twice.claims).toContainEqual(
    expect.objectContaining({ detail: expect.stringContaining('It is the same witness as two.example.') }),
  );
  const atTwoSizes = judged(evidenceOf({ size: 2, by: [same] }, { size: 1, by: [one] }));
  expect(cosignatures(atTwoSizes.claims)).toEqual([
    'holds: The witness two.example cosigned the ledger of 2 entries.',
    'holds: The witness two.example cosigned the ledger of 1 entry.',
  ]);
  // Under each of its names, its line must be valid.
  const badLine = evidenceOf({ size: 2, by: [one, same] });
  const [proof] = badLine.recorded.proofs;
  if (!proof) throw new Error('There is no proof.');
  const line = proof.checkpoint.split('\n').at(-2) ?? '';
  proof.checkpoint = proof.checkpoint.replace(line, `${line.slice(0, -8)}AAAA${line.slice(-4)}`);
  expect(judged(owner.seal(badLine)).verdict).toBe('altered');
  // A witness that has a new key keeps its name.
  const byBoth = judged(evidenceOf({ size: 2, by: [renewed] }, { size: 1, by: [other] }));
  expect([byBoth.verdict, byBoth.why]).toEqual(['intact', '']);
  expect(judged(evidenceOf({ size: 2, by: [own] })).why).toContain('Its key is that of the node itself.');
  const named = evidenceOf({ size: 2, by: [one] });
  expect(judged(owner.seal({ ...named, witnesses: [one.verifierKey, one.verifierKey] })).verdict).toBe(
    'altered',
  );
  const repeated = judged(evidenceOf({ size: 2, by: [one] }, { size: 2, by: [one] }));
  expect(repeated.why).toContain('It is there twice.');
});

test('the work for a file grows with its parts, and not with how many of them meet how many others', () => {
  const owner = new SigningOwner();
  const names = Array.from({ length: 2_000 }, (_, index) => `${index}.txt`);
  const rest = { sha256: DIGEST, bytes: BYTES.length, media_type: 'text/plain' };
  const record = canonicalText({ title: 'A title', files: names.map((path) => ({ ...rest, path })) });
  const entry = owner.add('pack.added', `pk_${sha256Of(record).slice(0, 20)}`, record);
  let reads = 0;
  // From the last to the first, each is as far from its place in the record as it can be.
  const files = names.toReversed().map((name) => ({
    ...rest,
    content: null,
    get name() {
      reads += 1;
      return name;
    },
  }));
  const sealed = owner.seal({ kind: 'pack', recorded: owner.proven(entry, record) });
  expect(checkFiles({ ...sealed, files }, nodeCrypto)).toHaveLength(names.length);
  expect(reads).toBeLessThan(10 * names.length);
  // As many as years with other witnesses can bring are read, and more than any node has are not.
  const small = packOf(owner);
  const proven = owner.proven(small.entry, small.record);
  const [proof] = proven.proofs;
  if (!proof) throw new Error('There is no proof.');
  const [one] = [cosignerFrom('one.example', keyOf('any', 1).privateKey)];
  const witnesses = (count: number) => Array.from({ length: count }, (_, at) => `${at}.${one.verifierKey}`);
  const proofs = (count: number) => Array.from({ length: count }, () => proof);
  const whyWith = (parts: Partial<Evidence>, times: number) =>
    judged(
      owner.seal({
        kind: 'pack',
        files: small.files,
        recorded: { ...proven, proofs: proofs(times) },
        ...parts,
      }),
    ).why;
  expect(whyWith({ witnesses: witnesses(256) }, 128)).not.toContain('not what a node writes');
  const stamp = { authority: 'https://one.example', text: noteBody(proof.checkpoint), reply: '' };
  for (const [where, parts, times = 1] of [
    ['witnesses', { witnesses: witnesses(257) }],
    ['timestamps', { timestamps: Array.from({ length: 129 }, () => stamp) }],
    ['recorded.proofs', {}, 129],
    [
      'recorded.entry.subject',
      { recorded: { ...proven, entry: { ...small.entry, subject: 'x'.repeat(2_001) } } },
    ],
  ] as const)
    expect(whyWith(parts, times)).toContain(`${where}: missing, or not what a node writes.`);
});

test('one timestamp is not two, whatever the authority is called', async ({ skip }) => {
  await requirePrograms(['openssl'], skip);
  const owner = new SigningOwner();
  const { record, entry, files } = packOf(owner);
  const recorded = owner.proven(entry, record);
  const text = noteBody(recorded.proofs[0]?.checkpoint ?? '');
  // Both have one name, and give the same numbers.
  const [authority, other] = [await TimestampAuthority.open(EC_KEY), await TimestampAuthority.open(EC_KEY)];
  await writeFile(join(authority.folder, 'text'), text);
  await authority.openssl('ts', '-query', '-data', 'text', '-sha256', '-cert', '-out', 'text.tsq');
  const query = await readFile(join(authority.folder, 'text.tsq'));
  const replies = [await authority.stamp(query), await authority.stamp(query), await other.stamp(query)].map(
    (reply) => reply.toString('base64'),
  );
  const stamped = (...all: [authority: string, reply: string | undefined][]) =>
    judged(
      owner.seal({
        kind: 'pack',
        files,
        recorded,
        timestamps: all.map(([name, reply = '']) => ({ authority: name, text, reply })),
      }),
    );
  expect(stamped(['https://one.example', replies[0]]).verdict).toBe('intact');
  for (const reply of replies.slice(1))
    expect(stamped(['https://one.example', replies[0]], ['https://two.example', reply]).verdict).toBe(
      'intact',
    );
  const same = stamped(['https://one.example', replies[0]], ['https://two.example', replies[0]]);
  expect([same.verdict, same.why]).toEqual([
    'altered',
    expect.stringContaining('It is the same as the timestamp of “https://one.example”.'),
  ]);
});

test('what was recorded has one reading, and belongs together', () => {
  const owner = new SigningOwner();
  const { record, entry, files } = packOf(owner);
  const sealed = (parts: Partial<Evidence>) =>
    owner.seal({ kind: 'pack', files, recorded: owner.proven(entry, record), ...parts });
  expect(judged(sealed({})).verdict).toBe('intact');
  const double = record.replace('"title":', '"title":"Another title","title":');
  const ofDouble = owner.add('pack.added', `pk_${sha256Of(double).slice(0, 20)}`, double);
  expect(judged(sealed({ recorded: owner.proven(ofDouble, double) })).why).toContain(
    'The record is not canonical JSON.',
  );
  const stated = owner.add('pack.added', `pk_${sha256Of(record).slice(0, 20)}`, record, 'long ago');
  expect(judged(sealed({ recorded: owner.proven(stated, record) })).verdict).toBe('altered');
  // By its type, the words of a quotation are looked for in a file.
  for (const other of [{ media_type: 'text/plain; charset=utf-16' }, { bytes: 21, content: null }])
    expect(judged(sealed({ files: files.map((file) => ({ ...file, ...other })) })).verdict).toBe('altered');
  const passage = { sha256: DIGEST, exact: 'fee is 20', prefix: '', suffix: '', page: null, derived: null };
  const finding = canonicalText({ id: 'fi_1', at: MADE_AT, text: 'So much.', passage });
  const salt = 'ab'.repeat(32);
  const add = (type: string, digest?: string) => owner.add(type, 'fi_1', finding, MADE_AT, digest);
  const digest = nodeCrypto.digest('sha256', Buffer.concat([Buffer.from(salt, 'hex'), Buffer.from(finding)]));
  const seal = () => add('finding.sealed', Buffer.from(digest).toString('hex'));
  const revealedFrom = (before: typeof entry, after: typeof entry) =>
    judged(
      sealed({
        finding: owner.proven(after, finding),
        sealed: { ...owner.proven(before, finding), salt, witnesses: [], timestamps: [] },
      }),
    );
  const [first, second, third] = [seal(), add('finding.revealed'), seal()];
  expect(revealedFrom(first, second).verdict).toBe('intact');
  expect(revealedFrom(third, second).why).toContain('It was sealed after it was revealed.');
  // Other entries may come between the words and their seal, but no seal is older than its words.
  const sealedAt = (at: string) =>
    owner.add('finding.sealed', 'fi_1', finding, at, Buffer.from(digest).toString('hex'));
  const [after, before] = [sealedAt('2026-11-30T00:00:00.000Z'), sealedAt('2001-01-01T00:00:00.000Z')];
  const revealed = add('finding.revealed');
  expect(revealedFrom(after, revealed).verdict).toBe('intact');
  expect(revealedFrom(before, revealed).why).toContain('another time than its entry');
  const late = owner.add('finding.added', 'fi_1', finding, '2026-11-30T00:00:00.000Z');
  expect(judged(sealed({ finding: owner.proven(late, finding) })).why).toContain(
    'The finding has another time than its entry.',
  );
});

const URL_OF_EVENT = 'https://page.example/';

/** An event, and how it was fetched. */
function eventOf(owner: SigningOwner, fetched: Record<string, unknown> = {}, observed_at = MADE_AT) {
  const common = { source: 'so_1', observer: 'self', sha256: DIGEST };
  const retrieval = canonicalText({
    ...common,
    id: 1,
    url: URL_OF_EVENT,
    content_type: 'text/plain',
    ...fetched,
  });
  const root = leafHash(retrieval).toString('hex');
  const batch = canonicalText({ first: 1, last: 1, root });
  const recorded = canonicalText({
    ...common,
    id: 1,
    url: URL_OF_EVENT,
    retrieval: 1,
    observed_at,
    previous_sha256: null,
  });
  const covered = owner.add('retrievals.recorded', '1-1', batch);
  const entry = owner.add('event.recorded', '1', recorded);
  const content = BYTES.toString('base64');
  const files = [{ name: 'after', sha256: DIGEST, bytes: BYTES.length, media_type: 'text/plain', content }];
  return {
    seal: (parts: Partial<Evidence> = {}) =>
      owner.seal({
        kind: 'event',
        recorded: owner.proven(entry, recorded),
        retrieval: { ...owner.proven(covered, batch), retrieval, hashes: [] },
        files,
        ...parts,
      }),
  };
}

test('an event has the retrieval of its own source and observer', () => {
  const verdictWith = (fetched: Record<string, unknown>) =>
    judged(eventOf(new SigningOwner(), fetched).seal()).verdict;
  expect(verdictWith({})).toBe('intact');
  for (const fetched of [
    { source: 'so_2' },
    { url: 'https://other.example/' },
    { observer: 'handed-in:somebody' },
    { content_type: 'text/plain; charset=utf-16' },
  ])
    expect(verdictWith(fetched), JSON.stringify(fetched)).toBe('altered');
});

interface Stated {
  peer: NodeKey;
  called?: string;
  nonce?: string;
  agreement?: string;
  /** Who signs the request, and who it says that it is from. */
  by?: NodeKey;
  from?: NodeKey;
  /** What the peer signs that it got. */
  got?: { sha256: string; text: unknown };
}

/** What a peer signed of an event, as the owner records it. */
function statedBy(
  owner: SigningOwner,
  {
    peer,
    called = peer.name,
    nonce = 'n1',
    agreement,
    by,
    from: asking = owner.key,
    got = { sha256: DIGEST, text: null },
  }: Stated,
): ProvenEntry {
  const { verifierKey: from } = asking;
  const asked = { url: URL_OF_EVENT, requested_at: MADE_AT, nonce };
  const commitment = commitmentOf('salt', DIGEST, nodeCrypto);
  const request = signNote(
    by ?? owner.key,
    observationText(REQUEST_HEADER, { ...asked, from, to: peer.verifierKey, commitment }),
  );
  const statement = signNote(
    peer,
    observationText(STATEMENT_HEADER, {
      ...asked,
      request: requestDigest(request, nodeCrypto),
      by: peer.verifierKey,
      fetched_at: MADE_AT,
      error: null,
      ...got,
    }),
  );
  const record = canonicalText({
    nonce,
    peer: { name: called, key: peer.verifierKey },
    request,
    statement,
    event: 1,
    salt: 'salt',
    agreement: agreement ?? 'same_bytes',
  });
  const entry = owner.add('observation.signed', nonce, record);
  return { entry, record, proofs: [] };
}

test('a peer is another node, counts once, and is called as in its key', () => {
  const seenBy = (...all: ((owner: SigningOwner) => Stated)[]) => {
    const owner = new SigningOwner();
    const { seal } = eventOf(owner);
    const stated = all.map((each) => statedBy(owner, each(owner)));
    return judged(seal({ seen_by: stated.map(({ entry, record }) => owner.proven(entry, record)) }));
  };
  const [peer, other] = [keyOf('peer.example', 11), keyOf('other.example', 12)];
  const genuine = seenBy(
    () => ({ peer, called: 'The National Library' }),
    () => ({ peer: other, nonce: 'n2' }),
  );
  expect([genuine.verdict, genuine.why]).toEqual(['intact', '']);
  expect(genuine.claims).toContainEqual({
    id: 'seen_by',
    state: 'holds',
    name: 'peer.example signed that it got the same bytes from the same address.',
    detail: expect.stringContaining('The node calls it “The National Library”.'),
  });
  // Which text the node got, the peer does not know.
  const sha256 = sha256Of('Other bytes');
  const got = { sha256, text: { sha256, blocks: 1 } };
  for (const agreement of ['same_text', 'differs'])
    expect(seenBy(() => ({ peer, agreement, got })).claims).toContainEqual(
      expect.objectContaining({
        state: 'holds',
        name: 'peer.example signed that it got other bytes from the same address.',
      }),
    );
  // What it answered to another node fixed nothing of this one.
  const another = keyOf('honest.example', 13);
  const ofOther = new SigningOwner();
  const asked = statedBy(ofOther, { peer, by: another, from: another });
  const reused = judged(eventOf(ofOther).seal({ seen_by: [ofOther.proven(asked.entry, asked.record)] }));
  expect(reused.claims.filter(({ id }) => id === 'seen_by')[0]).toMatchObject({
    name: 'peer.example signed, as another key asked, that it got the same bytes from the same address.',
    detail: expect.not.stringContaining('this node’s'),
  });
  // A time without its zone is another one elsewhere.
  for (const observed of [MADE_AT.replace('Z', ''), `(${MADE_AT}) ${MADE_AT}`]) {
    const owner = new SigningOwner();
    const { seal } = eventOf(owner, {}, observed);
    const { entry, record } = statedBy(owner, { peer });
    expect(judged(seal({ seen_by: [owner.proven(entry, record)] })).why).toContain('another form');
  }
  const forged: [why: string, ...all: ((owner: SigningOwner) => Stated)[]][] = [
    ['got no text', () => ({ peer, agreement: 'same_text', got: { sha256, text: null } })],
    ['something else than the node says', () => ({ peer, agreement: 'same_text' })],
    ['that of the node itself', ({ key }) => ({ peer: key })],
    ['that of the node itself', () => ({ peer: keyOf('another.example', 7) })],
    ['signed twice', () => ({ peer }), () => ({ peer, nonce: 'n2' })],
    ['signed twice', () => ({ peer }), () => ({ peer: keyOf('again.example', 11), nonce: 'n2' })],
    ['no known way', () => ({ peer, agreement: 'what three courts got' })],
    ['has not signed', () => ({ peer, by: other })],
  ];
  for (const [why, ...all] of forged) {
    const { verdict, why: found } = seenBy(...all);
    expect([verdict, found], why).toEqual(['altered', expect.stringContaining(why)]);
  }
});
