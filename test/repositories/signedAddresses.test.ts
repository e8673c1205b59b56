import { expect, test } from 'vitest';
import { publishedAddress, withoutSignatures } from '../../server/repositories/recordFields.ts';

test.each([
  'https://a.example/f?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=5ec2e7',
  'https://a.example/f?x-oss-signature=5ec2e7',
  'https://a.example/f?q-sign-time=1&q-signature=5ec2e7',
  'https://a.example/f?OSSAccessKeyId=5ec2e7',
  'https://a.example/f?hdnea=exp=1~hmac=5ec2e7',
  'https://a.example/f?sv=1&sig=5ec2e7',
  'https://a.example/f?access_token=5ec2e7',
  'https://a.example/f?key=5ec2e700-0000-4000-8000-000000000000',
  'https://name:5ec2e7@a.example/f',
])('%s has no secret when it is published', (address) => {
  expect(publishedAddress(address)).toBe('https://a.example/f');
});

test.each([
  'https://a.example/f?key=data/levels.csv',
  'https://a.example/f?algorithm=md5',
  'https://a.example/dataset.xhtml?persistentId=doi:10.5072/FK2/ABCDEF',
])('%s is published as it is', (address) => {
  expect(publishedAddress(address)).toBe(address);
});

test('no header of a retrieval has a signed address, whole or relative', () => {
  const signed = '/store/f?X-Amz-Signature=5ec2e7';
  const headers: [string, string][] = [
    ['Location', `..${signed}`],
    ['Link', `<${signed}>; rel="item", </page?id=1>; rel="next", <#access_token=5ec2e7>; rel="x"`],
  ];
  const url = 'https://a.example/records/1';
  const redirects = [{ url, status: 302, headers }];
  const published = withoutSignatures({ url, final_url: `https://b.example${signed}`, redirects, headers });
  expect(JSON.stringify(published)).not.toContain('5ec2e7');
  expect(published.final_url).toBe('https://b.example/store/f');
  expect(published.headers[1]?.[1]).toContain('</page?id=1>; rel="next"');
});
