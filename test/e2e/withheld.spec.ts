import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from './support/fixtures.ts';
import { publishPack } from './support/publishPack.ts';
import { visitorOf, watchNotes, withhold } from './support/withheld.ts';

test('an object and a retrieval are withheld where they are shown, and visitors read why in their place', async ({
  page,
  node,
  web,
  browser,
  checks,
}) => {
  const { source, event, sha256, before } = await watchNotes(page, web);
  await test.step('the owner withholds an object from its page, and visitors read why in its place', async () => {
    await page.goto(`/view/${sha256}?source=${source}`);
    const hidden = page.getByRole('switch', { name: 'Not shown to visitors' });
    await expect(hidden).not.toBeChecked();
    await hidden.click();
    const dialog = page.getByRole('dialog', { name: 'Do not show this object to visitors' });
    await checks.accessible(page);
    await dialog.getByRole('button', { name: 'Do not show' }).click();
    await expect(dialog.getByText('Choose a reason.')).toBeVisible();
    await dialog.getByRole('radio', { name: 'Personal data' }).check();
    await dialog.getByLabel('Note').fill('Asked by letter on 20 November.');
    await dialog.getByRole('button', { name: 'Do not show' }).click();
    await expect(dialog).toBeHidden();
    await expect(hidden).toBeChecked();
    await expect(page.getByText('Asked by letter on 20 November.')).toBeVisible();
    // The owner still sees the bytes.
    await expect(page.frameLocator('iframe').getByText('7 Mill Lane')).toBeVisible();
    await checks.accessible(page);

    const visitor = await visitorOf(browser, node, checks);
    const explained = visitor.getByText(
      /^The owner does not show this to visitors since .+ \(personal data\)\./,
    );
    await visitor.goto(`/view/${sha256}?source=${source}`);
    await expect(visitor.getByRole('heading', { level: 1, name: web.url('/notes') })).toBeVisible();
    await expect(explained).toBeVisible();
    await expect(visitor.getByText('Mill Lane')).toHaveCount(0);
    await expect(
      visitor.getByRole('table', { name: 'Retrievals of this object, newest first' }),
    ).toBeVisible();
    await expect(visitor.getByRole('switch')).toHaveCount(0);
    await checks.accessible(visitor);

    // The event: no differences, the object after is not shown, the object before is.
    await visitor.goto(`/timeline/${event}`);
    const after = visitor.getByRole('region', { name: `After: object ${sha256.slice(0, 8)}` });
    await expect(after.getByText(/^The owner does not show this/)).toBeVisible();
    await expect(after.getByRole('link', { name: 'View' })).toHaveCount(0);
    await expect(after.getByRole('link', { name: 'Download' })).toHaveCount(0);
    await expect(visitor.getByText('Comparing the two versions…')).toHaveCount(0);
    await expect(
      visitor.getByRole('region', { name: /^Before: object/ }).getByRole('link', { name: 'View' }),
    ).toBeVisible();
    await checks.accessible(visitor);

    await visitor.goto(`/sources/${source}`);
    await expect(explained).toBeVisible();

    // Shown again, after a question.
    await hidden.click();
    await page
      .getByRole('dialog', { name: 'Show this object to visitors again?' })
      .getByRole('button', { name: 'Show again' })
      .click();
    await expect(hidden).not.toBeChecked();
    await visitor.goto(`/view/${sha256}?source=${source}`);
    await expect(visitor.frameLocator('iframe').getByText('7 Mill Lane')).toBeVisible();
  });
  await test.step('a retrieval is withheld where it is listed, and its object is marked as a part of it', async () => {
    await page.goto(`/sources/${source}?retrieval=1`);
    const drawer = page.getByRole('dialog', { name: 'Retrieval 1' });
    await drawer.getByRole('switch', { name: 'Not shown to visitors' }).click();
    const dialog = page.getByRole('dialog', { name: 'Do not show retrieval 1 to visitors' });
    await dialog.getByRole('radio', { name: 'Behind a login' }).check();
    await dialog.getByRole('button', { name: 'Do not show' }).click();
    await expect(drawer.getByRole('switch', { name: 'Not shown to visitors' })).toBeChecked();
    await page.goto(`/view/${before}?source=${source}`);
    const hidden = page.getByRole('switch', { name: 'Not shown to visitors' });
    await expect(hidden).toBeChecked();
    await expect(hidden).toBeDisabled();
    await expect(page.getByText('as part of a retrieval')).toBeVisible();
  });
});

