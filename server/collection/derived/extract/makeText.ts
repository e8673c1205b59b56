import { readBody } from '../body/readBody.ts';
import { compressContent } from '../content.ts';
import { MAX_BYTES_READ, MAX_SEARCHED_CHARACTERS } from '../limits.ts';
import type { TextContent, TextResult, TextTask } from '../process/tasks.ts';
import { extractText } from './extractText.ts';
import { TEXT_TOOLS } from './textTools.ts';

/** Reads an object and extracts its text. Runs in the derive process. @throws NotDerivableError. */
export async function makeText({ object }: TextTask): Promise<TextResult> {
  const { bytes, kind, isCut } = readBody(object, MAX_BYTES_READ);
  const {
    links = [],
    pages = null,
    ...found
  } = await extractText(kind, bytes, {
    contentType: object.contentType,
    isCut,
  });
  const content: TextContent = { ...found, links, pages };
  return {
    ...TEXT_TOOLS[content.kind],
    mediaKind: content.kind,
    title: content.title,
    searched: content.text.slice(0, MAX_SEARCHED_CHARACTERS).toWellFormed(),
    content: compressContent(content),
  };
}
