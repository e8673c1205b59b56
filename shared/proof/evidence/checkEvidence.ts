import { HANDED_IN_WORDS, isHandedIn, isOwnObserver, SELF } from '../../collection/observers.ts';
import { inQuotes } from '../../values/quotes.ts';
import type { ProofCrypto } from '../crypto/algorithms.ts';
import { hexOf } from '../crypto/bytes.ts';
import { ifValid, rawKeyOf, requireNodeKey } from '../ledger/signedNote.ts';
import { rootFromLeaf } from '../ledger/tree.ts';
import { shownInstant, shownKey, shownKeyName } from '../words.ts';
import { checkFinding } from './checkFinding.ts';
import {
  checkSeal,
  type Evidence,
  type EvidenceClaim,
  judge,
  type ProvenEntry,
  recordIn,
  requireThat,
  sha256,
  stated,
} from './evidence.ts';
import { checkFiles, checkSet } from './evidenceFiles.ts';
import { checkSeenBy } from './observation.ts';
import {
  checkCheckpoints,
  checkEntry,
  checkOneLedger,
  checkOtherEntry,
  checkTimestamps,
  NOT_LATER,
  OWN_CLOCK,
} from './provenEntry.ts';

/**
 * Recomputes everything that the data of an evidence file holds, and says of each claim whether it holds, fails, or is only
 * claimed. Needs no network and no Strongroom. The data has the form of evidence (`readEvidence`).
 *
 * @param set what `checkSet` found, for those who need its files too: a large list takes seconds
 */
export function checkEvidence(
  evidence: Evidence,
  crypto: ProofCrypto,
  set = checkSet(evidence, crypto),
): EvidenceClaim[] {
  return [
    { id: 'form', name: 'The data has the form of evidence.', state: 'holds', detail: evidence.format },
    judge('key', 'The key of the node is well formed.', 'Its name and its bytes have the hash in it.', () =>
      requireNodeKey(evidence.key, crypto),
    ),
    ...checkRecorded(evidence, crypto),
    ...checkCheckpoints(evidence, crypto),
    checkOneLedger(provenIn(evidence)),
    ...checkTimestamps(evidence.recorded, evidence.timestamps, crypto),
    ...checkRetrieval(evidence, crypto),
    ...checkPage(evidence, crypto),
    ...checkPeers(evidence, crypto),
    ...checkFiles(evidence, crypto),
    ...set.claims,
    ...checkFinding(evidence, crypto),
    ...checkSeal(evidence, crypto),
    ...statedOf(evidence),
  ];
}

/** All entries in a file, each with its proofs. */
function provenIn({ recorded, retrieval, page, finding, sealed, seen_by = [] }: Evidence): ProvenEntry[] {
  return [recorded, retrieval, page, finding, sealed, ...seen_by].filter(
    (each) => each !== null && each !== undefined,
  );
}

function checkRecorded({ kind, recorded }: Evidence, crypto: ProofCrypto): EvidenceClaim[] {
  const { entry, record } = recorded;
  return [
    judge(
      'record',
      `The ledger entry ${entry.seq} is of this ${kind}.`,
      'The SHA-256 of the record is the digest in the entry.',
      () => {
        requireThat(sha256(record, crypto) === entry.digest, `The record of the ${kind} was altered.`);
        const { id } = recordIn(record);
        const subject = kind === 'event' ? String(id) : `pk_${entry.digest.slice(0, 20)}`;
        const type = kind === 'event' ? 'event.recorded' : 'pack.added';
        requireThat(entry.subject === subject && entry.type === type, 'The entry is of something else.');
      },
    ),
    checkEntry('entry', 'The ledger entry is intact.', recorded, crypto),
  ];
}

function checkRetrieval(evidence: Evidence, crypto: ProofCrypto): EvidenceClaim[] {
  const { retrieval: proven, recorded } = evidence;
  if (!proven) return [];
  return [
    judge(
      'retrieval',
      'How it was fetched is in the ledger too.',
      `Entry ${proven.entry.seq} covers this retrieval.`,
      () => {
        const { first, last, root } = recordIn(proven.record);
        const { id, url, sha256: digest, source, observer } = recordIn(proven.retrieval);
        const event = recordIn(recorded.record);
        requireThat(
          sha256(proven.record, crypto) === proven.entry.digest,
          'The record of the retrievals was altered.',
        );
        const place = { index: Number(id) - Number(first), size: Number(last) - Number(first) + 1 };
        const computed = rootFromLeaf(proven.retrieval, place, proven.hashes, crypto);
        requireThat(
          hexOf(computed) === root,
          'The retrieval or its proof was altered: they lead to another root.',
        );
        requireThat(proven.entry.type === 'retrievals.recorded', 'The entry is of something else.');
        const isOfEvent =
          event.retrieval === id &&
          event.url === url &&
          event.source === source &&
          event.observer === observer;
        requireThat(isOfEvent, 'The retrieval is of another event.');
        requireThat(
          (event.sha256 ?? null) === null || event.sha256 === digest,
          'The retrieval returned a different object.',
        );
      },
    ),
    ...checkOtherEntry('retrieval', 'retrieval', proven, evidence, crypto),
  ];
}