test('files of a pack are withheld, and released after two questions', async ({
  page,
  node,
  browser,
  checks,
}) => {
  await test.step('a visitor reads in a pack which files are not shown, and verifies the rest', async () => {
    const pack = await publishPack(node, { title: 'Interviews in Hill Street' });
    await page.goto(`/packs/${pack.id}`);
    await page.getByRole('switch', { name: 'Not shown to visitors' }).click();
    const dialog = page.getByRole('dialog', { name: 'Do not show the files of this pack to visitors' });
    await dialog.getByRole('radio', { name: 'Copyright' }).check();
    await dialog.getByRole('button', { name: 'Do not show' }).click();
    await expect(page.getByText('Not shown: copyright')).toBeVisible();
    await expect(page.getByRole('link', { name: 'Download pack' })).toBeVisible();
    await checks.accessible(page);

    const visitor = await visitorOf(browser, node, checks);
    await visitor.goto(`/packs/${pack.id}`);
    await expect(visitor.getByText('Not shown to visitors: copyright')).toBeVisible();
    await expect(
      visitor.getByText('1 file cannot be read, so the pack cannot be downloaded as one file.'),
    ).toBeVisible();
    await expect(visitor.getByRole('link', { name: 'Download pack' })).toHaveCount(0);
    await expect(visitor.getByRole('link', { name: 'Download data.txt' })).toHaveCount(0);
    await checks.accessible(visitor);
    await visitor.getByRole('button', { name: 'data.txt', exact: true }).click();
    await expect(
      visitor.getByRole('dialog').getByText(/^The owner does not show this to visitors/),
    ).toBeVisible();
    await checks.accessible(visitor);
    await visitor.keyboard.press('Escape');
    await visitor.getByRole('button', { name: 'Verify', exact: true }).click();
    await expect(
      visitor.getByText('2 claims verified. 1 file is not shown: this browser could not hash it.'),
    ).toBeVisible();
    await expect(visitor.getByRole('cell', { name: 'not shown to visitors' })).toBeVisible();
  });
  await test.step('bytes are released after two questions that name what is lost', async () => {
    const pack = await publishPack(node, { title: 'Interviews in Mill Lane' });
    await withhold(page, { pack: pack.id, reason: 'personal_data' });
    await page.goto('/withheld');
    await page.getByRole('button', { name: 'Release for good: Interviews in Mill Lane' }).click();
    const dialog = page.getByRole('dialog', { name: 'Release for good' });
    const lost = dialog.getByRole('region', { name: 'What uses these bytes' });
    await expect(lost.getByRole('link', { name: /Interviews in Mill Lane/ })).toBeVisible();
    await expect(dialog.getByRole('radio', { name: 'Personal data' })).toBeChecked();
    await checks.accessible(page);
    await dialog.getByLabel('Note').fill('Consent was withdrawn.');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    const giveUp = dialog.getByRole('button', { name: 'Release for good' });
    await expect(dialog.getByText('You are about to give up 1 object')).toBeVisible();
    await expect(giveUp).toBeDisabled();
    await dialog.getByRole('checkbox').check();
    await checks.accessible(page);
    await checks.accessible(page, 'dark');
    // Nothing has happened so far.
    expect(await (await page.request.get('/api/released')).json()).toMatchObject({ total: 0 });
    await dialog.getByRole('button', { name: 'Back' }).click();
    await expect(dialog.getByLabel('Note')).toHaveValue('Consent was withdrawn.');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByRole('checkbox').check();
    await giveUp.click();
    await expect(dialog).toBeHidden();

    await page.getByRole('tab', { name: 'Released (1)' }).click();
    const released = page.getByRole('list', { name: 'Released, newest first' });
    await expect(released.getByRole('listitem')).toContainText('Given up: personal data');
    await expect(released.getByRole('listitem')).toContainText('Consent was withdrawn.');
    await page.goto(`/packs/${pack.id}`);
    await page.getByRole('button', { name: 'data.txt', exact: true }).click();
    await expect(
      page.getByRole('dialog').getByText(/^These bytes were given up on .+ \(personal data\)\./),
    ).toBeVisible();
    await checks.accessible(page);

    const visitor = await visitorOf(browser, node, checks);
    await visitor.goto(`/packs/${pack.id}`);
    await visitor.getByRole('button', { name: 'Verify', exact: true }).click();
    await expect(visitor.getByText('2 claims verified. 1 file is not shown')).toBeVisible();
    await expect(visitor.getByRole('cell', { name: 'given up' })).toHaveCount(2);
  });
});

