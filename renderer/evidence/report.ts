import { isOwnObserver, observerWords } from '../../shared/collection/observers.ts';
import type { RecordedPage } from '../../shared/collection/page.ts';
import type { Connection } from '../../shared/collection/retrieval.ts';
import { protocolWords, serverWords } from '../../shared/collection/retrievalWords.ts';
import type { Passage, RecordedFinding } from '../../shared/findings/finding.ts';
import type { About } from '../../shared/proof/about.ts';
import { fromBase64 } from '../../shared/proof/crypto/bytes.ts';
import type {
  Evidence,
  EvidenceClaim,
  EvidenceFile,
  ProvenEntry,
} from '../../shared/proof/evidence/evidence.ts';
import { type SetFiles, sizeOf } from '../../shared/proof/evidence/evidenceFiles.ts';
import { decodedText, type SeenPassage, seePassage } from '../../shared/proof/evidence/seenPassage.ts';
import type { CheckedEvidence } from '../../shared/proof/evidence/verifyEvidence.ts';
import { linesOf } from '../../shared/proof/ledger/fileList.ts';
import { type ClaimState, decide, type Verdict } from '../../shared/proof/verdict.ts';
import { aboutWords } from '../../shared/proof/words.ts';
import { countOf, formatCount } from '../../shared/values/counts.ts';
import { inQuotes } from '../../shared/values/quotes.ts';

const WORDS: Record<ClaimState, string> = {
  holds: 'Holds',
  fails: 'Fails',
  unproven: 'Not proven',
  claimed: 'Only claimed',
};

/** Shows the result first, then the facts, the claims one by one, and the bytes. */
export function renderReport(main: HTMLElement, { claims, evidence, about, set }: CheckedEvidence): void {
  document.title = titleOf(evidence, set);
  main.replaceChildren(element('h1', {}, document.title), verdictOf(claims, about));
  if (evidence?.finding) main.append(...passageSections(evidence));
  if (evidence) main.append(recordedFacts(evidence, set));
  for (const state of ['fails', 'unproven', 'holds', 'claimed'] as const)
    main.append(...claimList(state, claims));
  if (!evidence) return;
  if (set) main.append(setSection(set));
  if (evidence.files.length > 0)
    main.append(
      section(
        set ? 'The manifest of the set' : 'Files',
        ...evidence.files.map((file) => fileOf(file, set === undefined)),
      ),
    );
  if (evidence.diff !== null)
    main.append(section('Differences, computed by the node', differencesOf(evidence.diff)));
  main.append(everything(evidence));
}

function titleOf(evidence: Evidence | undefined, set: SetFiles | undefined): string {
  if (!evidence) return 'Evidence';
  const { kind, recorded, finding } = evidence;
  const what = finding ? 'a passage' : kind === 'event' ? 'an event' : set ? 'a set' : 'a pack';
  return `Evidence of ${what}, ledger entry ${(finding ?? recorded).entry.seq}`;
}

/** How much is shown before and after a passage. */
const AROUND_CHARACTERS = 800;

/** Shows the passage as it is in the bytes, highlighted, or else as it was recorded; and what the finding says. */
function passageSections({ finding, files, kind, recorded, sealed }: Evidence): HTMLElement[] {
  const { passage, text, at } = parsed(finding?.record) as Partial<RecordedFinding>;
  if (!passage) return [];
  const file = files.find(({ sha256 }) => sha256 === passage.sha256);
  const seen = file && seenIn(file, passage);
  const { before, words, after } = seen
    ? {
        before: seen.text.slice(Math.max(0, seen.start - AROUND_CHARACTERS), seen.start).toWellFormed(),
        words: seen.text.slice(seen.start, seen.end),
        after: seen.text.slice(seen.end, seen.end + AROUND_CHARACTERS).toWellFormed(),
      }
    : { before: passage.prefix, words: passage.exact, after: passage.suffix };
  const tidy = (part: string) => part.replace(/[^\S\n]+/g, ' ').replace(/\s*\n\s*/g, '\n');
  const record = parsed(recorded.record);
  const quote = element(
    'blockquote',
    { class: 'passage' },
    tidy(before).trimStart(),
    element('mark', { id: 'passage' }, tidy(words)),
    tidy(after).trimEnd(),
  );
  return [
    section(
      'The passage',
      element(
        'p',
        { class: 'detail' },
        seen
          ? seen.isExact
            ? 'Highlighted in the text, as it was read from the bytes below.'
            : 'Highlighted where the words are found in the bytes below if something is left aside, such as the end of a word or what browsers do not show. That the words are there so is only claimed: open the bytes, and look.'
          : 'As it was recorded. The bytes cannot be read as text here.',
      ),
      quote,
      facts([
        ['From', kind === 'event' ? record.url : record.title],
        ...(kind === 'event' ? timesOf(record) : []),
        ['Page', passage.page],
        ['In the bytes with the SHA-256', passage.sha256],
        [sealed ? 'Sealed (the node’s clock)' : 'Quoted (the node’s clock)', sealed?.entry.at ?? at],
        ['Finding', text],
      ]),
    ),
  ];
}

