import { HANDED_IN_WORDS } from '../collection/handedInWords.ts';
import type { RecordedFinding } from '../findings/finding.ts';
import type { ProofCrypto } from './algorithms.ts';
import { concat, fromBase64, hexOf, isSameBytes, utf8 } from './bytes.ts';
import {
  type Claim,
  canonicalOf,
  checkSeal,
  type Evidence,
  judge,
  type ProvenEntry,
  requireThat,
  sha256,
} from './evidence.ts';
import { checkFiles, checkSet } from './evidenceFiles.ts';
import { checkSeenBy } from './observation.ts';
import { seePassage } from './seenPassage.ts';
import { countLines, openCheckpoint, openCosignature, ProofError } from './signedNote.ts';
import { verifyTimestamp } from './timestamp.ts';
import { rootFromLeaf } from './tree.ts';

/** What an event or a retrieval recorded, as far as it is compared here. */
interface Recorded {
  id?: number;
  retrieval?: number;
  sha256?: string | null;
  source?: string;
  observer?: string;
  page?: string;
}

/**
 * Recomputes everything that an evidence file holds, and says of each claim whether it holds, fails, or is only claimed.
 * Needs no network and no Strongroom.
 *
 * @param set what `checkSet` found, for those who need its files too: a large list takes seconds
 */
export function checkEvidence(
  evidence: Evidence,
  crypto: ProofCrypto,
  set = checkSet(evidence, crypto),
): Claim[] {
  return [
    ...checkRecorded(evidence, crypto),
    ...checkCheckpoints(evidence, crypto),
    ...evidence.timestamps.flatMap((timestamp) => checkTimestamp(evidence, timestamp, crypto)),
    ...checkRetrieval(evidence, crypto),
    ...checkPage(evidence, crypto),
    ...(evidence.seen_by ?? []).flatMap((proven) => [
      ...checkSeenBy(proven, evidence, crypto),
      ...checkOtherEntry('peer’s statement', proven, evidence.key, crypto),
    ]),
    ...checkFiles(evidence, crypto),
    ...set.claims,
    ...checkFinding(evidence, crypto),
    ...checkSeal(evidence, crypto),
    ...claimedOnly(evidence),
  ];
}

function checkRecorded({ kind, recorded }: Evidence, crypto: ProofCrypto): Claim[] {
  const { entry, record } = recorded;
  const what = kind === 'event' ? 'event' : 'pack';
  return [
    judge(
      `The ledger entry ${entry.seq} is of this ${what}.`,
      'The SHA-256 of the record is the digest in the entry.',
      () => {
        requireThat(sha256(record, crypto) === entry.digest, `The record of the ${what} was altered.`);
        const subject =
          kind === 'event' ? String((JSON.parse(record) as Recorded).id) : `pk_${entry.digest.slice(0, 20)}`;
        const type = kind === 'event' ? 'event.recorded' : 'pack.added';
        requireThat(entry.subject === subject && entry.type === type, 'The entry is of something else.');
      },
    ),
    checkEntry('The ledger entry is intact.', recorded, crypto),
  ];
}

function checkEntry(claim: string, { entry }: ProvenEntry, crypto: ProofCrypto): Claim {
  return judge(claim, 'Its hash is the SHA-256 of the rest of it.', () => {
    const { hash, ...unsealed } = entry;
    requireThat(sha256(canonicalOf(unsealed), crypto) === hash, 'The ledger entry was altered.');
  });
}

function entriesOf(size: string): string {
  return size === '1' ? '1 entry' : `${size} entries`;
}

/** Each checkpoint: its signature, the entry in it, and the lines of witnesses. */
function checkCheckpoints(
  { recorded, key, witnesses }: Pick<Evidence, 'recorded' | 'key' | 'witnesses'>,
  crypto: ProofCrypto,
  /** Those whose signatures are checked elsewhere. */
  known: readonly string[] = [],
): Claim[] {
  return recorded.proofs.flatMap(({ checkpoint }, index) => {
    const size = checkpoint.split('\n', 2)[1] ?? '';
    const isSigned = judge(
      `The node signed its ledger of ${entriesOf(size)}.`,
      'Its Ed25519 signature is over this checkpoint.',
      () => {
        openCheckpoint(checkpoint, key, crypto);
        const found = witnesses.filter((witness) =>
          openCosignatureSafely(checkpoint, witness, crypto),
        ).length;
        requireThat(
          countLines(checkpoint) === found + 1,
          'The checkpoint has a signature line from an unknown key.',
        );
      },
    );
    const isIncluded = judge(
      `The entry ${recorded.entry.seq} is in that ledger of ${entriesOf(size)}.`,
      'The Merkle proof leads from the entry to the root in the checkpoint.',
      () => requireIncluded(recorded, index, key, crypto),
    );
    if (known.includes(checkpoint)) return [isIncluded];
    const cosigned = witnesses
      .filter((witness) => checkpoint.includes(`\n— ${witness.split('+', 1)[0]} `))
      .map((witness) => checkCosignature(checkpoint, witness, size, crypto));
    return [isSigned, isIncluded, ...cosigned];
  });
}

