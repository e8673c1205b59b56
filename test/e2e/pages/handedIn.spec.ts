import { pdfOf } from '../../support/pdf.ts';
import { savedPage } from '../../support/savedPages.ts';
import { expect, test } from '../support/fixtures.ts';

/** Playwright cannot run its own scripts in the frame of an archived document. */
const BLOCKED = /Blocked script execution in '[^']*\/archive\/[0-9a-f]{64}\/page/;
const LABEL = 'handed in: this node did not fetch it';

test('a saved page is dropped, kept, shown beside what the public gets, and hidden from visitors', async ({
  page,
  node,
  web,
  browser,
  checks,
}) => {
  checks.allow(BLOCKED);
  await page.request.patch('/manage/settings', { data: { per_host_pause_ms: 0, retry_delays_seconds: [] } });
  web.publish('/account?token=1', '<!doctype html><title>Bank</title><h1>Welcome</h1><p>Please sign in.</p>');
  const address = web.url('/account?token=1');
  const document = `<!doctype html><html><head><title>Bank</title><link rel="stylesheet" href="cid:css-1"></head>
    <body><h1>Welcome</h1><p>Your balance is 12.</p><script>document.body.textContent = 'ran'</script></body></html>`;
  const file = savedPage(address, [
    { type: 'text/html', location: address, encoding: 'quoted-printable', content: document },
    { type: 'text/css', id: 'css-1', content: 'h1 { color: rgb(1, 2, 3) }' },
  ]);

  await page.goto('/');
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Hand in a file' }).click();
  await expect(page.getByText('Nothing yet')).toBeVisible();
  await expect(page.getByRole('switch', { name: 'Not shown to visitors' })).toBeChecked();
  await page.getByRole('button', { name: 'Hand in', exact: true }).click();
  await expect(page.getByText('Choose a file, or drop it here.')).toBeVisible();
  await checks.accessible(page);

  await page.getByRole('region', { name: 'File', exact: true }).evaluate((target, content) => {
    const transfer = new DataTransfer();
    transfer.items.add(
      new File([Uint8Array.from(atob(content), (char) => char.charCodeAt(0))], 'account.mhtml'),
    );
    target.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));
  }, file.toString('base64'));
  await expect(page.getByText('account.mhtml')).toBeVisible();
  await page.getByLabel('Address').fill(address);
  await page.getByLabel('Title').fill('My account');
  await page.getByLabel('Note').fill('After I signed in.');
  await page.getByLabel('Also fetch and draw what the public gets').check();
  await page.getByRole('button', { name: 'Hand in', exact: true }).click();
  // An address that may hold a token is asked about.
  await expect(page.getByText('This address may hold a token.')).toBeVisible();
  expect(web.requests('/account?token=1')).toBe(0);
  await page.getByLabel('Fetch this address although it may hold a token').check();
  await page.getByRole('button', { name: 'Hand in', exact: true }).click();

  await expect(page.getByRole('heading', { level: 1, name: 'My account' })).toBeVisible();
  await expect(page.getByText(LABEL).first()).toBeVisible();
  await expect(page.getByText('After I signed in.')).toBeVisible();
  const seen = page.frameLocator('iframe');
  await expect(seen.getByText('Your balance is 12.')).toBeVisible();
  await expect(seen.getByRole('heading', { name: 'Welcome' })).toHaveCSS('color', 'rgb(1, 2, 3)');
  await expect(page.getByAltText('Picture of Bank as the public gets it')).toHaveJSProperty(
    'naturalWidth',
    1280,
  );
  await expect(
    page.getByRole('list', { name: 'Blocks of text that both have' }).getByRole('listitem'),
  ).toHaveText(['Welcome']);
  await checks.accessible(page);

  const handedIn = page.url();
  await page.goto('/handed-in');
  const list = page.getByRole('list', { name: 'Handed in, newest first' });
  await expect(list.getByRole('listitem')).toContainText(['not shown to visitors']);
  await expect(list).toContainText(LABEL);
  await page.goto('/timeline');
  await expect(page.getByText(LABEL).first()).toBeVisible();

  await page.request.patch('/manage/sharing', { data: { mode: 'read' } }).catch(() => undefined);
  const visitor = await (await browser.newContext({ baseURL: node.url })).newPage();
  checks.watch(visitor);
  await visitor.goto('/timeline');
  await expect(visitor.getByText(LABEL).first()).toBeVisible();
  const { document: sha256 } = (await (
    await page.request.get(`/manage${new URL(handedIn).pathname}`)
  ).json()) as { document: string };
  expect((await visitor.request.get(`/archive/${sha256}`)).status()).toBe(451);
});

