import type { Part } from './inPage.ts';

const LINE = 76;
const MEDIA_TYPE = /^[\w.+-]+\/[\w.+-]+(?:; ?charset=[\w-]+)?$/;

/** Writes a page with its parts as one MHTML file (RFC 2557). The first part is the page. */
export function writeMhtml(url: string, at: Date, parts: readonly Part[]): Blob {
  const boundary = `----Strongroom--${crypto.randomUUID()}`;
  const head = [
    'From: <Saved by the Strongroom extension>',
    `Snapshot-Content-Location: ${new URL(url).href}`,
    `Date: ${at.toUTCString()}`,
    'MIME-Version: 1.0',
    `Content-Type: multipart/related; type="text/html"; boundary="${boundary}"`,
  ];
  const pieces: string[] = [head.join('\r\n'), '\r\n\r\n'];
  for (const { url: location, id, type, base64 } of parts) {
    const fields = [
      `--${boundary}`,
      // What a server claims may hold anything.
      `Content-Type: ${MEDIA_TYPE.test(type) ? type : 'application/octet-stream'}`,
      'Content-Transfer-Encoding: base64',
      `Content-Location: ${location}`,
      ...(id === undefined ? [] : [`Content-ID: <${id}>`]),
    ];
    pieces.push(fields.join('\r\n'), '\r\n\r\n', inLines(base64), '\r\n');
  }
  pieces.push(`--${boundary}--\r\n`);
  return new Blob(pieces, { type: 'multipart/related' });
}

function inLines(base64: string): string {
  return base64.replace(new RegExp(`.{${LINE}}`, 'g'), '$&\r\n');
}
