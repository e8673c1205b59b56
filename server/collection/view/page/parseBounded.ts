import { type DefaultTreeAdapterTypes, defaultTreeAdapter, Parser, Tokenizer } from 'parse5';
import { NotDerivableError } from '../../derived/notDerivable.ts';
import { MAX_ATTRIBUTES, MAX_OPEN_ELEMENTS } from '../limits.ts';

/**
 * Parses a page like a browser. A hostile page that opens elements without end, or gives one attributes without end,
 * would take time that grows with its square.
 *
 * @throws NotDerivableError `too_large`
 */
export function parseBounded(html: string): DefaultTreeAdapterTypes.Document {
  let open = 0;
  const parser = new Parser<DefaultTreeAdapterTypes.DefaultTreeAdapterMap>({
    scriptingEnabled: false,
    treeAdapter: {
      ...defaultTreeAdapter,
      onItemPush: () => {
        open += 1;
        if (open > MAX_OPEN_ELEMENTS)
          throw new NotDerivableError('too_large', `The page nests more than ${MAX_OPEN_ELEMENTS} elements.`);
      },
      onItemPop: () => {
        open -= 1;
      },
    },
  });
  parser.tokenizer = new BoundedTokenizer(parser.options, parser);
  parser.tokenizer.write(html, true);
  return parser.document;
}

/** Each new attribute is compared with all others of its element. */
class BoundedTokenizer extends Tokenizer {
  protected override _leaveAttrName(): void {
    super._leaveAttrName();
    const token = this.currentToken;
    if (token !== null && 'attrs' in token && token.attrs.length > MAX_ATTRIBUTES)
      throw new NotDerivableError(
        'too_large',
        `An element of the page has more than ${MAX_ATTRIBUTES} attributes.`,
      );
  }
}
