import type { Pack } from '../../shared/archive/pack.ts';
import { collectChanges } from './support/changes.ts';
import { expect, test } from './support/fixtures.ts';

test('a pack, an event, a version and a finding are cited in every format', async ({
  page,
  context,
  node,
  web,
  checks,
}) => {
  await test.step('a citation is shown in every format, copied and saved as a file', async () => {
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const answer = await page.request.post('/api/packs', {
      data: {
        pack_format: 1,
        terms_version: '2026-10-01',
        title: 'Sea level',
        authors: [{ name: 'Lovelace, Ada' }],
        license: 'CC0-1.0',
        outcome: 'positive',
      },
    });
    const pack = (await answer.json()) as Pack;
    await page.goto(`/packs/${pack.id}`);
    const cite = page.getByRole('region', { name: 'Cite' });
    await expect(cite).toContainText('This node has no public address');
    await expect(cite.getByRole('link', { name: 'Settings' })).toHaveAttribute('href', '/settings#network');
    await expect(cite.locator('pre')).not.toContainText('127.0.0.1');
    const forms = {
      APA: [`Lovelace, A. (`, '.txt'],
      BibTeX: [`@misc{${pack.id},`, '.bib'],
      RIS: ['TY  - DATA', '.ris'],
      'CSL JSON': [`"note": "SHA-256 fingerprint: ${pack.digest}"`, '.csl.json'],
      DataCite: ['"resourceTypeGeneral": "Dataset"', '.datacite.json'],
    };
    for (const [form, [text = '', ending]] of Object.entries(forms)) {
      await cite.getByText(form, { exact: true }).click();
      await expect(cite.locator('pre')).toContainText(text);
      await cite.getByRole('button', { name: `Copy as ${form}` }).click();
      expect(await page.evaluate(() => navigator.clipboard.readText())).toContain(text);
      const download = page.waitForEvent('download');
      await cite.getByRole('link', { name: 'Save as file' }).click();
      expect((await download).suggestedFilename()).toBe(pack.id + ending);
    }
  });
  await test.step('an event, a version and a finding are cited in a dialog, with one click to copy', async () => {
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const notice = (euros: number) => `<title>Fee notice</title><p>The fee is ${euros} euros.</p>`;
    const change = { name: 'notice', type: 'text/html', from: notice(10), to: notice(20) };
    const [event] = await collectChanges(page, node, web, [change]);
    const { sha256 } = (await (await page.request.get(`/api/events/${event}`)).json()) as { sha256: string };
    const target = { kind: 'event', id: String(event) };
    const data = { target, text: 'It doubled.', passage: { sha256, exact: 'The fee is 20 euros.' } };
    const added = await page.request.post('/manage/findings', { data });
    const { id: finding } = (await added.json()) as { id: string };
    const dialog = page.getByRole('dialog', { name: 'Cite' });
    const address = web.url('/notice');
    const copied = async (form: string) => {
      await dialog.getByText(form, { exact: true }).click();
      await dialog.getByRole('button', { name: `Copy as ${form}` }).click();
      await expect(dialog.getByRole('button', { name: 'Copied' })).toBeVisible();
      return page.evaluate(() => navigator.clipboard.readText());
    };

    await page.goto(`/timeline/${event}`);
    await page.getByRole('main').getByRole('button', { name: 'Cite', exact: true }).first().click();
    await expect(dialog.getByText('the digest identifies the archived version')).toBeVisible();
    expect(await copied('APA')).toMatch(new RegExp(`^Fee notice\\. \\(n\\.d\\.\\)\\..*from ${address}$`));
    expect(await copied('PWID')).toMatch(/^urn:pwid:[^:]+:\d{4}-.*Z:part:http:/);
    expect(await copied('Robust Link')).toContain(`data-originalurl="${address}"`);
    await checks.accessible(page);
    await checks.accessible(page, 'dark');

    await page.goto(`/view/${sha256}`);
    await page.getByRole('button', { name: 'Cite', exact: true }).first().click();
    const saving = page.waitForEvent('download');
    await dialog.getByText('BibTeX', { exact: true }).click();
    await dialog.getByRole('link', { name: 'Save as file' }).click();
    expect((await saving).suggestedFilename()).toBe(`${sha256}.bib`);

    await page.setViewportSize({ width: 390, height: 800 });
    await page.goto(`/findings?q=${finding}`);
    await page.getByRole('article').getByRole('button', { name: 'Cite', exact: true }).click();
    expect(await copied('CSL JSON')).toContain('“The fee is 20 euros.” It doubled.');
    expect(await copied('Robust Link')).toContain('Fee notice</a>');
    await checks.accessible(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  });
});
