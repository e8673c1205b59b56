import type { Evidence } from '../../../shared/proof/evidence/evidence.ts';

const DATA = /(<script type="application\/json" id="evidence">)([^<]*)(<\/script>)/;

/** Returns the data in an evidence file. */
export function evidenceIn(html: string): Evidence {
  return JSON.parse(DATA.exec(html)?.[2] ?? '') as Evidence;
}

/** Returns the file with other data. */
export function withEvidence(html: string, evidence: Evidence): string {
  const data = JSON.stringify(evidence).replaceAll('<', '\\u003c');
  return html.replace(DATA, (_all, open: string, _data: string, close: string) => open + data + close);
}

/** Replaces the character at a place by another one of the same kind. */
function changed(text: string, at: number): string {
  const before = text.charAt(at);
  const after = /\d/.test(before) ? (before === '5' ? '6' : '5') : before === 'a' ? 'b' : 'a';
  return text.slice(0, at) + after + text.slice(at + 1);
}

/** A byte of a certificate that no signature in the file covers is still noticed. */
const TIMESTAMPS_ALTERED = 'The timestamps are as the node wrote them.';

type Change = [part: string, says: string, alter: (evidence: Evidence) => void];

function middle(text: string): string {
  return changed(text, Math.floor(text.length / 2));
}

/** Returns the file with its data cut short. */
export function withCutData(html: string): string {
  return html.replace(DATA, (all) => all.slice(0, 900) + '</script>');
}

/** Pages of the same data and with the same script, in which something else was changed. */
export function otherPagesOf(html: string): Record<string, string> {
  const beforeEnd = (more: string) => {
    const end = html.lastIndexOf('</body>');
    return html.slice(0, end) + more + html.slice(end);
  };
  const [data = ''] = DATA.exec(html) ?? [];
  return {
    'a text after the page': `${html}<p>Another story.</p>`,
    'a text before it': `<p>Another story.</p>${html}`,
    'a text in the body': html.replace('<body>', '<body><p>Another story.</p>'),
    'a text at the end of the body': beforeEnd('<p>Another story.</p>'),
    'a comment after the body': `${html}<!-- x -->`,
    'no document type': html.replace('<!doctype html>\n', ''),
    'another style': html.replace('</style>', '.verdict::after { content: "Another story." }</style>'),
    'a second style': html.replace('</head>', '<style>dd { display: none }</style></head>'),
    'no policy': html.replace(/<meta http-equiv[^>]*>\n/, ''),
    'data twice': html.replace('<body>', () => `<body>${data}`),
    'a hidden report': beforeEnd('<main><h1>Another story</h1></main>').replace('<main>', '<main hidden>'),
    'an attribute': html.replace('<body>', '<body title="Another story">'),
    'a picture behind the root': html.replace('<html ', '<html style="background: url(data:,)" '),
    'a value that reads like elements': html.replace('scale=1">', 'scale=1 () main () &quot;},[&quot;p">'),
    'another text until the script runs': html.replace('<main><p>Your', '<main><p>Intact. Your'),
  };
}

