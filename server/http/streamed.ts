import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Reply } from './reply.ts';

/** A long answer that is sent as it is made, as fast as its reader takes it; it is made for who reads it alone. */
export function streamed(
  headers: Readonly<Record<string, string>>,
  pieces: () => AsyncIterable<string | Uint8Array>,
): Reply {
  return {
    write: async (response) => {
      response.status(200).set({ 'Cache-Control': 'no-store', ...headers });
      if (response.req.method === 'HEAD') return void response.end();
      // A reader who goes away ends the iteration, and with it what it holds open.
      await pipeline(Readable.from(pieces(), { objectMode: false }), response).catch((error: unknown) => {
        if (!response.closed) throw error;
      });
    },
  };
}

/** Headers of an answer that a browser keeps as a file. */
export function asFile(contentType: string, filename: string): Record<string, string> {
  return { 'Content-Type': contentType, 'Content-Disposition': `attachment; filename="${filename}"` };
}

export const CSV_TYPE = 'text/csv; charset=utf-8; header=present';
