import { createHash } from 'node:crypto';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dropBuffers } from './support/dropFiles.ts';
import { expect, test } from './support/fixtures.ts';
import { holdRequests } from './support/holdRequests.ts';
import type { NodeProcess } from './support/nodeProcess.ts';
import { publishPack } from './support/publishPack.ts';
import { startOver } from './support/startOver.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const named = (name: string, text: string) => ({
  name,
  mimeType: 'application/octet-stream',
  buffer: Buffer.from(text),
});

/** Makes a case with a pack as the owner, and returns its bag. */
async function bagOfCase({ url, token }: Pick<NodeProcess, 'url' | 'token'>, pack: string): Promise<Buffer> {
  const made = await fetch(new URL('/manage/cases', url), {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ title: 'A case', items: [{ kind: 'pack', id: pack }] }),
  });
  expect(made.status).toBe(201);
  const { id } = (await made.json()) as { id: string };
  return Buffer.from(await (await fetch(new URL(`/api/cases/${id}/bag`, url))).arrayBuffer());
}

test('files are hashed in the browser and compared, also after hashing could not be started', async ({
  page,
  checks,
}) => {
  await test.step('files are hashed in the browser and compared with a dropped list and with the archive', async () => {
    await page.goto('/');
    await page
      .getByRole('navigation', { name: 'Main' })
      .getByRole('link', { name: 'Verify', exact: true })
      .click();
    await expect(page.getByRole('heading', { level: 1, name: 'Verify' })).toBeVisible();
    await expect(page.getByText('Drop files or folders here')).toBeVisible();
    await checks.accessible(page);
    const uploads: string[] = [];
    page.on('request', (request) => {
      if (request.method() !== 'GET') uploads.push(request.url());
    });
    const list = `${sha256('one')}  one.txt\nSHA256 (two.txt) = ${sha256('two')}\n${sha256('lost')}  lost.txt\n`;
    await page
      .locator('input[type=file]')
      .first()
      .setInputFiles([
        named('one.txt', 'one'),
        named('two.txt', 'two, changed'),
        named('three.txt', 'three'),
        named('SHA256SUMS', list),
      ]);
    const rows = page.getByRole('list', { name: 'Verified files' }).getByRole('listitem');
    await expect(rows).toHaveCount(4);
    await expect(rows.filter({ hasText: 'one.txt' })).toContainText('Intact');
    await expect(rows.filter({ hasText: 'two.txt' })).toContainText('Changed');
    await expect(rows.filter({ hasText: 'three.txt' })).toContainText('Not in the archive');
    await expect(rows.filter({ hasText: 'lost.txt' })).toContainText('Missing');
    await expect(page.getByRole('list', { name: 'Lists' })).toContainText('SHA256SUMS: 3 digests');
    await checks.accessible(page);
    await page.getByRole('button', { name: 'Changed 1' }).click();
    await expect(rows).toHaveCount(1);
    const downloading = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV' }).click();
    const report = await readFile(await (await downloading).path(), 'utf8');
    expect(report).toContain(`two.txt,changed,12,${sha256('two, changed')},${sha256('two')},SHA256SUMS`);
    expect(uploads).toEqual([]);
  });
  await startOver(page);
  await test.step('files can be added again after hashing could not be started', async () => {
    checks.allow(/ERR_FAILED/);
    await page.route('**/verify.worker*', (route) => route.abort());
    await page.goto('/verify');
    const input = page.locator('input[type=file]').first();
    await input.setInputFiles([named('one.txt', 'one')]);
    const rows = page.getByRole('list', { name: 'Verified files' }).getByRole('listitem');
    await expect(rows.first()).toContainText('Hashing could not be started');
    await page.unroute('**/verify.worker*');
    await input.setInputFiles([named('one.txt', 'one')]);
    await expect(rows).toHaveText([/Not in the archive.*one\.txt/s]);
  });
});