/** One changed character in each part, and what the page says of it. */
export function changesOf(): Change[] {
  const proof = (evidence: Evidence) => evidence.recorded.proofs[0] as Evidence['recorded']['proofs'][0];
  const lines = (note: string) => note.split('\n');
  const changeLine = (note: string, number: number) =>
    lines(note)
      .map((line, index) => (index === number ? changed(line, line.length - 20) : line))
      .join('\n');
  const retrieval = ({ retrieval: found }: Evidence) => found as NonNullable<Evidence['retrieval']>;
  return [
    [
      'record',
      'The record of the event was altered.',
      (e) => (e.recorded.record = changed(e.recorded.record, e.recorded.record.indexOf('observed_at') + 16)),
    ],
    [
      'entry',
      'The ledger entry was altered.',
      (e) => (e.recorded.entry.at = changed(e.recorded.entry.at, 3)),
    ],
    [
      'hash of the entry',
      'The ledger entry was altered.',
      (e) => (e.recorded.entry.hash = changed(e.recorded.entry.hash, 9)),
    ],
    [
      'proof',
      'they lead to another root',
      (e) => (proof(e).hashes[0] = changed(proof(e).hashes[0] ?? '', 5)),
    ],
    [
      'root',
      'The checkpoint was altered: its signature does not match.',
      (e) => (proof(e).checkpoint = changeLine(proof(e).checkpoint, 2)),
    ],
    [
      'signature',
      'The checkpoint was altered: its signature does not match.',
      (e) => (proof(e).checkpoint = changeLine(proof(e).checkpoint, 4)),
    ],
    [
      'cosignature',
      'The line of the witness was altered',
      (e) => (proof(e).checkpoint = changeLine(proof(e).checkpoint, 5)),
    ],
    ['key', 'The key was altered', (e) => (e.key = changed(e.key, e.key.length - 9))],
    [
      'key of the witness',
      'The key was altered',
      (e) => (e.witnesses[0] = changed(e.witnesses[0] ?? '', (e.witnesses[0] ?? '').length - 9)),
    ],
    [
      'timestamp',
      TIMESTAMPS_ALTERED,
      (e) => ((e.timestamps[0] as Evidence['timestamps'][0]).reply = middle(e.timestamps[0]?.reply ?? '')),
    ],
    [
      'second timestamp',
      'The timestamp of',
      (e) =>
        ((e.timestamps[1] as Evidence['timestamps'][0]).reply = changed(
          e.timestamps[1]?.reply ?? '',
          (e.timestamps[1]?.reply ?? '').length - 30,
        )),
    ],
    [
      'differences',
      'It was altered after the node sealed this file.',
      (e) => ((e.diff as { reason: unknown }).reason = 'x'),
    ],
    [
      'time of the file',
      'It was altered after the node sealed this file.',
      (e) => (e.made_at = changed(e.made_at, 3)),
    ],
    ['seal', 'The seal was altered', (e) => e.seal && (e.seal.signature = changed(e.seal.signature, 9))],
    [
      'stamped text',
      'It covers a checkpoint that is not in this file.',
      (e) => ((e.timestamps[0] as Evidence['timestamps'][0]).text = middle(e.timestamps[0]?.text ?? '')),
    ],
    [
      'retrieval',
      'The retrieval or its proof was altered',
      (e) =>
        (retrieval(e).retrieval = changed(
          retrieval(e).retrieval,
          retrieval(e).retrieval.indexOf('duration_ms') + 13,
        )),
    ],
    [
      'batch',
      'The record of the retrievals was altered.',
      (e) => (retrieval(e).record = changed(retrieval(e).record, retrieval(e).record.indexOf('root') + 9)),
    ],
    [
      'entry of the retrieval',
      'The ledger entry was altered.',
      (e) => (retrieval(e).entry.digest = changed(retrieval(e).entry.digest, 9)),
    ],
    [
      'newer version',
      'The bytes or the digest of “after” were altered.',
      (e) => ((e.files[0] as Evidence['files'][0]).content = changed(e.files[0]?.content ?? '', 4)),
    ],
    [
      'older version',
      'The bytes or the digest of “before” were altered.',
      (e) => ((e.files[1] as Evidence['files'][0]).content = changed(e.files[1]?.content ?? '', 4)),
    ],
    [
      'digest of a version',
      'were altered.',
      (e) => ((e.files[1] as Evidence['files'][0]).sha256 = changed(e.files[1]?.sha256 ?? '', 4)),
    ],
    ['a version taken out', 'it was removed', (e) => e.files.pop()],
  ];
}

/** One change in what an evidence file has of a finding, and what the page says of it. */
export function passageChangesOf(): Change[] {
  const finding = (evidence: Evidence) => evidence.finding as NonNullable<Evidence['finding']>;
  const quoting = (from: string, to: string) => (evidence: Evidence) =>
    void (finding(evidence).record = finding(evidence).record.replace(from, to));
  return [
    ['a word of the quotation', 'The words are not in the bytes.', quoting('not safe', 'very safe')],
    [
      'a word of the finding',
      'The finding or its quotation was altered.',
      quoting('It was safe', 'It is safe'),
    ],
    [
      'the bytes',
      'The bytes were altered.',
      ({ files: [file] }) => file && (file.content = changed(file.content ?? '', 12)),
    ],
    [
      'entry of the finding',
      'The ledger entry was altered.',
      (e) => (finding(e).entry.at = changed(finding(e).entry.at, 3)),
    ],
    ['the finding taken out', 'a part was removed or added', (e) => delete e.finding],
  ];
}
