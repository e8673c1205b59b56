import { compressContent } from './content.ts';
import { extractText } from './extract.ts';
import { MAX_BYTES_READ, MAX_SEARCHED_CHARACTERS } from './limits.ts';
import { readBody } from './readBody.ts';
import type { TextContent, TextResult, TextTask } from './tasks.ts';
import { TEXT_TOOLS } from './tools.ts';

/** Reads an object and makes its text, in the derive worker. @throws NotDerivableError. */
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
