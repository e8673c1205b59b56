import { expect, test } from '../support/fixtures.ts';
import { publishPack } from '../support/publishPack.ts';

test('the page of an event says how it was retrieved; the page of a study which packs it concerns', async ({
  page,
  node,
  web,
  checks,
}) => {
  await test.step('the page of an event says how it was retrieved, and who else saw the same', async () => {
    web.publish('/prices', { headers: { 'Content-Type': 'text/plain' }, body: '120 euros' });
    await page.request.post('/manage/sources', { data: { url: web.url('/prices'), name: 'Prices' } });
    await page.request.post('/manage/collections?wait=true');
    await page.goto('/timeline/1');
    const retrieval = page.getByRole('region', { name: 'How it was retrieved' });
    await expect(retrieval).toContainText('127.0.0.1, port');
    await expect(retrieval).toContainText('HTTP/1.1 without encryption');
    await expect(retrieval).toContainText('Only this node states this');
    const observers = page.getByRole('region', { name: 'Who else saw this' });
    await expect(observers).toContainText('Nobody else yet.');

    const warc = `WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>\r\nWARC-Date: 2020-01-02T03:04:05Z\r\nWARC-Target-URI: ${web.url('/prices')}\r\nContent-Type: application/http; msgtype=response\r\n`;
    const answer = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\n120 euros';
    await page.request.post('/manage/captures?observer=Web%20Museum&wait=true', {
      headers: { 'Content-Type': 'application/warc' },
      data: `${warc}Content-Length: ${answer.length}\r\n\r\n${answer}\r\n\r\n`,
    });
    await page.reload();
    await expect(observers.getByRole('table')).toContainText('Web Museum');
    await checks.accessible(page);
    expect(node.url).toContain('127.0.0.1');
  });
  await test.step('the page of a study says which packs relate to works that changed since', async () => {
    const created = await page.request.post('/api/studies', {
      data: { title: 'Prices of bread', question: 'Do they rise?' },
    });
    const { id: study } = (await created.json()) as { id: string };
    const related = [{ relation: 'Cites' as const, identifier: web.url('/prices') }];
    await publishPack(node, { title: 'Bread in May', study, related });
    await page.goto(`/studies/${study}`);
    const drift = page.getByRole('region', { name: 'Related works since publication' });
    await expect(drift).toContainText(
      'None of the related works that this archive watches or holds has changed.',
    );
    web.publish('/prices', { headers: { 'Content-Type': 'text/plain' }, body: '145 euros' });
    await page.request.post('/manage/collections?wait=true');
    await page.reload();
    await expect(drift.getByRole('link', { name: 'Bread in May' })).toBeVisible();
    await expect(drift.getByText(/^Changed .*: Prices$/)).toBeVisible();
    await checks.accessible(page);
  });
});