function seenIn({ content, media_type }: EvidenceFile, passage: Passage): SeenPassage | undefined {
  if (content === null) return undefined;
  try {
    const seen = seePassage(fromBase64(content), media_type, passage);
    return typeof seen === 'object' ? seen : undefined;
  } catch {
    // Bytes that cannot be decoded are among the claims that fail.
    return undefined;
  }
}

const VERDICTS: Record<Verdict, string> = {
  intact: 'Intact',
  unsigned:
    'Unsigned: nothing is wrong, but no valid signature of the key covers everything here. Anybody can write such a file',
  altered: 'Altered: this evidence does not hold',
  unknown: 'Unknown: something could not be checked here',
};

/** The verdict, and what it is of: who was told something else sees it here. */
function verdictOf(claims: readonly EvidenceClaim[], about: About | undefined): HTMLElement {
  const { verdict } = decide('evidence', claims);
  const counts = (['fails', 'unproven', 'holds', 'claimed'] as const).flatMap((state) => {
    const count = claims.filter((claim) => claim.state === state).length;
    return count > 0 ? [`${count} ${COUNTED[state]}`] : [];
  });
  const of = about ? element('span', { class: 'detail' }, aboutWords(about)) : '';
  return element(
    'p',
    { class: 'verdict', 'data-verdict': verdict, role: 'status' },
    `${VERDICTS[verdict]}. Of ${countOf(claims.length, 'claim')}, ${counts.join(', ')}.`,
    of,
  );
}

const COUNTED: Record<ClaimState, string> = {
  holds: 'hold',
  fails: 'fail',
  unproven: 'are not proven',
  claimed: 'are only claimed',
};

const EXPLANATIONS: Record<ClaimState, string> = {
  fails: 'This was recomputed in your browser and does not match. The file was altered.',
  unproven: 'What would prove this is not in the file, or cannot be checked here.',
  holds: 'This was recomputed in your browser, without any network.',
  claimed: 'Nothing in this file can prove this. The text says who claims it and how to check it.',
};

function claimList(state: ClaimState, claims: readonly EvidenceClaim[]): HTMLElement[] {
  const chosen = claims.filter((claim) => claim.state === state);
  if (chosen.length === 0) return [];
  const items = chosen.map(({ name, detail }) =>
    element(
      'li',
      { 'data-verdict': state },
      element('strong', {}, `${WORDS[state]}: `),
      name,
      element('span', { class: 'detail' }, detail),
    ),
  );
  return [
    section(
      WORDS[state],
      element('p', { class: 'detail' }, EXPLANATIONS[state]),
      element('ul', {}, ...items),
    ),
  ];
}

type Fields = Record<string, string | number | null | undefined>;

function parsed(text: string | undefined): Fields {
  try {
    return JSON.parse(text ?? '{}') as Fields;
  } catch {
    // A record that cannot be read is among the claims that fail.
    return {};
  }
}

function recordedFacts(
  { kind, recorded, retrieval, page, key }: Evidence,
  set: SetFiles | undefined,
): HTMLElement {
  const record = parsed(recorded.record);
  const fetched = parsed(retrieval?.retrieval);
  const common = [
    ['Node', key.split('+', 1)[0]],
    ['Ledger entry', recorded.entry.seq],
    ['Recorded (the node’s clock)', recorded.entry.at],
  ] as const;
  if (kind === 'pack') {
    return section(
      'What was recorded',
      facts([
        ['Title', record.title],
        ['Summary', record.summary],
        ['License', record.license],
        ['Set', set && sizeOf(set)],
        ['Fingerprint', recorded.entry.digest],
        ...common,
      ]),
    );
  }
  return section(
    'What was recorded',
    facts([
      ['Address', record.url],
      ['What happened', String(record.event_type ?? '').replace('_', ' ')],
      ...timesOf(record),
      [
        'Observer',
        observerWords(String(record.observer), { self: 'the node itself', browser: 'a browser of the node' }),
      ],
      ...pageFacts(page?.record),
      ['SHA-256 after', record.sha256],
      ['SHA-256 before', record.previous_sha256],
      ['Final address', fetched.final_url],
      ['HTTP status', fetched.status],
      ['Media type', fetched.content_type],
      ...connectionFacts(retrieval?.retrieval),
      ['Duration', fetched.duration_ms === undefined ? null : `${fetched.duration_ms} ms`],
      ...common,
    ]),
  );
}

