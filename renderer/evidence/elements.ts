/** Creates an element with text or elements in it. Text is never read as HTML. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string>>,
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const created = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) created.setAttribute(attribute, value);
  created.append(...children);
  return created;
}

export function section(title: string, ...children: readonly (Node | string)[]): HTMLElement {
  return element('section', {}, element('h2', {}, title), ...children);
}

/** A list of names and values. Values that are missing are left out. */
export function facts(rows: readonly (readonly [string, string | number | null | undefined])[]): HTMLElement {
  const known = rows.filter(([, value]) => value !== null && value !== undefined && value !== '');
  return element(
    'dl',
    {},
    ...known.flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, String(value))]),
  );
}
