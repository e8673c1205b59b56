import { expect, test } from '../support/fixtures.ts';

test.use({ viewport: { width: 1280, height: 900 } });

test('links of a page wait for approval; approved ones are watched, refused ones stay away, removed ones are reported', async ({
  page,
  web,
  checks,
}) => {
  checks.allow(/422/);
  await page.request.patch('/manage/settings', { data: { per_host_pause_ms: 0, retry_delays_seconds: [] } });
  const links = ['a', 'b', 'c'].map((name) => `<a href="/${name}.pdf">Report ${name.toUpperCase()}</a>`);
  web.publish('/list', `<!doctype html><title>Reports</title>${links.join(' ')} <a href="/about">About</a>`);
  await page.goto('/sources?add');
  const add = page.getByRole('dialog', { name: 'Watch a source' });
  await add.getByRole('textbox', { name: 'URL' }).fill(web.url('/list'));
  await add.getByRole('textbox', { name: 'Name' }).fill('Reports');
  await add.getByRole('button', { name: 'Follow links' }).click();
  await add.getByRole('combobox', { name: 'Watch as separate sources' }).click();
  await page.getByRole('option', { name: 'Links on the page' }).click();
  await add.getByRole('combobox', { name: 'Types' }).fill('pdf');
  await add.getByRole('textbox', { name: 'Address pattern' }).fill('(?=x)');
  await add.getByRole('button', { name: 'Watch', exact: true }).click();
  await expect(add.getByText(/regular expression of RE2’s syntax/)).toBeVisible();
  await add.getByRole('textbox', { name: 'Address pattern' }).fill('\\.pdf$');
  await add.getByRole('button', { name: 'Show what this finds' }).click();
  const previewed = add.getByRole('list', { name: 'Addresses that this finds' });
  await expect(previewed.getByRole('listitem')).toHaveText([/Report A/, /Report B/, /Report C/]);
  await expect(add.getByText('3 addresses would wait for your review now:')).toBeVisible();
  await checks.accessible(page);
  await checks.accessible(page, 'dark');
  await add.getByLabel('Maximum', { exact: true }).fill('2');
  await expect(previewed).toBeHidden();
  await add.getByRole('button', { name: 'Show what this finds' }).focus();
  await page.keyboard.press('Enter');
  await expect(previewed.getByRole('listitem')).toHaveCount(2);
  await add.getByLabel('Maximum', { exact: true }).fill('50');
  await add.getByRole('button', { name: 'Watch', exact: true }).click();

  const section = page.getByRole('region', { name: 'Links of this page' });
  await expect(section.getByText('Report A')).toBeVisible();
  await expect(section).toContainText('4 addresses read');
  await checks.accessible(page);

  await page.goto('/sources');
  await expect(page.getByText('3 addresses to review.')).toBeVisible();
  await page.getByRole('button', { name: 'Review' }).click();
  const review = page.getByRole('dialog', { name: 'Found addresses' });
  await review.getByRole('checkbox', { name: 'Select Report C' }).check();
  await review.getByRole('button', { name: 'Reject selected' }).click();
  await expect(review.getByText('Report C')).toHaveCount(0);
  await checks.accessible(page);
  await review.getByRole('button', { name: 'Approve all' }).click();
  await expect(review.getByText('Nothing to review.')).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(page.getByText('to review')).toHaveCount(0);
  const table = page.getByRole('table', { name: 'Watched sources' });
  await expect(table.getByText('Report A')).toBeVisible();

  web.publish('/list', `<!doctype html><title>Reports</title>${links[1]}`);
  await page.request.post('/manage/collections?wait=true', { data: {} });
  await table.getByText('Report A').click();
  await expect(page.getByText('no longer linked (noticed')).toBeVisible();
  await page.getByRole('link', { name: 'Reports', exact: true }).click();
  await expect(section.getByText('no longer linked (noticed')).toHaveCount(2);
});

test('warnings are shown with their signs, and schedules with their next times', async ({
  page,
  web,
  checks,
}) => {
  await test.step('the timeline is filtered by warnings, and an event shows the signs', async () => {
    await page.request.patch('/manage/settings', { data: { per_host_pause_ms: 0 } });
    web.publish('/wall', '<!doctype html><title>Just a moment...</title><p>wait');
    web.publish('/well', '<!doctype html><title>Report</title><p>Its text is here.');
    for (const path of ['/wall', '/well']) {
      await page.request.post('/manage/sources', { data: { url: web.url(path), name: path.slice(1) } });
      await page.request.post('/manage/collections?wait=true', { data: {} });
    }
    await page.goto('/timeline');
    await page.getByRole('combobox', { name: 'Quality' }).click();
    await page.getByRole('option', { name: 'Bot checks' }).click();
    await expect(page).toHaveURL(/label=bot_wall/);
    await expect(page.getByText('wall', { exact: true }).first()).toBeVisible();
    await expect(page.getByText('well', { exact: true })).toHaveCount(0);
    await page.goto('/timeline/1');
    await page.getByRole('button', { name: 'Show the signs' }).click();
    await expect(page.getByText(/points, wall\.title/)).toBeVisible();
    await checks.accessible(page);
  });
  await test.step('a schedule shows its next times before it is saved, for one source and for several', async () => {
    checks.allow(/422/);
    web.publish('/a', '<title>Page A</title>');
    await page.request.post('/manage/sources', { data: { url: web.url('/a'), name: 'Page A' } });
    await page.goto('/sources');
    const table = page.getByRole('table', { name: 'Watched sources' });
    await table.getByRole('checkbox', { name: 'Select Page A' }).check();
    await page.getByRole('button', { name: 'Schedule' }).click();
    const bulk = page.getByRole('dialog', { name: 'Schedule of 1 source' });
    await bulk.getByText('At set times').click();
    await bulk.getByRole('textbox', { name: 'Times' }).fill('0 8 * * 1');
    await bulk.getByRole('checkbox', { name: 'Only during active hours' }).check();
    await bulk.getByText('Mon', { exact: true }).click();
    await expect(bulk.getByText(/^Mon \d+ \w+, 08:00$/)).toHaveCount(4);
    await checks.accessible(page);
    await bulk.getByRole('textbox', { name: 'Times' }).fill('0 3 * * 1');
    await expect(bulk.getByText('This is never due.')).toBeVisible();
    await bulk.getByRole('button', { name: 'Save' }).click();
    await expect(bulk.getByText('This is never due within the active hours.')).toBeVisible();
    await bulk.getByRole('textbox', { name: 'Times' }).fill('0 8 * * 1');
    await bulk.getByRole('button', { name: 'Save' }).click();
    await expect(bulk).toHaveCount(0);
    await table.getByText('Page A').click();
    await expect(page.getByText('0 8 * * 1 (')).toBeVisible();
    await expect(page.getByText(/08:00–18:00, Mon/)).toBeVisible();
    await page.getByRole('button', { name: 'Edit' }).click();
    const edit = page.getByRole('dialog', { name: 'Edit source' });
    await expect(edit.getByRole('textbox', { name: 'Times' })).toHaveValue('0 8 * * 1');
  });
});