/** What the times of an event are called. Only those of its own observations are of the node's clock. */
function timesOf({ observer, observed_at, original_observed_at }: Fields): [string, Fields[string]][] {
  return isOwnObserver(String(observer))
    ? [
        ['Observed (the observer’s clock)', observed_at],
        ['Observed originally', original_observed_at],
      ]
    : [
        ['Received (the node’s clock)', observed_at],
        ['Observed (only the observer states it)', original_observed_at],
      ];
}

/** Describes the page that a browser drew. A record of another shape is among the claims that fail. */
function pageFacts(text: string | undefined): [string, string | null | undefined][] {
  const page = parsed(text) as Partial<RecordedPage>;
  if (!page.browser || !page.viewport || !page.requests) return [];
  const { id, title, browser, viewport, started_at, reason, requests } = page;
  const missing = requests.filter((request) => request.reason !== null).length;
  return [
    ['Page capture', id],
    ['Title of the page', title],
    ['Drawn (the observer’s clock)', started_at],
    ['Drawn by', `${browser.name} ${browser.version}, ${viewport.width} × ${viewport.height}`],
    ['Cut off by a limit', reason],
    ['Requests', `${requests.length}, ${missing} of them without an answer`],
  ];
}

/** Describes the connection, which only the node claims. A record of another shape is among the claims that fail. */
function connectionFacts(text: string | undefined): [string, string | null][] {
  const { connection } = parsed(text) as { connection?: Connection };
  if (!connection?.address) return [];
  const { dns, tls } = connection;
  return [
    ['Answered by (according to the observer)', serverWords(connection)],
    ['Protocol (according to the observer)', protocolWords(connection)],
    ['Resolved addresses (according to the observer)', dns && dns.join(', ')],
    ['SHA-256 of the certificates', tls && tls.certificates.map(({ sha256 }) => sha256).join(', ')],
  ];
}

const PREVIEW_CHARACTERS = 20_000;