test('what is dropped is recognised; what needs the node waits for it', async ({
  page,
  node,
  context,
  checks,
}) => {
  const pack = await publishPack(node, { title: 'Levels' });
  await test.step('a checkpoint that waits for the node is checked when it is back, unless it was cleared', async () => {
    checks.allow(/ERR_INTERNET_DISCONNECTED|Failed to load resource/);
    const checkpoint = await (await page.request.get('/api/ledger/checkpoint')).text();
    await page.goto('/verify');
    await expect(page.getByText('Drop files or folders here')).toBeVisible();
    const input = page.locator('input[type=file]').first();
    const checked = page.getByRole('region', { name: 'Checkpoints and proofs' }).getByRole('listitem');
    await context.setOffline(true);
    await input.setInputFiles([named('checkpoint.txt', checkpoint)]);
    await expect(page.getByText('The node cannot be reached.')).toBeVisible();
    await context.setOffline(false);
    await expect(checked).toContainText('The ledger begins with this checkpoint');
    await expect(page.getByText('The node cannot be reached.')).toBeHidden();
    await page.getByRole('button', { name: 'Clear' }).click();

    const answer = await holdRequests(page, 'GET', '**/api/ledger**');
    const asked = page.waitForRequest(/api\/ledger/);
    await input.setInputFiles([named('checkpoint.txt', checkpoint)]);
    const url = (await asked).url();
    await page.getByRole('button', { name: 'Clear' }).click();
    const answered = page.waitForResponse(url);
    answer();
    await (await answered).finished();
    await input.setInputFiles([named('one.txt', 'one')]);
    await expect(page.getByText('Not in the archive', { exact: true })).toBeVisible();
    await expect(checked).toHaveCount(0);
  });
  await startOver(page);
  await test.step('a drop that the browser cannot read adds nothing and says so; the next one is read', async () => {
    await page.goto('/verify');
    await expect(page.getByText('Drop files or folders here')).toBeVisible();
    await page.evaluate(() => {
      const items = DataTransferItem.prototype;
      const genuine = Object.getOwnPropertyDescriptor(items, 'webkitGetAsEntry') ?? {};
      const value = () => {
        Object.defineProperty(items, 'webkitGetAsEntry', genuine);
        const file = (_read: unknown, failed: (error: unknown) => void) =>
          failed(new DOMException('It cannot be read.', 'NotReadableError'));
        return { isFile: true, isDirectory: false, name: 'locked.txt', file };
      };
      Object.defineProperty(items, 'webkitGetAsEntry', { ...genuine, value });
    });
    await dropBuffers(page, [
      ['locked.txt', Buffer.from('locked')],
      ['beside.txt', Buffer.from('beside')],
    ]);
    const failed = page.getByRole('alert').filter({ hasText: 'cannot be read' });
    await expect(failed).toBeVisible();
    await expect(page.getByRole('list', { name: 'Verified files' })).toHaveCount(0);
    // One path twice, with two contents, is two rows.
    await dropBuffers(page, [
      ['twice.txt', Buffer.from('first')],
      ['twice.txt', Buffer.from('second')],
    ]);
    await expect(failed).toHaveCount(0);
    const rows = page.getByRole('list', { name: 'Verified files' }).getByRole('listitem');
    await expect(rows).toHaveCount(2);
    for (const row of await rows.all()) await expect(row).toContainText('Not in the archive');
  });
  await startOver(page);
  await test.step('a list that cannot be read does not stop what was dropped with it', async () => {
    await page.goto('/verify');
    await expect(page.getByText('Drop files or folders here')).toBeVisible();
    await page.evaluate(() => {
      Blob.prototype.text = () => Promise.reject(new DOMException('It cannot be read.', 'NotReadableError'));
    });
    const input = page.locator('input[type=file]').first();
    await input.setInputFiles([named('SHA256SUMS', 'a list'), named('beside.txt', 'beside')]);
    const rows = page.getByRole('list', { name: 'Verified files' }).getByRole('listitem');
    for (const name of ['SHA256SUMS', 'beside.txt'])
      await expect(rows.filter({ hasText: name })).toContainText('Not in the archive');
  });
  await startOver(page);
  await test.step('a pack file, a checkpoint and known bytes are recognised; without a network look-ups wait', async () => {
    checks.allow(/ERR_INTERNET_DISCONNECTED|Failed to load resource/);
    const packFile = await (await page.request.get(`/api/packs/${pack.id}/file`)).body();
    const checkpoint = await (await page.request.get('/api/ledger/checkpoint')).body();
    const proof = await (await page.request.get('/api/ledger/proof?seq=1&format=tlog-proof')).text();
    const evidence = await (await page.request.get(`/api/packs/${pack.id}/evidence`)).text();
    await page.goto('/verify');
    await expect(page.getByRole('heading', { level: 1, name: 'Verify' })).toBeVisible();
    // What hashes is loaded with the page, before the network is lost.
    const input = page.locator('input[type=file]').first();
    const rows = page.getByRole('list', { name: 'Verified files' }).getByRole('listitem');
    await input.setInputFiles([named('online.txt', 'online')]);
    await expect(rows.filter({ hasText: 'online.txt' })).toContainText('Not in the archive');
    await page.waitForLoadState('networkidle');
    await context.setOffline(true);
    const folder = await mkdtemp(join(tmpdir(), 'strongroom-verify-'));
    const saved = join(folder, 'checkpoint.txt');
    await writeFile(saved, checkpoint);
    await input.setInputFiles([
      named('copy.txt', 'the data of Levels'),
      { name: 'received.pack.zip', mimeType: 'application/zip', buffer: packFile },
      { name: 'checkpoint.txt', mimeType: 'text/plain', buffer: await readFile(saved) },
      named('received.evidence.html', evidence),
      named('forged.evidence.html', evidence.replace('Levels', 'Levers')),
      named('entry-1.tlog-proof', proof),
      named('changed.tlog-proof', proof.replace('index 0\n', 'index 0\n' + `${'A'.repeat(43)}=\n`)),
    ]);
    await expect(rows.filter({ hasText: 'copy.txt' })).toContainText('Look-up pending');
    await expect(rows.filter({ hasText: 'data/data.txt' })).toContainText('Intact');
    const received = rows.filter({ hasText: 'received.evidence.html' });
    await expect(received).toContainText('Intact');
    await expect(received).toContainText(`pack ${pack.id}, "Levels", `);
    await expect(received).toContainText(/, SHA-256 [0-9a-f]{64}, key \S+\+[0-9a-f]{8}\+/);
    const forged = rows.filter({ hasText: 'forged.evidence.html' });
    await expect(forged).toContainText('Altered');
    await expect(forged).toContainText('The record of the pack was altered.');
    await expect(page.getByText('The node cannot be reached.')).toBeVisible();
    await context.setOffline(false);
    await expect(rows.filter({ hasText: 'copy.txt' })).toContainText('In the archive');
    await expect(rows.filter({ hasText: 'copy.txt' }).getByRole('link')).toHaveAttribute(
      'href',
      `/packs/${pack.id}`,
    );
    await expect(rows.filter({ hasText: '/pack.json' })).toContainText(
      `according to received.pack.zip: its fingerprint, ${pack.id}`,
    );
    const checked = page.getByRole('region', { name: 'Checkpoints and proofs' }).getByRole('listitem');
    await expect(checked.filter({ hasText: 'checkpoint.txt' })).toContainText(
      /^The ledger begins with this checkpoint; .* with the root .*, signed by the key /,
    );
    await expect(checked.filter({ hasText: 'entry-1.tlog-proof' })).toContainText('is in the signed ledger.');
    await expect(checked.filter({ hasText: 'changed.tlog-proof' })).toContainText('The proof is not valid');
    await checks.accessible(page);
  });
  await startOver(page);
  await test.step('the bag of a case is verified by what is in it and by its seal', async () => {
    await page.goto('/verify');
    await page
      .locator('input[type=file]')
      .first()
      .setInputFiles([
        { name: 'case.zip', mimeType: 'application/zip', buffer: await bagOfCase(node, pack.id) },
      ]);
    const rows = page.getByRole('list', { name: 'Verified files' }).getByRole('listitem');
    await expect(rows.filter({ hasText: 'It is sealed by this key' })).toContainText(/Intact.*case\.zip/s);
    const inCase = rows.filter({ hasText: `/data/evidence/${pack.id}.evidence.html` });
    await expect(inCase).toContainText(/Intact.*"Levels"/s);
  });
});
