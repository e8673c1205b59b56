import { readResponse, sendRequest, UnexpectedResponse, urlOf } from './client.ts';

/** The headers of an archived object. */
export interface ObjectHead {
  bytes: number | null;
  contentType: string | null;
  /** The usual file extension for the media type, with its dot. Empty if there is none. */
  extension: string;
}

const EXTENSIONS: Partial<Record<string, string>> = {
  'text/html': '.html',
  'text/plain': '.txt',
  'text/csv': '.csv',
  'text/xml': '.xml',
  'text/css': '.css',
  'application/json': '.json',
  'application/xml': '.xml',
  'application/rss+xml': '.xml',
  'application/atom+xml': '.xml',
  'application/pdf': '.pdf',
  'application/zip': '.zip',
  'application/xhtml+xml': '.xhtml',
  'image/png': '.png',
  'image/jpeg': '.jpg',
  'image/gif': '.gif',
  'image/svg+xml': '.svg',
  'image/webp': '.webp',
};

/** Sends a HEAD request for an archived object. Throws ApiProblem or NodeUnreachable. */
export async function readObjectHead(sha256: string, signal?: AbortSignal): Promise<ObjectHead> {
  const address = urlOf('readObject', { params: { sha256 } });
  const response = await sendRequest(address, { method: 'HEAD', signal });
  if (!response.ok) await tellRefusal(address, signal);
  const length = response.headers.get('Content-Length');
  const contentType = response.headers.get('Content-Type');
  const type = contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return { bytes: length === null ? null : Number(length), contentType, extension: EXTENSIONS[type] ?? '' };
}

/** A HEAD response has no body, so request one byte to get the error document. */
async function tellRefusal(address: string, signal?: AbortSignal): Promise<never> {
  const refused = await sendRequest(address, { signal, headers: { Range: 'bytes=0-0' } });
  await readResponse(refused);
  throw new UnexpectedResponse(refused.status);
}
