/** XML that is written already; a string beside it is text, and is escaped. */
export class Xml {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type XmlContent = Xml | string | undefined;

/** An element; what is undefined is left out, attributes too. */
export function element(
  name: string,
  attributes: Readonly<Record<string, string | undefined>> = {},
  content: readonly XmlContent[] = [],
): Xml {
  const opening = Object.entries(attributes)
    .filter((attribute): attribute is [string, string] => attribute[1] !== undefined)
    .map(([key, value]) => ` ${key}="${escapeXml(value)}"`)
    .join('');
  const inner = content
    .filter((each) => each !== undefined)
    .map((each) => (typeof each === 'string' ? escapeXml(each) : each.text))
    .join('');
  return new Xml(inner === '' ? `<${name}${opening}/>` : `<${name}${opening}>${inner}</${name}>`);
}

/** An element around a list of elements; none where the list is empty. */
export function listElement(name: string, elements: readonly Xml[]): Xml | undefined {
  return elements.length === 0 ? undefined : element(name, {}, elements);
}

const ESCAPED: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
};

/** Text of an element or an attribute. What XML 1.0 cannot hold, escaped or not, becomes U+FFFD. */
export function escapeXml(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '\uFFFD')
    .replace(/[&<>"\t\n\r]/g, (character) => ESCAPED[character] ?? character);
}
