import { open } from 'node:fs/promises';
import type { HAND_IN_KINDS } from '../../../shared/collection/handedIn.ts';
import { Problem } from '../../../shared/problems.ts';

/** A file as the client describes it. */
export interface DescribedFile {
  file: string;
  /** The Content-Type that was sent with it. */
  mediaType: string | undefined;
  name: string | undefined;
}

interface FileKind {
  kind: (typeof HAND_IN_KINDS)[number];
  mediaType: string;
}

const HEAD_BYTES = 1_024;
const MAX_MEDIA_TYPE = 300;
const SIGNATURES: readonly (readonly [RegExp, FileKind])[] = [
  [/^%PDF-/, { kind: 'pdf', mediaType: 'application/pdf' }],
  [/^\x89PNG\r\n\x1a\n/, { kind: 'picture', mediaType: 'image/png' }],
  [/^\xff\xd8\xff/, { kind: 'picture', mediaType: 'image/jpeg' }],
  [/^GIF8[79]a/, { kind: 'picture', mediaType: 'image/gif' }],
  [/^RIFF[^]{4}WEBP/, { kind: 'picture', mediaType: 'image/webp' }],
];
const MHTML_TYPES = /^(multipart\/related|message\/rfc822|application\/x-mimearchive)\b/i;
const MHTML_HEAD =
  /^(From|Snapshot-Content-Location|Subject|Date|MIME-Version|Content-Type|X-MAF|X-MimeOLE): ?/i;
const HTML_TYPES = /^(text\/html|application\/xhtml\+xml)\b/i;
const HTML_HEAD = /^(?:\xef\xbb\xbf)?\s*(?:<!--[^]*?-->\s*)*<(?:!doctype html|html|head|body)\b/i;

/**
 * Returns what a file is. The bytes decide, and what was said of them only where they do not.
 *
 * @throws Problem `unsupported_media_type` if it is none of the kinds that can be handed in
 */
export async function kindOf({ file, mediaType = '', name = '' }: DescribedFile): Promise<FileKind> {
  const head = await headOf(file);
  for (const [signature, kind] of SIGNATURES) if (signature.test(head)) return kind;
  const declared = mediaType.slice(0, MAX_MEDIA_TYPE);
  const isHtml = HTML_HEAD.test(head);
  if (!isHtml && (MHTML_TYPES.test(declared) || /\.mht(ml)?$/i.test(name) || MHTML_HEAD.test(head)))
    return { kind: 'mhtml', mediaType: MHTML_TYPES.test(declared) ? declared : 'multipart/related' };
  if (isHtml || HTML_TYPES.test(declared) || /\.x?html?$/i.test(name))
    return { kind: 'html', mediaType: HTML_TYPES.test(declared) ? declared : 'text/html' };
  throw new Problem(
    'unsupported_media_type',
    'This is no saved page (MHTML), HTML file, PDF, PNG, JPEG, WebP or GIF.',
  );
}

async function headOf(file: string): Promise<string> {
  const handle = await open(file, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.toString('latin1', 0, bytesRead);
  } finally {
    await handle.close();
  }
}
