import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { uploadNewPack } from '../support/archive/packs.ts';
import { ManualClock } from '../support/manualClock.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';
import { harvest } from './harvester.ts';

const SHARED = { mode: 'read', require_invitation: false };
let clock: ManualClock;
let node: TestNode;
beforeEach(async () => {
  clock = new ManualClock('2026-11-20T10:00:00.000Z');
  node = await openTestNode({ clock });
  expect((await node.sendJson('PUT', '/manage/sharing', SHARED)).status).toBe(200);
});
afterEach(closeTestNodes);

describe('errors', () => {
  const list = 'verb=ListRecords&metadataPrefix=oai_dc';
  const token = (parts: unknown) => Buffer.from(JSON.stringify(parts)).toString('base64url');
  test.for([
    ['', 'badVerb'],
    ['verb=Nope', 'badVerb'],
    ['verb=Identify&verb=Identify', 'badVerb'],
    ['verb=__proto__', 'badVerb'],
    ['verb=Identify&set=a', 'badArgument'],
    ['verb=Identify&nope=a', 'badArgument'],
    ['verb=ListRecords', 'badArgument'],
    ['verb=GetRecord&metadataPrefix=oai_dc', 'badArgument'],
    [`${list}&metadataPrefix=oai_dc`, 'badArgument'],
    [`${list}&resumptionToken=x`, 'badArgument'],
    [`${list}&from=2026-02-30`, 'badArgument'],
    [`${list}&from=2026-11-20T10:00Z`, 'badArgument'],
    [`${list}&from=junk`, 'badArgument'],
    [`${list}&from=2026-11-20&until=2026-11-20T10:00:00Z`, 'badArgument'],
    [`${list}&from=2026-11-21&until=2026-11-20`, 'badArgument'],
    [`${list}&set=a%20b`, 'badArgument'],
    ['verb=ListRecords&metadataPrefix=marc', 'cannotDisseminateFormat'],
    ['verb=GetRecord&metadataPrefix=oai_dc&identifier=oai:x:y', 'idDoesNotExist'],
    ['verb=GetRecord&metadataPrefix=oai_dc&identifier=%00%3C', 'idDoesNotExist'],
    ['verb=ListMetadataFormats&identifier=nope', 'idDoesNotExist'],
    [`${list}&from=2100-01-01`, 'noRecordsMatch'],
    [`${list}&set=nope`, 'noRecordsMatch'],
    ['verb=ListRecords&resumptionToken=', 'badResumptionToken'],
    ['verb=ListRecords&resumptionToken=junk', 'badResumptionToken'],
    [`verb=ListRecords&resumptionToken=${token(['ListRecords'])}`, 'badResumptionToken'],
    [
      `verb=ListRecords&resumptionToken=${token(['ListIdentifiers', 'oai_dc', null, null, 1, 0, 50])}`,
      'badResumptionToken',
    ],
    [`verb=ListSets&resumptionToken=${token(['ListSets', 5_000])}`, 'badResumptionToken'],
    [`verb=ListSets&resumptionToken=${token(['ListSets', -1])}`, 'badResumptionToken'],
  ])('%s is %s', async ([query = '', code = '']) => {
    await uploadNewPack(node);
    const { error, request } = await harvest(node, query);
    expect(error).toMatchObject({ '@code': code, '#text': expect.stringMatching(/\w.*\.$/) });
    // What is not of the protocol is not repeated.
    const repeats = code !== 'badVerb' && code !== 'badArgument';
    expect(Object.keys(typeof request === 'string' ? {} : request).includes('@verb')).toBe(repeats);
  });
});
