import { request as httpRequest } from 'node:http';

/** A response, for requests and headers that `fetch` does not allow. */
export interface RawResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

/** Sends a request with exactly these headers, `Host` and `Origin` too. */
export function rawRequest(
  url: string,
  {
    method = 'GET',
    headers = {},
    body,
    encoding = 'utf8',
  }: {
    method?: string;
    headers?: Record<string, string>;
    body?: string;
    encoding?: BufferEncoding;
  } = {},
): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString(encoding);
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text });
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}
