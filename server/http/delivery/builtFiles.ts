import { extname } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import express, { type RequestHandler, Router } from 'express';

/** The names of built scripts and stylesheets, which contain a hash of the content. */
const TEXT_FILE = /^\/[\w.-]+\.(?:m?js|css)$/;
/** Half as large as without compression in a few milliseconds; higher qualities take seconds for the first visitor. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };

/** Reads a built file by its path below the folder; undefined if there is none. It may be built later. */
export type ReadBuiltFile = (path: string) => Promise<Buffer | undefined>;

const compress = promisify(brotliCompress);

/**
 * Serves the built files of the interface, compressed for clients that accept `br`. Each file is compressed once and kept
 * in memory, about a megabyte for all of them: a page consists of several, and every visitor loads the same.
 */
export function builtFiles(folder: string, readFile: ReadBuiltFile): RequestHandler {
  const compressed = new Map<string, Buffer>();
  const router = Router({ caseSensitive: true, strict: true });
  router.get(TEXT_FILE, async (request, response, next) => {
    const { path } = request;
    const isPlain = request.headers.range !== undefined || request.headers['if-none-match'] !== undefined;
    if (isPlain || request.acceptsEncodings('br') !== 'br') return next();
    const kept = compressed.get(path);
    const body = kept ?? (await compressFile(path, readFile));
    if (!body) return next();
    if (!kept) compressed.set(path, body);
    response.vary('Accept-Encoding').type(extname(path));
    response.set({ 'Cache-Control': 'public, max-age=31536000, immutable', 'Content-Encoding': 'br' });
    response.send(body);
  });
  router.use(express.static(folder, { immutable: true, maxAge: '1y', index: false, redirect: false }));
  return router;
}

async function compressFile(path: string, readFile: ReadBuiltFile): Promise<Buffer | undefined> {
  const content = await readFile(path);
  return content && compress(content, BROTLI);
}
