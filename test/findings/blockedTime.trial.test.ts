import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { EVIDENCE_SCRIPT, EVIDENCE_STYLE } from '../../renderer/inlineScripts.ts';
import { AlertingNode, closeAll, dataOf } from '../alerts/support.ts';
import { WebhookReceiver } from '../alerts/webhookReceiver.ts';
import { MAX_BLOCKED_MS, maxBlockedCpu } from '../support/blockedCpu.ts';
import { eventually } from '../support/eventually.ts';
import { page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { DERIVING, temporaryFolder } from '../support/node.ts';
import { addFinding } from './support.ts';

afterEach(closeAll);

/** Half of the longest text, without ASCII: each of its characters has to be looked up. */
function longText(fee: string): string {
  const line = (at: number) => `${at} Στο μουσείο η είσοδος δεν είναι ελεύθερη για τους επισκέπτες.\n`;
  const lines = Array.from({ length: 7_000 }, (_, at) => line(at));
  lines[3_500] = `Η τιμή του εισιτηρίου είναι ${fee} ευρώ για όλους.\n`;
  return lines.join('');
}

async function folderOfInterface(): Promise<string> {
  const rendererFolder = await temporaryFolder();
  await mkdir(join(rendererFolder, 'evidence'));
  for (const name of [EVIDENCE_SCRIPT, EVIDENCE_STYLE]) await writeFile(join(rendererFolder, name), '');
  return rendererFolder;
}

test('a passage of a very long text is placed, proven and followed in short turns', async () => {
  const alerting = await AlertingNode.open({ ...DERIVING, rendererFolder: await folderOfInterface() });
  const web = await ScriptedWeb.open();
  const plain = (fee: string) =>
    page(longText(fee), { headers: { 'Content-Type': 'text/plain; charset=utf-8' } });
  web.script('/fees', page('short'), plain('20'), plain('25'));
  await alerting.watch(web.url('/fees'));
  await alerting.check();
  await alerting.check();
  const sha256 = (await alerting.events())[0]?.sha256 ?? '';
  const text = () => alerting.node.fetch(`/archive/${sha256}/text`);
  // Its text is made, and what reads and writes is loaded.
  expect((await text()).status).toBe(200);
  const passage = { sha256, exact: 'είναι 20 ευρώ για όλους' };
  let id = '';
  const placed = await maxBlockedCpu(async () => {
    const finding = await addFinding(alerting.node, { kind: 'event', id: '2' }, { passage });
    expect(finding.passage?.derived).toMatchObject({ words_once: true });
    id = finding.id;
  });
  expect(placed).toBeLessThan(MAX_BLOCKED_MS);
  const proven = await maxBlockedCpu(async () =>
    expect((await alerting.node.fetch(`/api/findings/${id}/evidence`)).status).toBe(200),
  );
  expect(proven).toBeLessThan(MAX_BLOCKED_MS);
  const receiver = await WebhookReceiver.open();
  await alerting.alert({ passage_changed: true }, [receiver.target]);
  const followed = await maxBlockedCpu(async () => {
    await alerting.check();
    await eventually(() => expect(receiver.calls).toHaveLength(1));
  });
  expect(dataOf(receiver.calls[0]).alerts).toMatchObject([
    { passage: { before: passage.exact, after: 'είναι 25 ευρώ για όλους' } },
  ]);
  expect(followed).toBeLessThan(MAX_BLOCKED_MS);
});