/** @param isShown whether its text is shown: that of `set.json` is already */
function fileOf({ name, sha256, bytes, media_type, content }: EvidenceFile, isShown: boolean): HTMLElement {
  const about = facts([
    ['SHA-256', sha256],
    ['Bytes', bytes],
    ['Media type', media_type],
  ]);
  if (content === null)
    return element(
      'article',
      {},
      element('h3', {}, name),
      about,
      element('p', {}, 'The bytes are not in this file.'),
    );
  let decoded: Uint8Array<ArrayBuffer>;
  try {
    decoded = new Uint8Array(fromBase64(content));
  } catch {
    // Bytes that cannot be decoded are among the claims that fail.
    return element(
      'article',
      {},
      element('h3', {}, name),
      about,
      element('p', {}, 'The bytes cannot be read.'),
    );
  }
  const address = URL.createObjectURL(new Blob([decoded], { type: 'application/octet-stream' }));
  const save = element('a', { href: address, download: name.replace(/^.*\//, '') }, 'Save the bytes');
  const article = element(
    'article',
    {},
    element('h3', {}, name),
    about,
    element('p', { class: 'screen' }, save),
  );
  if (media_type === 'image/png')
    article.append(
      element('img', { src: `data:image/png;base64,${content}`, alt: 'The picture of the page' }),
    );
  if (isShown && /^(text\/|application\/(json|xml|[\w.+-]*\+(json|xml)))/.test(media_type)) {
    const text = decodedText(decoded, media_type);
    const cut =
      text.length > PREVIEW_CHARACTERS ? `\n… ${text.length - PREVIEW_CHARACTERS} more characters` : '';
    article.append(element('pre', {}, text.slice(0, PREVIEW_CHARACTERS) + cut));
  }
  return article;
}

interface Hunk {
  parts: { op: 'same' | 'added' | 'removed'; text: string }[];
}

/** Differences of texts are shown word by word, all others as the node describes them. */
function differencesOf(diff: unknown): HTMLElement {
  const hunks = (diff as { hunks?: Hunk[] }).hunks;
  if (!Array.isArray(hunks))
    return element('pre', {}, JSON.stringify(diff, null, 2).slice(0, PREVIEW_CHARACTERS));
  const tags = { same: 'span', added: 'ins', removed: 'del' } as const;
  return element(
    'div',
    {},
    ...hunks.map(({ parts }) =>
      element('pre', {}, ...parts.map(({ op, text }) => element(tags[op] ?? 'span', {}, text))),
    ),
  );
}

/** All that was checked, as text, so that other programs and paper can check it again. */
function everything(evidence: Evidence): HTMLElement {
  const { recorded, retrieval, finding, sealed, key, witnesses } = evidence;
  return section(
    'What was checked',
    element(
      'p',
      { class: 'detail' },
      'This page cannot prove that its own checks are unaltered. Check it with other tools too: “strongroom verify” reads this file, and docs/verify-by-hand.md describes how to check each part with sha256sum, openssl and Python.',
    ),
    ...block('The record (canonical JSON)', recorded.record),
    ...block('The ledger entry', JSON.stringify(recorded.entry)),
    ...block('The key of the node', key),
    ...(witnesses.length > 0 ? block('The keys of the witnesses', witnesses.join('\n')) : []),
    ...proofBlocks('A proof (C2SP tlog-proof) and its checkpoint', recorded),
    ...(finding ? block('The finding (canonical JSON)', finding.record) : []),
    ...(sealed ? block('The salt with which it was sealed (hex)', sealed.salt) : []),
    ...(sealed ? block('The ledger entry that sealed it', JSON.stringify(sealed.entry)) : []),
    ...(sealed ? proofBlocks('A proof of the seal (C2SP tlog-proof) and its checkpoint', sealed) : []),
    ...(sealed?.witnesses?.length
      ? block('The keys of the witnesses of the seal', sealed.witnesses.join('\n'))
      : []),
    ...(sealed?.timestamps ?? []).flatMap(({ authority, reply }) =>
      block(`The timestamp of ${inQuotes(authority)} over the seal (base64)`, reply),
    ),
    ...(retrieval ? block('The retrieval', retrieval.retrieval) : []),
    ...evidence.timestamps.flatMap(({ authority, reply }) =>
      block(`The timestamp of ${inQuotes(authority)} (base64)`, reply),
    ),
  );
}

function proofBlocks(title: string, { entry, proofs }: ProvenEntry): HTMLElement[] {
  return proofs.flatMap(({ checkpoint, hashes }) =>
    block(title, `c2sp.org/tlog-proof@v1\nindex ${entry.seq - 1}\n${hashes.join('\n')}\n\n${checkpoint}`),
  );
}

function block(title: string, text: string): HTMLElement[] {
  return [element('h3', {}, title), element('pre', {}, text)];
}

/** How many files are shown before the reader asks for all: a set may have tens of thousands. */
const SHOWN_FILES = 100;

/** Lists the files of a set, and gives the list as a file that other programs compare files with. */
function setSection(set: SetFiles): HTMLElement {
  const { files } = set;
  // As text, browsers would save it as “SHA256SUMS.txt”.
  const sums = new Blob([linesOf(files)], { type: 'application/octet-stream' });
  const address = URL.createObjectURL(sums);
  const list = element('ul', { class: 'files' }, ...files.slice(0, SHOWN_FILES).map(itemOf));
  const found = section(
    'Files of the set',
    element('p', {}, `set.json lists ${sizeOf(set)}, each with its SHA-256.`),
    element(
      'p',
      { class: 'screen' },
      element('a', { href: address, download: 'SHA256SUMS' }, 'Save the list'),
      ' beside your copy of the files. There, ',
      element('code', {}, 'sha256sum -c SHA256SUMS'),
      ' checks them.',
    ),
    list,
  );
  if (files.length > SHOWN_FILES) found.append(restOf(files, list));
  return found;
}

function itemOf({ path, bytes, sha256 }: SetFiles['files'][number]): HTMLElement {
  const size = element('span', {}, countOf(bytes, 'byte'));
  return element('li', {}, element('span', {}, path), size, element('code', {}, sha256));
}

function restOf(files: SetFiles['files'], list: HTMLElement): HTMLElement {
  const words = `Show all ${formatCount(files.length)} files`;
  const all = element('button', { type: 'button', class: 'screen' }, words);
  const rest = element('p', {}, `The first ${SHOWN_FILES} files are shown. `, all);
  all.addEventListener('click', () => {
    for (const file of files.slice(SHOWN_FILES)) list.append(itemOf(file));
    rest.remove();
  });
  return rest;
}

/** Creates an element with text or elements in it. Text is never read as HTML. */
function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string>>,
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const created = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) created.setAttribute(attribute, value);
  created.append(...children);
  return created;
}

function section(title: string, ...children: readonly (Node | string)[]): HTMLElement {
  return element('section', {}, element('h2', {}, title), ...children);
}

/** A list of names and values. Values that are missing are left out. */
function facts(rows: readonly (readonly [string, string | number | null | undefined])[]): HTMLElement {
  const known = rows.filter(([, value]) => value !== null && value !== undefined && value !== '');
  return element(
    'dl',
    {},
    ...known.flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, String(value))]),
  );
}
