import { afterEach, expect, test } from 'vitest';
import { nodeCrypto } from '../../server/ledger/checkpoint.ts';
import { checkEvidenceData } from '../../shared/proof/evidence/verifyEvidence.ts';
import { decide } from '../../shared/proof/verdict.ts';
import { openCollectingNode } from '../collection/support.ts';
import { closeScriptedWebs, page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { closeTestNodes } from '../support/node.ts';
import { buildEvidenceParts, evidenceIn, writeEvidenceParts } from './support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

test('no page can prevent the evidence of its own change by texts that have no canonical JSON', async () => {
  const rendererFolder = await writeEvidenceParts(await buildEvidenceParts());
  const { node } = await openCollectingNode({}, { rendererFolder });
  const web = await ScriptedWeb.open();
  const json = (text: string) => page(text, { headers: { 'Content-Type': 'application/json' } });
  const versions: [path: string, before: string, after: string][] = [
    ['/name', String.raw`{"fee\ud800":"20"}`, String.raw`{"fee\ud800":"25"}`],
    ['/value', String.raw`{"fee":"\udc00"}`, String.raw`{"fee":"25\ud800"}`],
    ['/number', '{"fee":1e999}', '{"fee":-0}'],
    ['/prototype', '{"__proto__":20,"toJSON":1}', '{"__proto__":25,"toJSON":2}'],
  ];
  for (const [path, before, after] of versions) {
    web.script(path, json(before), json(after));
    const source = { url: web.url(path), ignore_robots: true };
    expect((await node.sendJson('POST', '/manage/sources', source)).status).toBe(201);
  }
  for (let round = 1; round <= 2; round += 1)
    expect((await node.sendJson('POST', '/manage/collections?wait=true', {})).status).toBe(200);
  for (let event = 1; event <= 2 * versions.length; event += 1) {
    const answer = await node.fetch(`/api/events/${event}/evidence`);
    expect(answer.status, `event ${event}`).toBe(200);
    const evidence = evidenceIn(await answer.text());
    const { claims } = checkEvidenceData(JSON.stringify(evidence), nodeCrypto);
    expect(decide('evidence', claims)).toEqual({ verdict: 'intact', because: [] });
    expect(evidence.diff === null).toBe(event <= versions.length);
  }
});
