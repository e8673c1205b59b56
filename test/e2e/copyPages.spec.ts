import { createHash, createPrivateKey, sign } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from '@playwright/test';
import { openStaticServer, type StaticServer } from '../support/network/staticServer.ts';
import { expect, test } from './support/fixtures.ts';
import type { NodeProcess } from './support/nodeProcess.ts';
import { publishPack } from './support/publishPack.ts';

let place: string;
let server: StaticServer;
test.beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), 'strongroom-e2e-pages-'));
});
test.afterEach(async () => {
  await server?.close();
  await rm(place, { recursive: true, force: true });
});

test('a reader finds, reads and verifies a pack and an event, with no node', async ({
  page,
  node,
  web,
  checks,
}) => {
  const pack = await publishPack(node, { title: 'Tides at Cuxhaven' });
  web.publish('/levels', '<title>Levels</title><script>document.title = "ran"</script>');
  await send(node, '/manage/sources', { url: web.url('/levels'), name: 'Daily levels' });
  await send(node, '/manage/collections?wait=true', {});
  const { id } = (await send(node, '/manage/copies', {
    target: pathToFileURL(place).href,
    pages: true,
  })) as { id: string };
  await send(node, `/manage/copies/${id}/sync?wait=true`);
  await node.stop();
  server = await openStaticServer(place);

  await page.goto(server.url);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await checks.accessible(page);
  await page.getByLabel('Search packs').fill('cuxh tid');
  await page.getByRole('button', { name: 'Search' }).click();
  await expect(page.getByRole('status')).toHaveText('1 found.');
  await checks.accessible(page);
  await page.getByRole('link', { name: pack.title }).click();
  await expect(page.getByRole('heading', { level: 1, name: pack.title })).toBeVisible();
  await checks.accessible(page);
  await expectNarrow(page);
  const file = pack.files[0];
  const downloading = page.waitForEvent('download');
  await page.getByRole('link', { name: file?.path ?? '' }).click();
  const download = await downloading;
  expect(download.suggestedFilename()).toBe(file?.path);
  await page.getByRole('link', { name: 'Verify in the browser' }).click();
  const claims = page.getByRole('region', { name: /^Ledger entry/ }).getByRole('listitem');
  await expect(claims.filter({ hasText: '✓ Holds.' })).toHaveCount(3 + pack.files.length);
  await checks.accessible(page);
  await expectNarrow(page);

  await page.getByLabel('Choose files').setInputFiles(await download.path());
  await expect(page.getByText('This copy holds the same bytes')).toBeVisible();

  await page.getByRole('link', { name: 'Timeline' }).click();
  await checks.accessible(page);
  await page.getByRole('main').getByRole('link').first().click();
  await page.getByRole('cell').getByRole('link').first().click();
  await expect(page.getByRole('heading', { level: 1, name: 'Daily levels' })).toBeVisible();
  await checks.accessible(page);
  await page.getByRole('link', { name: 'Verify in the browser' }).click();
  await expect(claims.filter({ hasText: '✓ Holds.' })).toHaveCount(4);
});

test('verification finds an altered object, an altered record and a foreign checkpoint', async ({
  page,
  node,
}) => {
  const pack = await publishPack(node, { title: 'Tides' });
  await publishPack(node, { title: 'Winds' });
  const { id } = (await send(node, '/manage/copies', {
    target: pathToFileURL(place).href,
    pages: true,
  })) as { id: string };
  await send(node, `/manage/copies/${id}/sync?wait=true`);
  server = await openStaticServer(place);
  const verdict = async () => {
    await page.goto('about:blank');
    await page.goto(`${server.url}verify.html#entry=${pack.ledger_entry}`);
    const claims = page.getByRole('region', { name: /^Ledger entry/ }).getByRole('listitem');
    await expect(claims).toHaveCount(3 + pack.files.length);
    await expect(claims.filter({ hasText: /[✓✕]/ })).toHaveCount(3 + pack.files.length);
    return (await claims.allTextContents()).map((text) => text.includes('✓'));
  };
  const edit = async (path: string, from: string | RegExp, to: string) => {
    const file = join(place, path);
    const text = await readFile(file, 'utf8');
    expect(text.replace(from, to)).not.toBe(text);
    await writeFile(file, text.replace(from, to));
    return () => writeFile(file, text);
  };
  const whole = [true, true, true, ...pack.files.map(() => true)];
  expect(await verdict()).toEqual(whole);
  let restore = await edit('records/1-2.jsonl', '"Tides"', '"Tidal"');
  expect(await verdict()).toEqual(whole.with(2, false));
  await restore();
  restore = await edit(`archive/${pack.files[0]?.sha256}`, /^./, '#');
  expect(await verdict()).toEqual(whole.with(3, false));
  await restore();
  restore = await edit('checkpoint', /\n— (\S+) .{20}/, `\n— $1 ${'A'.repeat(20)}`);
  expect(await verdict()).toEqual(whole.with(0, false));
  await restore();
  await edit('tile/entries/000.p/2', '"type":"pack.added"', '"type":"pack.addes"');
  expect((await verdict()).slice(0, 2)).toEqual([true, false]);
});