test('a page capture that is not shown has a placeholder wherever its picture would be', async ({
  page,
  node,
  web,
  browser,
  checks,
}) => {
  await page.request.patch('/manage/settings', { data: { per_host_pause_ms: 0, retry_delays_seconds: [] } });
  const collect = (id: string) =>
    page.request.post('/manage/collections?wait=true', { data: { sources: [id] } });
  const shop = (price: string) => `<!doctype html><title>The shop</title><p>Bread costs ${price}`;
  web.publish('/shop', shop('2.10'));
  const added = await page.request.post('/manage/sources', {
    data: { url: web.url('/shop'), capture: 'page' },
  });
  const { id: source } = (await added.json()) as { id: string };
  await collect(source);
  web.publish('/shop', shop('2.35'));
  await collect(source);
  const listed = await page.request.get(`/archive/pages?source=${source}`);
  const [newer, older] = ((await listed.json()) as { items: { id: string }[] }).items.map(({ id }) => id);

  await page.goto(`/pages/${newer}`);
  await page.getByRole('switch', { name: 'Not shown to visitors' }).click();
  const dialog = page.getByRole('dialog', { name: 'Do not show this page capture to visitors' });
  await dialog.getByRole('radio', { name: 'Legal order' }).check();
  await dialog.getByRole('button', { name: 'Do not show' }).click();
  await expect(page.getByRole('switch', { name: 'Not shown to visitors' })).toBeChecked();
  await expect(page.getByAltText('Picture of The shop')).toHaveJSProperty('naturalWidth', 1280);
  await page.goto(`/sources/${source}`);
  const captures = page.getByRole('list', { name: 'Page captures, newest first' });
  await expect(captures.getByText('Not shown to visitors')).toHaveCount(1);

  const visitor = await visitorOf(browser, node, checks);
  const explained = visitor.getByText(
    /^The owner does not show this to visitors since .+ \(a legal order\)\./,
  );
  await visitor.goto(`/pages/${newer}`);
  await expect(explained).toHaveCount(2);
  await expect(visitor.getByRole('link', { name: 'Picture', exact: true })).toHaveCount(0);
  await visitor.getByRole('tab', { name: 'Text' }).click();
  await expect(explained).toHaveCount(2);
  await expect(visitor.getByText('Bread costs')).toHaveCount(0);
  await checks.accessible(visitor);
  await visitor.goto(`/pages/${older}/compare/${newer}`);
  await expect(explained).toBeVisible();
  await visitor.goto(`/sources/${source}`);
  const seen = visitor.getByRole('list', { name: 'Page captures, newest first' });
  await expect(seen.getByText('Not shown to visitors')).toBeVisible();
  await expect(seen.locator('img')).toHaveCount(1);
  await checks.accessible(visitor);
  await visitor.goto('/timeline');
  await expect(visitor.getByText('Not shown to visitors')).toHaveCount(1);
});

test('the page Withheld lists what, why and where it still is, and shows it again', async ({
  page,
  node,
  web,
  browser,
  checks,
}) => {
  await page.goto('/');
  await page.getByRole('link', { name: 'Withheld' }).click();
  await expect(page.getByRole('heading', { name: 'Everything is shown' })).toBeVisible();
  await checks.accessible(page);
  const { sha256 } = await watchNotes(page, web);
  const pack = await publishPack(node, { title: 'Interviews in Hill Street' });
  await withhold(page, { pack: pack.id, reason: 'copyright', note: 'The publisher wrote.' });
  await withhold(page, { sha256, reason: 'personal_data' });
  await page.reload();
  const list = page.getByRole('list', { name: 'Withheld, newest first' });
  await expect(list.getByRole('heading')).toHaveText([web.url('/notes'), 'Interviews in Hill Street']);
  const item = list.getByRole('listitem', { name: 'Interviews in Hill Street' });
  await expect(item).toContainText('Not shown to visitors: copyright');
  await expect(item).toContainText('The publisher wrote.');
  await item.getByRole('button', { name: '1 digest' }).click();
  await expect(item.getByRole('list', { name: 'Covered digests' }).getByRole('listitem')).toHaveCount(1);
  await checks.accessible(page);

  // Visitors may read the list, because it is public, but change nothing.
  const visitor = await visitorOf(browser, node, checks);
  await visitor.goto('/withheld');
  await expect(visitor.getByRole('heading', { name: 'Interviews in Hill Street' })).toBeVisible();
  await expect(visitor.getByRole('button', { name: /Show again|Release/ })).toHaveCount(0);
  await expect(visitor.getByRole('navigation').getByRole('link', { name: 'Withheld' })).toHaveCount(0);
  await checks.accessible(visitor);

  await item.getByRole('button', { name: 'Show again: Interviews in Hill Street' }).click();
  const dialog = page.getByRole('dialog', { name: 'Show the files of this pack to visitors again?' });
  await checks.accessible(page);
  await dialog.getByRole('button', { name: 'Show again' }).click();
  await expect(list.getByRole('heading')).toHaveText([web.url('/notes')]);

  // The page says what failed, and what was there stays.
  await page.route('**/api/withheld?**', (route) => route.abort());
  checks.allow(/ERR_FAILED/);
  await page.reload();
  await expect(page.getByRole('alert').first()).toContainText('The node does not respond.');
  await checks.accessible(page);
  await page.unroute('**/api/withheld?**');
  await page.getByRole('button', { name: 'Try again' }).first().click();
  await expect(list.getByRole('heading')).toHaveText([web.url('/notes')]);
});

