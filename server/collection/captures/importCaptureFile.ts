import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { CaptureResult } from '../../../shared/collection/captures.ts';
import type { WarcServices } from './capture.ts';
import { openFirstWarc, openWacz } from './wacz/openWacz.ts';
import { importWarc, type WarcImport } from './warc/importWarc.ts';
import { type FileDescription, readDescription } from './warc/readWarcFile.ts';

/** Bytes read from a capture file at a time. */
const READ_SIZE = 262_144;

/** A ZIP begins with the signature of its first entry. */
const ZIP_BEGINS_WITH = Buffer.from('PK\x03\x04');

function openedAt(file: string) {
  return () => createReadStream(file, { highWaterMark: READ_SIZE });
}

async function isZip(file: string): Promise<boolean> {
  const handle = await open(file, 'r');
  try {
    const first = Buffer.alloc(ZIP_BEGINS_WITH.length);
    await handle.read(first, 0, first.length, 0);
    return first.equals(ZIP_BEGINS_WITH);
  } finally {
    await handle.close();
  }
}

/**
 * Imports a WARC file or a WACZ package, as its first bytes say. Of a package that is not exactly what its digests and its
 * signature say, nothing is kept.
 *
 * @throws Problem `invalid_capture`
 */
export async function importCaptureFile(
  services: WarcServices,
  file: string,
  how: Omit<WarcImport, 'files'>,
): Promise<CaptureResult> {
  if (!(await isZip(file))) return importWarc(services, { ...how, files: [openedAt(file)] });
  const { warcs, pages, close } = await openWacz(file, how.signal);
  try {
    const { captures, already_held, skipped, ...rest } = await importWarc(services, { ...how, files: warcs });
    return { captures, already_held, skipped, pages, ...rest };
  } finally {
    await close();
  }
}

/** Reads what a file states about itself, without its captures. */
export async function describeCaptureFile(file: string, maxBytes: number): Promise<FileDescription> {
  if (!(await isZip(file))) return readDescription(openedAt(file), maxBytes);
  const { open: openWarc, close } = await openFirstWarc(file);
  try {
    return await readDescription(openWarc, maxBytes);
  } finally {
    await close();
  }
}