/** An event that a browser saw names its page capture, whose record has the picture and the list of requests. */
function checkPage(evidence: Evidence, crypto: ProofCrypto): EvidenceClaim[] {
  const { page: proven, recorded, kind } = evidence;
  if (kind !== 'event') return [];
  const name = 'The page capture is in the ledger too.';
  const detail = `Entry ${proven?.entry.seq} recorded it, with its picture.`;
  const recordedPage = judge('page_capture', name, detail, () => {
    const event = recordIn(recorded.record);
    requireThat(event.page === undefined || proven !== undefined, 'The page capture was removed.');
    if (!proven) return;
    const page = recordIn(proven.record);
    const { digest, type, subject } = proven.entry;
    requireThat(sha256(proven.record, crypto) === digest, 'The record of the page was altered.');
    requireThat(type === 'page.captured' && subject === page.id, 'The entry is of something else.');
    requireThat(event.page === page.id && event.sha256 === page.text, 'The page is of another event.');
  });
  // Most events have no page, and nothing is claimed of it then.
  if (!proven) return recordedPage.state === 'fails' ? [recordedPage] : [];
  return [recordedPage, ...checkOtherEntry('page_capture', 'page capture', proven, evidence, crypto)];
}

/** What each peer signed, and its entry. A peer counts once, whatever it is called. */
function checkPeers(evidence: Evidence, crypto: ProofCrypto): EvidenceClaim[] {
  const seen = new Set([rawKeyOf(evidence.key)]);
  return (evidence.seen_by ?? []).flatMap((proven) => [
    ...checkSeenBy(proven, evidence, crypto, seen),
    ...checkOtherEntry('seen_by', 'peer’s statement', proven, evidence, crypto),
  ]);
}

/** What nothing in the file can prove. */
function statedOf({
  key,
  made_at,
  kind,
  diff,
  recorded,
  retrieval,
  page,
  finding,
}: Evidence): EvidenceClaim[] {
  return [
    stated(
      `The key belongs to the node ${shownKeyName(key)}.`,
      `Compare it with a copy from someone you trust: ${shownKey(key)}`,
    ),
    ...(kind === 'event'
      ? [
          ...statedByObserver(recorded.record, page !== undefined),
          ...(retrieval?.retrieval.includes('"connection":{')
            ? [
                stated(
                  retrieval.retrieval.includes('"tls":{')
                    ? 'The server had this network address and these certificates.'
                    : 'The server had this network address.',
                  'Only the observer states this. The server signed nothing that could prove it.',
                ),
              ]
            : []),
        ]
      : [
          stated('The time of the entry is right.', NODE_CLOCK),
          stated(
            'What the record says is true.',
            'Only the authors state this. The file proves that they stated it.',
          ),
        ]),
    ...(diff === null
      ? []
      : [
          stated(
            'The list of differences is complete.',
            'The node computed it. Compare the two versions yourself.',
          ),
        ]),
    ...(finding
      ? [
          stated(
            'What the finding says about the words is true.',
            'Only the owner of the archive states this. The file proves that they stated it.',
          ),
        ]
      : []),
    stated(`This file was made ${made_at}.`, OWN_CLOCK),
  ];
}

const NODE_CLOCK = `${OWN_CLOCK} ${NOT_LATER}`;

/** What only the observer of an event states: what was seen, and when. The node has not seen what another observer states. */
function statedByObserver(record: string, hasPage: boolean): EvidenceClaim[] {
  // A record that cannot be read is a failure of its own.
  const { observer, original_observed_at: original } = ifValid(() => recordIn(record)) ?? {};
  const by = typeof observer === 'string' ? observer : SELF;
  const seen = hasPage
    ? stated(
        'The page showed this text and this picture.',
        'Only the node that drew it states this. Anyone who has the parts of the page can draw it again.',
      )
    : stated(...whatWasSeen(by));
  const isOwn = isOwnObserver(by);
  const who = isOwn ? 'the node' : isHandedIn(by) ? 'the person who handed it in' : inQuotes(by);
  return [
    stated(
      isOwn ? 'The times of the observation are right.' : 'The time when the node received it is right.',
      NODE_CLOCK,
    ),
    ...(typeof original === 'string'
      ? [
          stated(
            `It was seen at ${shownInstant(original)}.`,
            `Only ${who} states this time. No clock of the node, no timestamp and no witness limits it.`,
          ),
        ]
      : []),
    seen,
  ];
}

function whatWasSeen(observer: string): [name: string, detail: string] {
  if (isHandedIn(observer))
    return [
      'The address showed this to the person who handed it in.',
      `Only the person states this. It was ${HANDED_IN_WORDS}.`,
    ];
  const name = 'The address answered with these bytes.';
  if (isOwnObserver(observer))
    return [name, 'Only the node states this. Other observers may have seen the same.'];
  return [
    name,
    `Only ${inQuotes(observer)} states this: this node received the bytes and did not fetch them.`,
  ];
}
