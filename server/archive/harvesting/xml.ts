/** Serialized XML. A plain string is text and is escaped. */
export class Xml {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type XmlContent = Xml | string | undefined;

/** Returns an element. Undefined children and attributes are omitted. */
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

/** Returns an element around a list of elements, or nothing if the list is empty. */
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

/** Escapes the text of an element or an attribute. Characters that XML 1.0 forbids become U+FFFD. */
export function escapeXml(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '\uFFFD')
    .replace(/[&<>"\t\n\r]/g, (character) => ESCAPED[character] ?? character);
}
