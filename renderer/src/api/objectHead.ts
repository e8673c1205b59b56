import { ApiProblem, NodeUnreachable } from './client.ts';

/** What can be said of an archived object without its bytes. */
export interface ObjectHead {
  bytes: number | null;
  contentType: string | null;
  /** A usual file name ending for the type, with its dot; empty where there is none. */
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

/** Asks for an archived object's headers alone. Throws ApiProblem or NodeUnreachable. */
export async function readObjectHead(sha256: string, signal?: AbortSignal): Promise<ObjectHead> {
  const response = await fetch(`/archive/${sha256}`, { method: 'HEAD', signal }).catch((cause: unknown) => {
    throw signal?.aborted ? cause : new NodeUnreachable(cause);
  });
  if (!response.ok) throw refusalWithoutWords(response.status);
  const length = response.headers.get('Content-Length');
  const contentType = response.headers.get('Content-Type');
  const type = contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return { bytes: length === null ? null : Number(length), contentType, extension: EXTENSIONS[type] ?? '' };
}

/** The answer to HEAD has no body that could say what is wrong. */
function refusalWithoutWords(status: number): ApiProblem {
  return new ApiProblem({
    type: 'about:blank',
    title: 'The object could not be read',
    status,
    code: status === 404 ? 'not_found' : 'internal_error',
    detail:
      status === 404
        ? 'The archive does not hold this object.'
        : `The node answered ${status} when asked for this object. Look at its log.`,
  });
}