/** Whether a witness has a line at all; whether it is valid is a claim of its own. */
function openCosignatureSafely(checkpoint: string, witness: string, crypto: ProofCrypto): boolean {
  try {
    return openCosignature(checkpoint, witness, crypto) !== undefined;
  } catch (error) {
    if (error instanceof ProofError) return true;
    throw error;
  }
}

/** @throws ProofError, RangeError */
function requireIncluded(
  { entry, proofs }: ProvenEntry,
  index: number,
  key: string,
  crypto: ProofCrypto,
): void {
  const proof = proofs[index];
  if (!proof) throw new ProofError('There is no proof for it.');
  const { size, root } = openCheckpoint(proof.checkpoint, key, crypto);
  const computed = rootFromLeaf(canonicalOf(entry), { index: entry.seq - 1, size }, proof.hashes, crypto);
  requireThat(isSameBytes(computed, root), 'The entry or its proof was altered: they lead to another root.');
}

function checkCosignature(checkpoint: string, witness: string, size: string, crypto: ProofCrypto): Claim {
  const name = witness.split('+', 1)[0];
  let at = 0;
  const judged = judge(`The witness ${name} cosigned the ledger of ${entriesOf(size)}.`, '', () => {
    at = openCosignature(checkpoint, witness, crypto) ?? 0;
  });
  if (judged.verdict !== 'holds') return judged;
  const detail = `It states that it did so at ${new Date(at).toISOString()}, after checking that this ledger continues the previous one. Compare its key: ${witness}`;
  return { ...judged, detail };
}

function checkTimestamp(
  { recorded }: Pick<Evidence, 'recorded'>,
  { authority, text, reply }: Evidence['timestamps'][number],
  crypto: ProofCrypto,
  of: 'entry' | 'seal' = 'entry',
): Claim[] {
  let found: { at: number; signer: string; issuer: string } | undefined;
  const intact = judge(
    `The timestamp of ${authority} covers a checkpoint with this ${of}.`,
    'Its imprint is the SHA-256 of the checkpoint, and its signature matches the certificate that it contains.',
    () => {
      const isOfProof = recorded.proofs.some(({ checkpoint }) => checkpoint.startsWith(`${text}\n— `));
      requireThat(isOfProof && text !== '', 'It covers a checkpoint that is not in this file.');
      found = verifyTimestamp(fromBase64(reply), utf8(text), crypto);
    },
  );
  if (!found) return [intact];
  const { at, signer, issuer } = found;
  const claim = `The ${of} existed before ${new Date(at).toISOString()}.`;
  const detail = `The authority ${signer} states this by its own clock. Its certificate names ${issuer} as the issuer. Check the certificate with openssl ts -verify -CAfile.`;
  return [intact, { verdict: 'claimed', claim, detail }];
}

function checkRetrieval({ retrieval: proven, recorded, key, kind }: Evidence, crypto: ProofCrypto): Claim[] {
  if (!proven || kind !== 'event') return [];
  return [
    judge(
      'How it was fetched is in the ledger too.',
      `Entry ${proven.entry.seq} covers this retrieval.`,
      () => {
        const { first, last, root } = JSON.parse(proven.record) as {
          first: number;
          last: number;
          root: string;
        };
        const { id, sha256: digest } = JSON.parse(proven.retrieval) as { id: number; sha256: string | null };
        const event = JSON.parse(recorded.record) as Recorded;
        requireThat(
          sha256(proven.record, crypto) === proven.entry.digest,
          'The record of the retrievals was altered.',
        );
        const place = { index: id - first, size: last - first + 1 };
        const computed = rootFromLeaf(proven.retrieval, place, proven.hashes, crypto);
        requireThat(
          hexOf(computed) === root,
          'The retrieval or its proof was altered: they lead to another root.',
        );
        requireThat(proven.entry.type === 'retrievals.recorded', 'The entry is of something else.');
        requireThat(event.retrieval === id, 'The retrieval is of another event.');
        requireThat(
          (event.sha256 ?? null) === null || event.sha256 === digest,
          'The retrieval returned a different object.',
        );
      },
    ),
    ...checkOtherEntry('retrieval', proven, key, crypto),
  ];
}