test('the verifying page says no more than it verified', async ({ page, node, checks }) => {
  // What is not in the copy.
  checks.allow(/status of 404/);
  const [released, withheld, plain] = [
    await publishPack(node, { title: 'Released' }),
    await publishPack(node, { title: 'Withheld' }),
    await publishPack(node, { title: 'Plain' }),
  ];
  const digestOf = ({ files }: typeof plain) => files[0]?.sha256 ?? '';
  await send(node, '/manage/released', { sha256: digestOf(released), reason: 'legal_order' });
  await send(node, '/manage/withheld', { pack: withheld.id, reason: 'personal_data' });
  const { id } = (await send(node, '/manage/copies', {
    target: pathToFileURL(place).href,
    pages: true,
  })) as { id: string };
  await send(node, `/manage/copies/${id}/sync?wait=true`);
  server = await openStaticServer(place);
  const open = async (hash = '') => {
    await page.goto('about:blank');
    await page.goto(`${server.url}verify.html${hash}`);
  };
  /** What the page says of the first object of a pack. */
  const saidOf = async (pack: typeof plain) => {
    await open(`#entry=${pack.ledger_entry}`);
    const claim = page.getByRole('listitem').filter({ hasText: `The object ${digestOf(pack)}` });
    await expect(claim).toContainText(/[✓✕?]/);
    return (await claim.textContent()) ?? '';
  };

  await test.step('what was released rests on its ledger entry, and what is withheld on the signed list', async () => {
    expect(await saidOf(released)).toMatch(/\? Given up: ledger entry \d+, which the checkpoint covers/);
    expect(await saidOf(withheld)).toContain(
      '? Not in this copy: the key signed that the object is withheld',
    );
    expect(await saidOf(plain)).toContain('✓ Holds.');
  });

  await test.step('lines that nothing covers excuse no missing object', async () => {
    const object = join(place, 'archive', digestOf(plain));
    const bytes = await readFile(object);
    await rm(object);
    const names = join(place, 'withheld.txt');
    const [records = ''] = await readdir(join(place, 'records'));
    const lines = await readFile(join(place, 'records', records), 'utf8');
    const line = lines.split('\n').find((each) => each.startsWith('{"kind":"object_released"')) ?? '';
    const before = await readFile(names, 'utf8');
    await writeFile(names, `${before}${digestOf(plain)}\n`);
    expect(await saidOf(plain)).toContain('✕ Fails');
    await writeFile(names, before);
    const forged = line.replaceAll(digestOf(released), digestOf(plain));
    await writeFile(join(place, 'records', records), `${lines}${forged}\n`);
    expect(await saidOf(plain)).toContain('✕ Fails');
    await mkdir(join(place, 'withheld'));
    await writeFile(join(place, 'withheld', `${digestOf(plain)}.age`), 'planted');
    expect(await saidOf(plain)).toContain('✕ Fails');
    await rm(join(place, 'withheld'), { recursive: true });
    await writeFile(join(place, 'records', records), lines);
    await writeFile(object, bytes);
    expect(await saidOf(plain)).toContain('✓ Holds.');
  });

  await test.step('a planted object is none of the archive, and one with other bytes does not hold', async () => {
    const chosen = page.getByRole('listitem').filter({ hasText: 'mine.txt' });
    const choose = async (bytes: Buffer) => {
      await open();
      await page
        .getByLabel('Choose files')
        .setInputFiles({ name: 'mine.txt', mimeType: 'text/plain', buffer: bytes });
      await expect(chosen).toContainText(/[✓✕?]/);
      return (await chosen.textContent()) ?? '';
    };
    const planted = Buffer.from('planted');
    const digest = createHash('sha256').update(planted).digest('hex');
    await writeFile(join(place, 'archive', digest), planted);
    expect(await choose(planted)).toContain(`? ${digest}: no record names these bytes`);
    await open();
    await page.getByRole('button', { name: 'Verify all files' }).click();
    await expect(page.getByRole('status')).toHaveText(
      /^All are intact: \d+ files were verified.* Withheld objects that are not in this copy: 1\. Files that neither names were not looked for, and the records were not compared with the ledger\.$/,
    );
    const object = join(place, 'archive', digestOf(plain));
    const bytes = await readFile(object);
    expect(await choose(bytes)).toContain('This copy holds the same bytes');
    await writeFile(object, 'other');
    expect(await choose(bytes)).toContain('✕');
    await writeFile(object, bytes);
  });

  await test.step('a checkpoint that the key signed for another name is not that of the archive', async () => {
    const file = join(place, 'checkpoint');
    const note = await readFile(file, 'utf8');
    const [origin = ''] = note.split('\n', 1);
    const body = note.slice(0, note.indexOf('\n\n') + 1).replace(origin, 'other.example');
    const privateKey = createPrivateKey(await readFile(join(node.dataFolder, 'key')));
    const [, signed = ''] = new RegExp(`— ${origin} (\\S+)\n`).exec(note) ?? [];
    const keyId = Buffer.from(signed, 'base64').subarray(0, 4);
    const signature = Buffer.concat([keyId, sign(null, Buffer.from(body), privateKey)]).toString('base64');
    await writeFile(file, `${body}\n— ${origin} ${signature}\n`);
    await open(`#entry=${plain.ledger_entry}`);
    const claims = page.getByRole('region', { name: /^Ledger entry/ }).getByRole('listitem');
    await expect(claims.filter({ hasText: /[✓✕]/ })).toHaveCount(3 + plain.files.length);
    await expect(claims.first()).toContainText('✕ Fails.');
    await writeFile(file, note);
  });
});

/** Sends a request as the owner. */
async function send(node: NodeProcess, path: string, body?: object): Promise<unknown> {
  const response = await fetch(new URL(path, node.url), {
    method: 'POST',
    headers: { Authorization: `Bearer ${node.token}`, ...(body && { 'Content-Type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  expect(response.ok, `${path}: ${response.status}`).toBe(true);
  return response.json();
}

/** A phone must not have to scroll sideways. */
async function expectNarrow(page: Page): Promise<void> {
  const size = page.viewportSize();
  await page.setViewportSize({ width: 390, height: 800 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  if (size) await page.setViewportSize(size);
}
