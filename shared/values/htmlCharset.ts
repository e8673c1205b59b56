import { Tokenizer } from 'htmlparser2';

/** How much of a page is searched. Browsers have no limit, and hardly a page has its declaration further behind. */
const SEARCHED_BYTES = 1_048_576;

/**
 * Returns the encoding that a page declares in an element `meta`, as `TextDecoder` knows it; undefined if it declares none.
 * A browser that meets a late declaration reads the page again (HTML Standard, section 13.2.3.5), so it counts wherever it
 * is. What is in comments, scripts and styles is no element.
 */
export function charsetInHtml(bytes: Uint8Array): string | undefined {
  const markup = new TextDecoder('windows-1252').decode(bytes.subarray(0, SEARCHED_BYTES));
  // Most pages without a declaration need not be read.
  if (!/<meta[\s/]/i.test(markup)) return undefined;
  let found: string | undefined;
  let isMeta = false;
  let attributes = new Map<string, string>();
  let name = '';
  const ended = () => {
    if (isMeta) found ??= declaredBy(attributes);
    isMeta = false;
    if (found !== undefined) tokenizer.pause();
  };
  const ignored = () => {};
  const tokenizer = new Tokenizer(
    { xmlMode: false, decodeEntities: false },
    {
      onopentagname(start, end) {
        isMeta = markup.slice(start, end).toLowerCase() === 'meta';
        attributes = new Map();
      },
      onattribname(start, end) {
        name = markup.slice(start, end).toLowerCase();
        // The first attribute of a name counts.
        if (isMeta && !attributes.has(name)) attributes.set(name, '');
        else name = '';
      },
      onattribdata(start, end) {
        if (name !== '' && isMeta)
          attributes.set(name, (attributes.get(name) ?? '') + markup.slice(start, end));
      },
      onopentagend: ended,
      onselfclosingtag: ended,
      onattribend: ignored,
      onattribentity: ignored,
      oncdata: ignored,
      onclosetag: ignored,
      oncomment: ignored,
      ondeclaration: ignored,
      onend: ignored,
      onprocessinginstruction: ignored,
      ontext: ignored,
      ontextentity: ignored,
    },
  );
  tokenizer.write(markup);
  return found;
}

/** HTML Standard, sections 13.2.3.2 and 13.2.3.5. */
function declaredBy(attributes: ReadonlyMap<string, string>): string | undefined {
  const inContent = /^content-type$/i.test(attributes.get('http-equiv')?.trim() ?? '')
    ? /charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;"']+))/i.exec(attributes.get('content') ?? '')
    : null;
  const label = attributes.get('charset') ?? inContent?.slice(1).find((one) => one !== undefined);
  if (label === undefined) return undefined;
  // The declaration itself could be read, so the page is not in UTF-16.
  if (/^\s*utf-?16/i.test(label)) return 'utf-8';
  if (/^\s*x-user-defined\s*$/i.test(label)) return 'windows-1252';
  try {
    return new TextDecoder(label).encoding;
  } catch (error) {
    // Nobody knows this encoding.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
