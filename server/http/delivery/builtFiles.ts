import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import express, { type RequestHandler, Router } from 'express';
import { isMissing } from '../../store/blobs/fileErrors.ts';

/** The names of built scripts and stylesheets, which contain a hash of the content. */
const TEXT_FILE = /^\/[\w.-]+\.(?:m?js|css)$/;
/** Half as large as without compression in a few milliseconds; higher qualities take seconds for the first visitor. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };

const compress = promisify(brotliCompress);

/**
 * Serves the built files of the interface, compressed for clients that accept `br`. Each file is compressed once and kept
 * in memory, about a megabyte for all of them: a page consists of several, and every visitor loads the same.
 */
export function builtFiles(folder: string): RequestHandler {
  const compressed = new Map<string, Buffer>();
  const router = Router({ caseSensitive: true, strict: true });
  router.get(TEXT_FILE, async (request, response, next) => {
    const { path } = request;
    const isPlain = request.headers.range !== undefined || request.headers['if-none-match'] !== undefined;
    if (isPlain || request.acceptsEncodings('br') !== 'br') return next();
    const kept = compressed.get(path);
    const body = kept ?? (await compressFile(join(folder, path)));
    if (!body) return next();
    if (!kept) compressed.set(path, body);
    response.vary('Accept-Encoding').type(extname(path));
    response.set({ 'Cache-Control': 'public, max-age=31536000, immutable', 'Content-Encoding': 'br' });
    response.send(body);
  });
  router.use(express.static(folder, { immutable: true, maxAge: '1y', index: false, redirect: false }));
  return router;
}

/** Returns undefined if there is no such file. It may be built later. */
async function compressFile(file: string): Promise<Buffer | undefined> {
  try {
    return await compress(await readFile(file), BROTLI);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
