import { readFile, writeFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import type { Browser, Page, TestInfo } from '@playwright/test';
import { sha256Of } from '../support/archive/packs.ts';
import { runCommand } from '../support/cli.ts';
import { page as answer, closeScriptedWebs, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { EC_KEY, RSA_KEY, TimestampAuthority } from '../support/network/timestampAuthority.ts';
import {
  changesOf,
  evidenceIn,
  otherPagesOf,
  passageChangesOf,
  withCutData,
  withEvidence,
} from './support/evidenceChanges.ts';
import { expect, test } from './support/fixtures.ts';
import type { NodeProcess } from './support/nodeProcess.ts';

/** Opens a file as a stranger does: from the disk, with no network. Returns the page and what went wrong in it. */
async function openOffline(browser: Browser, file: string): Promise<{ page: Page; errors: string[] }> {
  const context = await browser.newContext({ offline: true });
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('request', (request) => {
    if (!/^(file|blob|data):/.test(request.url())) errors.push(`request: ${request.url()}`);
  });
  await page.goto(pathToFileURL(file).href);
  return { page, errors };
}

async function send(
  node: NodeProcess | { url: string; token: string },
  path: string,
  body: unknown,
  method = 'POST',
) {
  const headers = { Authorization: `Bearer ${node.token}`, 'Content-Type': 'application/json' };
  const init = { headers, body: JSON.stringify(body) };
  const address = new URL(path, node.url);
  const response = await (method === 'POST'
    ? fetch(address, { method: 'POST', ...init })
    : fetch(address, { method: 'PATCH', ...init }));
  expect(response.ok, `${method} ${path}`).toBe(true);
  return response;
}

test.afterEach(closeScriptedWebs);

test('an event’s evidence file holds offline, and names each part in which a byte was changed', async ({
  host,
  page,
  node,
  browser,
  checks,
}, testInfo) => {
  checks.allow(/503.*\/api\/status/);
  const witness = await host.open();
  const authorities = [await TimestampAuthority.open(EC_KEY), await TimestampAuthority.open(RSA_KEY)];
  try {
    const web = await ScriptedWeb.open();
    const html = { headers: { 'Content-Type': 'text/html; charset=utf-8' } };
    web.script(
      '/report',
      answer('<p>The dam is safe.</p>', html),
      answer('<p>The dam is <b>not</b> safe.</script></p>', html),
    );
    const textOf = async (from: { url: string }, path: string) =>
      (await fetch(new URL(path, from.url))).text();
    await send(witness, '/manage/witness/logs', { key: (await textOf(node, '/api/ledger/key')).trim() });
    const settings = {
      per_host_pause_ms: 0,
      timestamp_authorities: authorities.map(({ url }) => url),
      witnesses: [{ url: `${witness.url}/witness`, key: (await textOf(witness, '/witness/key')).trim() }],
    };
    await send(node, '/manage/settings', settings, 'PATCH');
    await send(node, '/manage/sources', { url: web.url('/report'), ignore_robots: true });
    for (const _ of [1, 2]) await send(node, '/manage/collections?wait=true', {});
    const { sha256 } = JSON.parse(await textOf(node, '/api/events/2')) as { sha256: string };
    const added = await send(node, '/manage/findings', {
      target: { kind: 'event', id: '2' },
      text: 'It was safe before.',
      passage: { sha256, exact: 'The dam is not safe.' },
    });
    const finding = (await added.json()) as { id: string };
    await send(node, '/manage/timestamps', {});
    await send(node, '/manage/witnesses/submit', {});

    await page.goto('/timeline/2');
    const opening = page.waitForEvent('popup');
    const link = page.getByRole('link', { name: 'evidence', exact: true });
    await expect(link).toHaveAttribute('href', /#:~:text=The%20dam%20is%20not%20safe\.$/);
    await link.click();
    const passage = await opening;
    await expect(passage.getByRole('status')).toContainText('Intact.');
    await expect(passage.locator('mark')).toHaveText('The dam is not safe.');
    await expect(passage.locator('mark')).toBeInViewport();
    await expect(passage.getByText('Holds: The quoted words are in the bytes.')).toBeVisible();
    await checks.accessible(passage);
    await passage.emulateMedia({ media: 'print' });
    // On paper, nobody can scroll to the rest of a long passage.
    await expect(passage.locator('.passage')).toHaveCSS('max-height', 'none');
    await passage.close();
    const saving = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Save the evidence file' }).click();
    const savedPassage = testInfo.outputPath(`${finding.id}.evidence.html`);
    await (await saving).saveAs(savedPassage);
    expect((await runCommand(['verify', savedPassage])).code).toBe(0);
    const wholePassage = await readFile(savedPassage, 'utf8');
    const alone = await openOffline(browser, savedPassage);
    await expect(alone.page.locator('mark')).toHaveText('The dam is not safe.');
    expect(alone.errors).toEqual([]);
    for (const [part, says, alter] of passageChangesOf()) {
      const evidence = evidenceIn(wholePassage);
      alter(evidence);
      await writeFile(savedPassage, withEvidence(wholePassage, evidence));
      await alone.page.goto(pathToFileURL(savedPassage).href);
      await expect(alone.page.getByRole('status'), part).toContainText(
        'Altered: this evidence does not hold',
      );
      await expect(alone.page.getByRole('listitem').filter({ hasText: says }).first(), part).toBeVisible();
      expect((await runCommand(['verify', savedPassage])).code, part).toBe(1);
    }
    await alone.page.context().close();

    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Evidence file', exact: true }).click();
    const saved = await download;
    expect(saved.suggestedFilename()).toBe('event-2.evidence.html');
    const file = testInfo.outputPath(saved.suggestedFilename());
    await saved.saveAs(file);
    const whole = await readFile(file, 'utf8');
    const contents = evidenceIn(whole).files.reduce((sum, { content }) => sum + (content?.length ?? 0), 0);
    expect(whole.length - contents).toBeLessThan(300_000);

    const { page: opened, errors } = await openOffline(browser, file);
    await expect(opened.getByRole('status')).toContainText('Intact.');
    await expect(opened.getByRole('heading', { name: 'Fails' })).toHaveCount(0);
    for (const words of [
      web.url('/report'),
      'The witness node-',
      'The timestamp of',
      'The entry existed before',
      'The dam is safe.',
      'not</b> safe.</script>',
    ])
      await expect(opened.getByText(words).first(), words).toBeVisible();
    const claimed = opened.getByRole('listitem').filter({ hasText: 'Only claimed:' });
    await expect(claimed.filter({ hasText: 'The address answered with these bytes.' })).toHaveCount(1);
    await expect(claimed.filter({ hasText: 'The entry existed before' })).toHaveCount(2);
    await checks.accessible(opened);
    await opened.emulateMedia({ media: 'print' });
    expect((await opened.pdf()).length).toBeGreaterThan(5_000);
    expect(errors).toEqual([]);
    const own = await runCommand(['verify', file]);
    expect([own.code, own.stderr]).toEqual([0, '']);

    for (const [part, says, alter] of changesOf()) {
      const evidence = evidenceIn(whole);
      alter(evidence);
      const html = withEvidence(whole, evidence);
      expect(html, part).not.toBe(whole);
      await writeFile(file, html);
      await opened.goto(pathToFileURL(file).href);
      await expect(opened.getByRole('status'), part).toContainText('Altered: this evidence does not hold');
      await expect(
        opened
          .getByRole('listitem')
          .filter({ hasText: 'Fails:' })
          .filter({ hasText: says.replace('Fails: ', '') })
          .first(),
        part,
      ).toBeVisible();
    }
    expect((await runCommand(['verify', file])).code).toBe(1);
    await writeFile(file, withCutData(whole));
    await opened.goto(pathToFileURL(file).href);
    await expect(opened.getByText('It was altered or cut.')).toBeVisible();
    await opened.context().close();
  } finally {
    await Promise.all([witness.stop(), ...authorities.map((authority) => authority.close())]);
  }
});

const RECORD = {
  pack_format: 1,
  terms_version: '2026-10-01',
  title: 'Levels “é”',
  authors: [{ name: 'Ada' }],
  license: 'CC0-1.0',
  outcome: 'positive',
  results: { mean: 4.0, tiny: 1e-7 },
};

/** Uploads a pack with one file and returns its id. */
async function uploadPack(node: { url: string; token: string }, file: File): Promise<string> {
  const form = new FormData();
  form.append('record', JSON.stringify(RECORD));
  form.append('files', file);
  const headers = { Authorization: `Bearer ${node.token}` };
  const uploaded = await fetch(new URL('/api/packs', node.url), { method: 'POST', headers, body: form });
  expect(uploaded.status).toBe(201);
  return ((await uploaded.json()) as { id: string }).id;
}

/** Saves the evidence file of a pack from its page. */
async function saveEvidence(page: Page, id: string, testInfo: TestInfo): Promise<string> {
  await page.goto(`/packs/${id}`);
  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Evidence file' }).click();
  const file = testInfo.outputPath(`${id}.evidence.html`);
  await (await download).saveAs(file);
  return file;
}

test('the evidence files of a set and of a pack hold offline, with their files', async ({
  page,
  node,
  browser,
  checks,
}, testInfo) => {
  const text = 'day,level\n1,4\n';
  const pack = await uploadPack(node, new File([text], 'levels.csv', { type: 'text/csv' }));
  await test.step('a set’s evidence file lists its files, and gives the list to check them with', async () => {
    const part = { path: 'levels.csv', bytes: text.length, sha256: sha256Of(text) };
    const files = Array.from({ length: 101 }, (_, index) => ({
      ...part,
      path: `${1_000 + index}.csv`,
      parts: [{ pack, ...part }],
    }));
    const list = JSON.stringify({ format: 'strongroom-set@1', files });
    const id = await uploadPack(node, new File([list], 'set.json', { type: 'application/json' }));
    const file = await saveEvidence(page, id, testInfo);
    const { page: opened, errors } = await openOffline(browser, file);
    await expect(opened.getByRole('heading', { level: 1 })).toHaveText('Evidence of a set, ledger entry 2');
    await expect(opened.getByText('Holds: The ledger entry 2 covers every file of the set.')).toBeVisible();
    const listed = opened.getByRole('listitem').filter({ hasText: part.sha256 }).filter({ hasText: '.csv' });
    await expect(listed).toHaveCount(100);
    await checks.accessible(opened);
    await opened.getByRole('button', { name: 'Show all 101 files' }).click();
    await expect(listed).toHaveCount(101);
    await expect(listed.last()).toContainText('1100.csv');
    const saving = opened.waitForEvent('download');
    await opened.getByRole('link', { name: 'Save the list' }).click();
    const saved = await saving;
    expect(saved.suggestedFilename()).toBe('SHA256SUMS');
    const lines = files.map(({ path, sha256 }) => `${sha256}  ${path}\n`).join('');
    expect(await readFile(await saved.path(), 'utf8')).toBe(lines);
    expect(errors).toEqual([]);

    const whole = await readFile(file, 'utf8');
    const evidence = evidenceIn(whole);
    for (const each of evidence.files) each.content = btoa(list.replace('1000.csv', '999.csv'));
    await writeFile(file, withEvidence(whole, evidence));
    await opened.goto(pathToFileURL(file).href);
    await expect(opened.getByRole('listitem').filter({ hasText: 'set.json was altered.' })).toBeVisible();
    await expect(opened.getByRole('heading', { name: 'Files of the set' })).toHaveCount(0);
    await opened.context().close();
  });
  await test.step('a pack’s evidence file holds offline, with its files', async () => {
    const file = await saveEvidence(page, pack, testInfo);
    const { page: opened, errors } = await openOffline(browser, file);
    await expect(opened.getByRole('status')).toContainText('Intact.');
    await expect(opened.getByText('day,level')).toBeVisible();
    expect(errors).toEqual([]);
    const whole = await readFile(file, 'utf8');
    const evidence = evidenceIn(whole);
    evidence.recorded.record = evidence.recorded.record.replace('positive', 'negative');
    await writeFile(file, withEvidence(whole, evidence));
    await opened.goto(pathToFileURL(file).href);
    await expect(opened.getByText('The record of the pack was altered.').first()).toBeVisible();
    await opened.context().close();
  });
  await test.step('a page with anything else in it says so, as long as its script is its own', async () => {
    const file = await saveEvidence(page, pack, testInfo);
    const whole = await readFile(file, 'utf8');
    const { page: opened } = await openOffline(browser, file);
    await expect(opened.getByRole('status')).toHaveAttribute('data-verdict', 'intact');
    for (const [what, html] of Object.entries(otherPagesOf(whole))) {
      expect(html, what).not.toBe(whole);
      await writeFile(file, html);
      await opened.goto(pathToFileURL(file).href);
      await expect(opened.getByRole('status'), what).toHaveAttribute('data-verdict', 'unknown');
      await expect(opened.getByText('Nothing else is in this page than the report.'), what).toHaveCount(1);
      await expect(opened.getByText('Another story'), what).toHaveCount(0);
      expect((await runCommand(['verify', file])).code, what).toBe(1);
    }
    // No script sees such a root. It is gone with its body.
    const root = '<template shadowrootmode="closed"><p>Another story.</p></template>';
    await writeFile(file, whole.replace('<body>', `<body>${root}`));
    await opened.goto(pathToFileURL(file).href);
    await expect(opened.getByRole('status')).toContainText('Intact.');
    expect(await opened.getByRole('status').isVisible()).toBe(true);
    expect((await runCommand(['verify', file])).code).toBe(1);
    await opened.context().close();
  });
});