/** An entry besides that of the event is proven at the newest size only. */
function checkOtherEntry(of: string, proven: ProvenEntry, key: string, crypto: ProofCrypto): Claim[] {
  return [
    checkEntry(`The entry of the ${of} is intact.`, proven, crypto),
    judge(
      `The entry of the ${of} is in the signed ledger.`,
      'The Merkle proof leads to the root in the checkpoint.',
      () => requireIncluded(proven, 0, key, crypto),
    ),
  ];
}

/** An event that a browser saw names its page capture, whose record has the picture and the list of requests. */
function checkPage({ page: proven, recorded, key, kind }: Evidence, crypto: ProofCrypto): Claim[] {
  if (kind !== 'event') return [];
  const claim = 'The page capture is in the ledger too.';
  const recordedPage = judge(claim, `Entry ${proven?.entry.seq} recorded it, with its picture.`, () => {
    const event = JSON.parse(recorded.record) as Recorded;
    requireThat(event.page === undefined || proven !== undefined, 'The page capture was removed.');
    if (!proven) return;
    const page = JSON.parse(proven.record) as { id: string; text: string };
    const { digest, type, subject } = proven.entry;
    requireThat(sha256(proven.record, crypto) === digest, 'The record of the page was altered.');
    requireThat(type === 'page.captured' && subject === page.id, 'The entry is of something else.');
    requireThat(event.page === page.id && event.sha256 === page.text, 'The page is of another event.');
  });
  // Most events have no page, and nothing is claimed of it then.
  if (!proven) return recordedPage.verdict === 'fails' ? [recordedPage] : [];
  return [recordedPage, ...checkOtherEntry('page capture', proven, key, crypto)];
}

/** A finding quotes words that are in one of the files. */
function checkFinding(evidence: Evidence, crypto: ProofCrypto): Claim[] {
  const { format, finding: proven, sealed, files, key } = evidence;
  if (!proven) {
    if (format !== 'strongroom-evidence@3') return [];
    const detail = 'The evidence of a passage has one, but it was removed.';
    return [{ verdict: 'fails', claim: 'The finding is in this evidence.', detail }];
  }
  const { entry, record } = proven;
  return [
    judge(
      `The ledger entry ${entry.seq} is of the finding with this quotation.`,
      'The SHA-256 of the finding, with the quoted words, is the digest in the entry.',
      () => {
        requireThat(sha256(record, crypto) === entry.digest, 'The finding or its quotation was altered.');
        const { id } = JSON.parse(record) as { id: string };
        requireThat(
          entry.type === (sealed ? 'finding.revealed' : 'finding.added') && entry.subject === id,
          'The entry is of something else.',
        );
      },
    ),
    ...checkOtherEntry('finding', proven, key, crypto),
    ...(sealed ? checkSealed(sealed, proven, evidence, crypto) : []),
    checkPassage(record, files, crypto),
  ];
}

