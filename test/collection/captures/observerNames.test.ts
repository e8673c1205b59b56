import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import {
  buildEvidenceScript,
  EVIDENCE_SCRIPT,
  EVIDENCE_STYLE,
  readEvidenceStyle,
} from '../../../renderer/inlineScripts.ts';
import { nodeCrypto } from '../../../server/ledger/checkpoint.ts';
import { observerWords } from '../../../shared/collection/observers.ts';
import { dataIn } from '../../../shared/proof/evidence/evidencePage.ts';
import { checkEvidenceData } from '../../../shared/proof/evidence/verifyEvidence.ts';
import { aboutWords } from '../../../shared/proof/words.ts';
import { addCopy, sync } from '../../copies/withheldCopies.ts';
import { closeTestNodes, temporaryFolder } from '../../support/node.ts';
import { response } from '../../support/warcFiles.ts';
import { handIn } from '../handedIn/support.ts';
import { openCollectingNode } from '../support.ts';
import { imported } from './support.ts';

afterEach(closeTestNodes);

const OWN = { self: 'the node itself', browser: 'a browser of the node' };

test('an observer with the name of the node itself is worded as another archive, and one reads where its name ends', () => {
  expect(observerWords('self', OWN)).toBe('the node itself');
  expect(observerWords('browser', OWN)).toBe('a browser of the node');
  expect(observerWords('the node itself', OWN)).toBe('another archive, called “the node itself”');
  expect(observerWords('x”, as “self" and\u202e «y»', OWN)).toBe(
    'another archive, called “x’, as ’self’ and\\u{202e} ’y’”',
  );
  expect(observerWords('handed-in:Ada', OWN)).toBe('handed in: this node did not fetch it (Ada)');
  expect(observerWords('handed-in:Ada), fetched by the node (self', OWN)).toBe(
    'handed in: this node did not fetch it (“Ada), fetched by the node (self”)',
  );
});

test('an import is never shown as what the node fetched, whatever name is in the file, nor its time as that of the node', async () => {
  const own = await temporaryFolder();
  const rendererFolder = join(own, 'renderer');
  await mkdir(join(rendererFolder, 'evidence'), { recursive: true });
  await writeFile(join(rendererFolder, EVIDENCE_SCRIPT), await buildEvidenceScript());
  await writeFile(join(rendererFolder, EVIDENCE_STYLE), await readEvidenceStyle());
  const node = await openCollectingNode({}, { dataFolder: join(own, 'data'), rendererFolder });
  const forged = response('Forged.', { uri: 'https://gov.example/', date: '2001-02-03T04:05:06Z' });
  await imported(node, forged, { observer: 'this archive' });
  await handIn(node.node, Buffer.from('<p>Seen in 1999'), 'text/html', {
    url: 'https://bank.example/',
    seen_at: '1999-01-01T00:00:00.000Z',
    name: 'Ada',
    withheld: 'false',
  });
  const checkedOf = async (id: number) => {
    const html = await (await node.node.fetch(`/api/events/${id}/evidence`)).text();
    const { claims, about } = checkEvidenceData(dataIn(html) ?? '', nodeCrypto);
    expect(claims.filter(({ state }) => state === 'fails')).toEqual([]);
    return { stated: claims.filter(({ id }) => id === 'stated'), about: about && aboutWords(about) };
  };
  const { stated, about } = await checkedOf(1);
  expect(about).toContain(', another archive, called “this archive”, SHA-256 ');
  const claimed = stated.map(({ name, detail }) => `${name} ${detail}`);
  expect(claimed).toContain(
    'The address answered with these bytes. Only “this archive” states this: this node received the bytes and did not fetch them.',
  );
  expect(claimed).toContainEqual(
    expect.stringMatching(
      /^It was seen at 2001-02-03T04:05:06\.000Z\. Only “this archive” states this time\./,
    ),
  );
  expect(claimed.join('\n')).not.toContain('The times of the observation are right.');
  const handedIn = await checkedOf(2);
  expect(handedIn.about).toContain(', handed in: this node did not fetch it (Ada), SHA-256 ');
  expect(handedIn.stated.map(({ name }) => name)).toContain('It was seen at 1999-01-01T00:00:00.000Z.');
  expect(handedIn.stated.map(({ name }) => name)).not.toContain('The times of the observation are right.');
  // The value itself is not changed.
  expect(await node.events('observer=this archive')).toMatchObject([{ id: 1, observer: 'this archive' }]);

  const feed = await (await node.node.fetch('/api/events.atom')).text();
  expect(feed).toContain('Captured by another archive, called “this archive” at 2001');
  const place = join(own, 'copy');
  await sync(node.node, await addCopy(node.node, place));
  for (const path of ['events/1.html', 'index.html'])
    expect(await readFile(join(place, path), 'utf8'), path).toContain(
      'another archive, called “this archive”',
    );
});
