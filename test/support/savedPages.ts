export const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** A part of a saved page, as a browser writes it. */
export interface PartOfPage {
  type: string;
  location?: string;
  id?: string;
  encoding?: 'base64' | 'quoted-printable' | 'binary' | '7bit' | '8bit';
  content: Buffer | string;
}

const BOUNDARY = '----MultipartBoundary--4f0c1bXWbFzJ----';

function encodedContent({ encoding = 'binary', content }: PartOfPage): Buffer {
  const bytes = Buffer.from(content);
  if (encoding === 'base64') return Buffer.from(bytes.toString('base64').replace(/.{76}/g, '$&\r\n'));
  if (encoding === 'quoted-printable')
    return Buffer.from(
      bytes
        .toString('latin1')
        .replace(/[^ -<>-~]/g, (one) => `=${one.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)
        // A transport may remove a space at the end of a line.
        .replace(/ $/, '=20')
        .replace(/.{70}(?!=$|=.$)/g, '$&=\r\n'),
    );
  return bytes;
}

/** The bytes of one part without the boundary. */
function partOf(part: PartOfPage): Buffer {
  const head = [
    `Content-Type: ${part.type}`,
    ...(part.id ? [`Content-ID: <${part.id}>`] : []),
    ...(part.encoding ? [`Content-Transfer-Encoding: ${part.encoding}`] : []),
    ...(part.location ? [`Content-Location: ${part.location}`] : []),
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), encodedContent(part)]);
}

/** Writes a saved page as Chromium does. */
export function savedPage(url: string, parts: readonly PartOfPage[], boundary = BOUNDARY): Buffer {
  const head = [
    'From: <Saved by Blink>',
    `Snapshot-Content-Location: ${url}`,
    'Subject: =?utf-8?Q?A=20page?=',
    'Date: Tue, 24 Nov 2026 10:00:00 -0000',
    'MIME-Version: 1.0',
    'Content-Type: multipart/related;',
    '\ttype="text/html";',
    `\tboundary="${boundary}"`,
    '',
    '',
    '',
  ].join('\r\n');
  return Buffer.concat([
    Buffer.from(head),
    ...parts.flatMap((part) => [Buffer.from(`--${boundary}\r\n`), partOf(part), Buffer.from('\r\n')]),
    Buffer.from(`--${boundary}--\r\n`),
  ]);
}