test('the page Withheld says in which copies something can still be read, and a sync cleans them', async ({
  page,
  node,
  checks,
}) => {
  const pack = await publishPack(node, { title: 'Interviews in Hill Street' });
  const target = pathToFileURL(join(node.dataFolder, '../copy')).href;
  const added = await page.request.post('/manage/copies', { data: { target, pages: true } });
  const { id } = (await added.json()) as { id: string };
  expect((await page.request.post(`/manage/copies/${id}/sync?wait=true`)).ok()).toBe(true);
  await withhold(page, { pack: pack.id, reason: 'personal_data' });
  await page.goto('/withheld');
  const places = page.getByRole('list', { name: 'Copies that readers may look at' });
  await expect(places.getByText(/^Perhaps still readable in/)).toBeVisible();
  await checks.accessible(page);
  await places.getByRole('link', { name: 'Sync it now' }).click();
  await expect(
    page.getByText('1 withheld object is still readable there, until the next sync.'),
  ).toBeVisible();
  await page.getByRole('button', { name: /^Sync now/ }).click();
  await expect(page.getByText('1 withheld object was removed there.')).toBeVisible();
  const inNoCopy = '1 withheld object is in no copy: add one without pages.';
  await expect(
    page.getByText(`1 withheld object is not in this copy, because readers may look into it. ${inNoCopy}`),
  ).toBeVisible();
  await checks.accessible(page);
  await page.goto('/withheld');
  await expect(places.getByText(/^Not readable in/)).toBeVisible();
  await page.goto('/');
  await expect(page.getByRole('link', { name: inNoCopy })).toBeVisible();
});

test('the owner reads what visitors will not see, and sets when older versions are given up', async ({
  page,
  node,
  checks,
  web,
}) => {
  await test.step('before a node is shared, the owner reads what visitors will see and what they will not', async () => {
    const pack = await publishPack(node, { title: 'Interviews in Hill Street' });
    await withhold(page, { pack: pack.id, reason: 'owner' });
    const mode = async () =>
      ((await (await page.request.get('/manage/sharing')).json()) as { mode: string }).mode;
    await page.goto('/sharing');
    await page.getByRole('radio', { name: /^Read/ }).click();
    const dialog = page.getByRole('dialog', { name: 'Before you share: what visitors will see' });
    await expect(dialog.getByRole('region', { name: 'Visitors will see' })).toContainText('1 pack');
    const unseen = dialog.getByRole('region', { name: 'Visitors will not see' });
    await expect(unseen).toContainText('Your drafts');
    await expect(unseen.getByRole('link', { name: '1 withholding' })).toHaveAttribute('href', '/withheld');
    await checks.accessible(page);
    await checks.accessible(page, 'dark');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await expect(page.getByRole('radio', { name: /^Off/ })).toBeChecked();
    expect(await mode()).toBe('off');
    await page.getByRole('radio', { name: /^Contribute/ }).click();
    await dialog.getByRole('button', { name: 'Share for contributions' }).click();
    await expect(page.getByRole('radio', { name: /^Contribute/ })).toBeChecked();
    await expect.poll(mode).toBe('contribute');
    // A change of a node that is shared asks nothing.
    await page.getByRole('radio', { name: /^Read/ }).click();
    await expect.poll(mode).toBe('read');
    await expect(dialog).toHaveCount(0);
  });
  await test.step('a source can be told after how many days its older versions are given up', async () => {
    web.publish('/notes', '<!doctype html><title>Notes of the day</title><p>Bread.');
    await page.goto('/sources?add');
    const form = page.getByRole('dialog', { name: 'Watch a source' });
    await form.getByLabel('URL').fill(web.url('/notes'));
    await form.getByLabel('URL').press('Enter');
    await form.getByRole('button', { name: 'Older versions' }).click();
    await form.getByLabel('Keep for … days').fill('30');
    await checks.accessible(page);
    await form.getByRole('button', { name: 'Watch', exact: true }).click();
    await expect(page.getByText('the file; older versions are given up after 30 days')).toBeVisible();
  });
});
