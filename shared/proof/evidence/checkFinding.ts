import type { Passage } from '../../findings/finding.ts';
import type { ProofCrypto } from '../crypto/algorithms.ts';
import { bytesOfHex, concat, fromBase64, utf8 } from '../crypto/bytes.ts';
import {
  type Evidence,
  type EvidenceClaim,
  judge,
  type ProvenEntry,
  recordIn,
  requireThat,
  sha256,
  stated,
} from './evidence.ts';
import { checkCheckpoints, checkOtherEntry, checkTimestamps, NOT_LATER, OWN_CLOCK } from './provenEntry.ts';
import { seePassage } from './seenPassage.ts';

/** A finding quotes words that are in one of the files. */
export function checkFinding(evidence: Evidence, crypto: ProofCrypto): EvidenceClaim[] {
  const { finding: proven, sealed, files } = evidence;
  if (!proven) return [];
  const { entry, record } = proven;
  return [
    judge(
      'finding',
      `The ledger entry ${entry.seq} is of the finding with this quotation.`,
      'The SHA-256 of the finding, with the quoted words, is the digest in the entry.',
      () => {
        requireThat(sha256(record, crypto) === entry.digest, 'The finding or its quotation was altered.');
        const { id, at } = recordIn(record);
        requireThat(
          entry.type === (sealed ? 'finding.revealed' : 'finding.added') && entry.subject === id,
          'The entry is of something else.',
        );
        // A finding is written before it is sealed, so its own time can be earlier than that of the seal.
        const isInTime = sealed ? String(at) <= sealed.entry.at : at === entry.at;
        requireThat(isInTime, 'The finding has another time than its entry.');
      },
    ),
    ...checkOtherEntry('finding', 'finding', proven, evidence, crypto),
    ...(sealed
      ? checkSealed(sealed, proven, evidence, crypto)
      : [stated('The time of the finding is right.', OWN_CLOCK)]),
    checkPassage(record, files, crypto),
  ];
}

/** A finding that was revealed is what was sealed before. */
function checkSealed(
  sealed: NonNullable<Evidence['sealed']>,
  { entry: revealed, record }: ProvenEntry,
  { key, recorded, witnesses: known }: Evidence,
  crypto: ProofCrypto,
): EvidenceClaim[] {
  const { entry, salt, witnesses, timestamps = [] } = sealed;
  return [
    judge(
      'sealed',
      `The ledger entry ${entry.seq} of ${entry.at} sealed this finding.`,
      'The SHA-256 of the salt and the finding is the digest in that entry.',
      () => {
        const bytes = concat(bytesOfHex(salt), utf8(record));
        requireThat(
          sha256(bytes, crypto) === entry.digest,
          'It sealed something else, or the salt was altered.',
        );
        requireThat(
          entry.type === 'finding.sealed' && entry.subject === revealed.subject,
          'The entry is of something else.',
        );
        requireThat(entry.seq < revealed.seq, 'It was sealed after it was revealed.');
      },
    ),
    ...checkOtherEntry(
      'sealed',
      'seal',
      sealed,
      { key, witnesses: [...new Set([...known, ...(witnesses ?? [])])] },
      crypto,
    ),
    // Files that were made before have neither.
    ...(witnesses ? checkedOnce({ recorded: sealed, key, witnesses }, recorded, crypto) : []),
    ...checkTimestamps(sealed, timestamps, crypto, 'seal'),
    stated(
      'The time of the seal is right.',
      witnesses?.length || timestamps.length ? `${OWN_CLOCK} ${NOT_LATER}` : OWN_CLOCK,
    ),
  ];
}

/** What the checkpoints with the seal prove. The signatures of those that the record has too are checked with it. */
function checkedOnce(
  proven: Pick<Evidence, 'recorded' | 'key' | 'witnesses'>,
  recorded: ProvenEntry,
  crypto: ProofCrypto,
): EvidenceClaim[] {
  const said = new Set(checkCheckpoints({ ...proven, recorded }, crypto).map(({ name }) => name));
  return checkCheckpoints(proven, crypto).filter(({ name, state }) => state !== 'holds' || !said.has(name));
}

const LOOSELY_SEEN =
  'They are there if white space, the marks of lists, raised digits or the ends of words and numbers are left aside, or in what browsers do not show, or not as one text. Open the bytes, and look.';

/** The claim on the words of a quotation. */
const WORDS_ARE_THERE = 'The quoted words are in the bytes.';
/** Whether the words of a quotation are only claimed. */
export const areWordsOnlyClaimed = (claims: readonly Pick<EvidenceClaim, 'name' | 'state'>[]): boolean =>
  claims.some(({ name, state }) => name === WORDS_ARE_THERE && state === 'claimed');

function checkPassage(record: string, files: Evidence['files'], crypto: ProofCrypto): EvidenceClaim {
  const name = WORDS_ARE_THERE;
  let unseen: string | undefined;
  const judged = judge('passage', name, 'They were found in the bytes here.', () => {
    const { passage } = recordIn(record) as { passage?: Passage | null };
    const file = files.find((one) => one.sha256 === passage?.sha256);
    requireThat(Boolean(passage) && file !== undefined, 'The finding quotes another object.');
    if (!passage || !file) return;
    if (file.content === null) {
      unseen = 'The bytes are not in this file. Whoever has them can look for the words in them.';
      return;
    }
    const bytes = fromBase64(file.content);
    requireThat(sha256(bytes, crypto) === passage.sha256, 'The bytes were altered.');
    const seen = seePassage(bytes, file.media_type, passage);
    requireThat(seen !== 'absent', 'The words are not in the bytes.');
    if (typeof seen === 'object') {
      if (!seen.isExact) unseen = LOOSELY_SEEN;
      return;
    }
    const { tool, version } = passage.derived ?? { tool: 'the node', version: '' };
    const page = passage.page === null ? '' : ` on page ${passage.page}`;
    unseen = `The node states that ${tool} ${version} found them${page}. Open the bytes with a program that shows them, and look.`;
  });
  return unseen === undefined || judged.state === 'fails' ? judged : stated(name, unseen);
}
