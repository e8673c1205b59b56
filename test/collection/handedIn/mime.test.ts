import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  BrokenEncodingError,
  decoded,
  fieldOf,
  MimeError,
  readMime,
} from '../../../server/collection/handedIn/mime.ts';
import { type PartOfPage, savedPage } from '../../support/savedPages.ts';

const LIMITS = { parts: 50, depth: 4, headBytes: 4_096, allHeadBytes: 65_536 };

async function* inChunks(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

/** Reads all parts; null in the place of one that cannot be decoded. */
async function readAll(bytes: Buffer, size: number): Promise<(Buffer | null)[]> {
  const parts: (Buffer | null)[] = [];
  for await (const { fields, content } of readMime(inChunks(bytes, size), LIMITS)) {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of decoded(content, fieldOf(fields, 'content-transfer-encoding')))
        chunks.push(chunk);
      parts.push(Buffer.concat(chunks));
    } catch (error) {
      if (!(error instanceof BrokenEncodingError)) throw error;
      parts.push(null);
    }
  }
  return parts;
}

const content = fc.oneof(
  fc.uint8Array({ maxLength: 400 }),
  // Whatever looks like a boundary, an encoding or a line end.
  fc
    .array(
      fc.constantFrom(
        '\r',
        '\n',
        '\r\n',
        '--',
        '=',
        '==',
        '=3D',
        '=\r\n',
        'A',
        ' ',
        '\t',
        '\0',
        '--B',
        '--B--',
      ),
      {
        maxLength: 60,
      },
    )
    .map((pieces) => Buffer.from(pieces.join(''))),
);
const part = fc.record({
  type: fc.constant('image/png'),
  encoding: fc.constantFrom(
    'base64' as const,
    'quoted-printable' as const,
    'binary' as const,
    '8bit' as const,
  ),
  content: content.map((bytes) => Buffer.from(bytes)),
});
const size = fc.integer({ min: 1, max: 200 });
const BOUNDARY = 'a boundary that occurs nowhere';

test('every part is read as it was written, however the bytes arrive', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 6 }), size, async (parts, chunk) => {
      const read = await readAll(savedPage('https://a.example/', parts as PartOfPage[], BOUNDARY), chunk);
      expect(read).toEqual(parts.map((each) => each.content));
    }),
    { numRuns: 300 },
  );
});

test('what is no message, or a damaged one, ends with an error and never with more bytes than it has', async () => {
  const message = fc
    .tuple(fc.array(part, { maxLength: 4 }), fc.constantFrom('B', '-', '--', 'B--'))
    .map(([parts, boundary]) => savedPage('https://a.example/', parts as PartOfPage[], boundary));
  const damage = fc.array(fc.tuple(fc.nat(), fc.nat(30), fc.uint8Array({ maxLength: 8 })), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(fc.oneof(message, content), damage, size, async (written, changes, chunk) => {
      let bytes = Buffer.from(written);
      for (const [at, length, inserted] of changes) {
        const start = bytes.length === 0 ? 0 : at % bytes.length;
        bytes = Buffer.concat([bytes.subarray(0, start), inserted, bytes.subarray(start + length)]);
      }
      try {
        const read = await readAll(bytes, chunk);
        const total = read.reduce((sum, each) => sum + (each?.length ?? 0), 0);
        expect(total).toBeLessThanOrEqual(bytes.length);
      } catch (error) {
        expect(error).toBeInstanceOf(MimeError);
      }
    }),
    { numRuns: 500 },
  );
});

test('the parts of nested multiparts are read in their order, and an outer boundary ends an inner one', async () => {
  const inner = (body: string, end: string) =>
    `Content-Type: multipart/alternative; boundary=in\r\n\r\n--in\r\nContent-Type: text/plain\r\n\r\n${body}${end}`;
  const whole = (...parts: string[]) =>
    Buffer.from(
      `Content-Type: multipart/related; boundary="out"\r\n\r\n${parts.map((each) => `--out\r\n${each}\r\n`).join('')}--out--\r\nafter`,
    );
  const plain = 'Content-Type: text/html\r\n\r\n<p>';
  for (const chunk of [1, 5, 1_000]) {
    expect(String(await readAll(whole(inner('a', '\r\n--in--\r\n'), plain), chunk))).toBe('a,<p>');
    expect(String(await readAll(whole(inner('b', ''), plain), chunk))).toBe('b,<p>');
    expect(String(await readAll(whole(plain, 'Content-Type: text/css'), chunk))).toBe('<p>,');
  }
});

test('white space at the end of lines of quoted-printable was added on the way, however the bytes arrive', async () => {
  const encoded = 'One =  \r\ntwo \t\r\n=C3=BC=\r\n=20\r\na = b=\nend=  ';
  const part = Buffer.from(
    `Content-Type: multipart/mixed; boundary=B\r\n\r\n--B\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n${encoded}\r\n--B--\r\n`,
  );
  for (let chunk = 1; chunk < 60; chunk += 1)
    expect(String((await readAll(part, chunk))[0])).toBe('One two\r\nü \r\na = bend');
});

test('a page may be a message of a single part, and an empty line may be before its fields', async () => {
  const head =
    'Content-Type: text/html;\r\n\tcharset="utf-8"\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n';
  const body = '<p>=C3=BC\r\n--\r\n--x--\r\n</p>';
  for (const before of ['', '\r\n', '\n\n'])
    for (let chunk = 1; chunk < 60; chunk += 1)
      expect((await readAll(Buffer.from(before + head + body), chunk)).map(String)).toEqual([
        '<p>ü\r\n--\r\n--x--\r\n</p>',
      ]);
  await expect(readAll(Buffer.from('Content-Type: text/plain\r\n\r\nx'), 9)).rejects.toThrow(
    'not a multipart',
  );
  await expect(readAll(Buffer.from('Content-Type: text/html\r\n'), 9)).rejects.toThrow();
});