test('a PDF and what Chromium saves as a single file are handed in', { tag: '@trial' }, async ({
  page,
  checks,
  web,
}) => {
  await test.step('a PDF is chosen from the disk, with the address that it shows', async () => {
    await page.goto('/handed-in');
    await page.locator('input[type=file]').setInputFiles({
      name: 'bill.pdf',
      mimeType: 'application/pdf',
      buffer: pdfOf(['The bill']),
    });
    await page.getByRole('button', { name: 'Hand in', exact: true }).click();
    await expect(page.getByText('Enter the address that it shows.')).toBeVisible();
    await page.getByLabel('Address').fill('https://bank.example/bill.pdf');
    await page.getByRole('switch', { name: 'Not shown to visitors' }).click();
    await page.getByRole('button', { name: 'Hand in', exact: true }).click();
    await expect(
      page.getByRole('heading', { level: 1, name: 'https://bank.example/bill.pdf' }),
    ).toBeVisible();
    await expect(page.getByText('see it', { exact: true })).toBeVisible();
    await checks.accessible(page);
  });
  await test.step('what Chromium saves as a single file is shown as it was: styles, images, frames and shadow trees', async () => {
    checks.allow(BLOCKED);
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><circle r="20"/></svg>';
    web.publish('/mark.svg', { headers: { 'Content-Type': 'image/svg+xml' }, body: svg });
    web.publish('/look.css', {
      headers: { 'Content-Type': 'text/css' },
      body: 'h1 { color: rgb(1, 2, 3); background: url(/mark.svg) }',
    });
    web.publish('/inner', '<!doctype html><title>Inner</title><p>In the frame</p>');
    web.publish(
      '/saved',
      `<!doctype html><title>Grüße</title><link rel="stylesheet" href="/look.css"><style>p { margin: 7px }</style>
     <h1>Grüße, 世界</h1><p>Plain</p><img src="/mark.svg" alt="mark"><div id="host"></div><iframe src="/inner"></iframe>
     <script>host.attachShadow({ mode: 'open' }).innerHTML = '<b>In the shadow</b>';</script>`,
    );
    const visited = await page.context().newPage();
    await visited.goto(web.url('/saved'));
    const session = await page.context().newCDPSession(visited);
    const { data } = await session.send('Page.captureSnapshot', { format: 'mhtml' });
    await visited.close();
    const answer = await page.request.post('/manage/handed-in', {
      headers: { 'Content-Type': 'multipart/related' },
      data: Buffer.from(data),
    });
    expect(answer.status(), await answer.text()).toBe(201);
    const { id, url, parts } = (await answer.json()) as {
      id: string;
      url: string;
      parts: { sha256: string | null }[];
    };
    expect(url).toBe(web.url('/saved'));
    expect(parts.every(({ sha256 }) => sha256 !== null)).toBe(true);

    await page.goto(`/handed-in/${id}`);
    const seen = page.frameLocator('iframe');
    const heading = seen.getByRole('heading', { name: 'Grüße, 世界' });
    await expect(heading).toHaveCSS('color', 'rgb(1, 2, 3)');
    await expect(heading).toHaveCSS('background-image', /^url\("data:image\/svg/);
    await expect(seen.getByText('Plain')).toHaveCSS('margin-top', '7px');
    await expect(seen.getByAltText('mark')).toHaveJSProperty('naturalWidth', 40);
    await expect(seen.getByText('In the shadow')).toBeVisible();
    await seen.getByRole('link', { name: /^Frame: cid:/ }).click();
    await expect(page.frameLocator('iframe').getByText('In the frame')).toBeVisible();
  });
});