/** A finding that was revealed is what was sealed before. */
function checkSealed(
  sealed: NonNullable<Evidence['sealed']>,
  { entry: revealed, record }: ProvenEntry,
  { key, recorded }: Evidence,
  crypto: ProofCrypto,
): Claim[] {
  const { entry, salt, witnesses, timestamps = [] } = sealed;
  const known = recorded.proofs.map(({ checkpoint }) => checkpoint);
  return [
    judge(
      `The ledger entry ${entry.seq} of ${entry.at} sealed this finding.`,
      'The SHA-256 of the salt and the finding is the digest in that entry.',
      () => {
        requireThat(/^[0-9a-f]{64}$/.test(salt), 'The salt was altered.');
        const bytes = concat(bytesOfHex(salt), utf8(record));
        requireThat(
          sha256(bytes, crypto) === entry.digest,
          'It sealed something else, or the salt was altered.',
        );
        requireThat(
          entry.type === 'finding.sealed' && entry.subject === revealed.subject,
          'The entry is of something else.',
        );
      },
    ),
    ...checkOtherEntry('seal', sealed, key, crypto),
    // Files that were made before have neither.
    ...(witnesses ? checkCheckpoints({ recorded: sealed, key, witnesses }, crypto, known) : []),
    ...timestamps.flatMap((timestamp) => checkTimestamp({ recorded: sealed }, timestamp, crypto, 'seal')),
    {
      verdict: 'claimed',
      claim: 'The time of the seal is right.',
      detail: `It is from the node’s clock.${witnesses?.length || timestamps.length ? ' Timestamps and witnesses limit it independently.' : ''}`,
    },
  ];
}

function bytesOfHex(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

function checkPassage(record: string, files: Evidence['files'], crypto: ProofCrypto): Claim {
  const claim = 'The quoted words are in the bytes.';
  let unseen: string | undefined;
  const judged = judge(claim, 'They were found in the bytes here, white space aside.', () => {
    const { passage } = JSON.parse(record) as Pick<RecordedFinding, 'passage'>;
    const file = files.find((one) => one.sha256 === passage?.sha256);
    requireThat(passage !== null && file !== undefined, 'The finding quotes another object.');
    if (!passage || !file) return;
    if (file.content === null) {
      unseen = 'The bytes are not in this file. Whoever has them can look for the words in them.';
      return;
    }
    const bytes = fromBase64(file.content);
    requireThat(sha256(bytes, crypto) === passage.sha256, 'The bytes were altered.');
    const seen = seePassage(bytes, file.media_type, passage);
    requireThat(seen !== 'absent', 'The words are not in the bytes.');
    if (seen !== 'unreadable') return;
    const { tool, version } = passage.derived ?? { tool: 'the node', version: '' };
    const page = passage.page === null ? '' : ` on page ${passage.page}`;
    unseen = `The node states that ${tool} ${version} found them${page}. Open the bytes with a program that shows them, and look.`;
  });
  return unseen === undefined || judged.verdict === 'fails'
    ? judged
    : { verdict: 'claimed', claim, detail: unseen };
}

/** What nothing in the file can prove. */
function claimedOnly({ key, made_at, kind, diff, retrieval, page, finding }: Evidence): Claim[] {
  const claimed = (claim: string, detail: string): Claim => ({ verdict: 'claimed', claim, detail });
  return [
    claimed(
      `The key belongs to the node ${key.split('+', 1)[0]}.`,
      `Compare it with a copy from someone you trust: ${key}`,
    ),
    claimed(
      kind === 'event' ? 'The times of the observation are right.' : 'The time of the entry is right.',
      'It is from the node’s clock. Timestamps and witnesses limit it independently.',
    ),
    ...(kind === 'event'
      ? [
          page
            ? claimed(
                'The page showed this text and this picture.',
                'Only the node that drew it states this. Anyone who has the parts of the page can draw it again.',
              )
            : retrieval?.retrieval.includes('"observer":"handed-in:')
              ? claimed(
                  'The address showed this to the person who handed it in.',
                  `Only the person states this. It was ${HANDED_IN_WORDS}.`,
                )
              : claimed(
                  'The address answered with these bytes.',
                  'Only the node states this. Other observers may have seen the same.',
                ),
          ...(retrieval?.retrieval.includes('"connection":{')
            ? [
                claimed(
                  retrieval.retrieval.includes('"tls":{')
                    ? 'The server had this network address and these certificates.'
                    : 'The server had this network address.',
                  'Only the observer states this. The server signed nothing that could prove it.',
                ),
              ]
            : []),
        ]
      : [
          claimed(
            'What the record says is true.',
            'Only the authors state this. The file proves that they stated it.',
          ),
        ]),
    ...(diff === null
      ? []
      : [
          claimed(
            'The list of differences is complete.',
            'The node computed it. Compare the two versions yourself.',
          ),
        ]),
    ...(finding
      ? [
          claimed(
            'What the finding says about the words is true.',
            'Only the owner of the archive states this. The file proves that they stated it.',
          ),
        ]
      : []),
    claimed(`This file was made ${made_at}.`, 'It is from the node’s clock.'),
  ];
}
